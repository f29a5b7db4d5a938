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

/// True if the code of an error says that the server, which was `modern` when it was met, has been replaced by another
/// version since, and has not looked at the request.
pub(super) fn is_replaced(error: &Text, modern: bool) -> bool {
    let code = error.object().and_then(|object| object.get("code")).and_then(|code| code.parse::<i64>().ok());
    let is = |known: Code| code == Some(known.number());
    is(Code::UnsupportedVersion) || (!modern && is(Code::HeaderMismatch))
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    #[test]
    fn a_server_that_was_replaced_says_so() {
        for (code, modern, expected) in [
            (-32_022, true, true),
            (-32_022, false, true),
            (-32_020, false, true),
            (-32_020, true, false),
            (-32_000, true, false),
            (-32_602, false, false),
        ] {
            let error =
                Text::check(Bytes::from(format!(r#"{{"code":{code},"message":"m"}}"#))).expect("JSON");
            assert_eq!(is_replaced(&error, modern), expected, "{code} {modern}");
        }
    }

    #[test]
    fn names_read_back() {
        for era in [Era::Modern, Era::Legacy] {
            assert_eq!(Era::parse(era.name()), Some(era));
        }
        assert_eq!(Era::parse("bronze"), None);
    }
}
