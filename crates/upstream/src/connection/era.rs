//! `Era`: whether a server is met with a handshake.

use wire::Code;
use wire::message::Text;

/// The two ways of meeting a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Era {
    /// Without a handshake: every request says what it needs (2026-07-28 and later).
    Modern,
    /// With `initialize` (2025-11-25 and earlier).
    Legacy,
}

impl Era {
    /// The name under which it is remembered.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Era::Modern => "modern",
            Era::Legacy => "legacy",
        }
    }

    /// The era of this name.
    pub(crate) fn parse(name: &str) -> Option<Era> {
        [Era::Modern, Era::Legacy].into_iter().find(|era| era.name() == name)
    }
}

/// What an error says about whether the server was replaced by another version while we were connected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Replaced {
    /// Nothing.
    No,
    /// It sounds so, but any tool may speak like that: what was asked may have been done.
    Perhaps,
    /// The code says so, and that the request was not looked at.
    Certainly,
}

impl Replaced {
    /// What `error` says of a server that was `modern` when it was met.
    pub(super) fn read(error: &Text, modern: bool) -> Replaced {
        let object = error.object();
        let code = object.and_then(|object| object.get("code")).and_then(|code| code.parse::<i64>().ok());
        let is = |known: Code| code == Some(known.number());
        if is(Code::UnsupportedVersion) || (!modern && is(Code::HeaderMismatch)) {
            return Replaced::Certainly;
        }
        let message = object.and_then(|object| object.string("message")).unwrap_or_default();
        let message = message.to_ascii_lowercase();
        let sounds_so = if modern {
            // An old server wants the handshake first, and says so in one of several ways.
            let words = ["server not initialized", "session id", "no valid session"];
            let codes = [-32_000, -32_001, Code::InvalidRequest.number()];
            words.iter().any(|words| message.contains(words)) && codes.iter().any(|it| code == Some(*it))
        } else {
            is(Code::InvalidParams) && message.contains("io.modelcontextprotocol/")
        };
        if sounds_so { Replaced::Perhaps } else { Replaced::No }
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    #[track_caller]
    fn check(code: i64, message: &str, modern: bool, expected: Replaced) {
        let error = format!(r#"{{"code":{code},"message":"{message}"}}"#);
        let error = Text::check(Bytes::from(error)).expect("JSON");
        assert_eq!(Replaced::read(&error, modern), expected, "{code} {message}");
    }

    #[test]
    fn a_server_that_was_replaced_says_so() {
        check(-32_022, "Unsupported protocol version", true, Replaced::Certainly);
        check(-32_022, "this connection serves 2026-07-28", false, Replaced::Certainly);
        check(-32_020, "no Mcp-Method", false, Replaced::Certainly);
        check(-32_020, "a header differs", true, Replaced::No);
        check(-32_000, "Bad Request: Server not initialized", true, Replaced::Perhaps);
        check(-32_600, "Missing session ID", true, Replaced::Perhaps);
        check(-32_000, "unknown session id 42", true, Replaced::Perhaps);
        check(-32_000, "the database is not initialized yet", true, Replaced::No);
        check(-32_603, "Server not initialized", true, Replaced::No);
        let envelope = "_meta needs io.modelcontextprotocol/protocolVersion";
        check(-32_602, envelope, false, Replaced::Perhaps);
        check(-32_602, "x must be a number", false, Replaced::No);
        check(-32_000, "Server not initialized", false, Replaced::No);
    }

    #[test]
    fn names_read_back() {
        for era in [Era::Modern, Era::Legacy] {
            assert_eq!(Era::parse(era.name()), Some(era));
        }
        assert_eq!(Era::parse("bronze"), None);
    }
}
