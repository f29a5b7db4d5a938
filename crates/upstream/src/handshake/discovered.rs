//! What the answer to `server/discover` says of a modern server, and what one says that refuses it.

use wire::initialize::{self, Peer};
use wire::message::Text;
use wire::{Code, Revision, meta, object, string};

use crate::answer;
use crate::connection::ServerIdentity;
use crate::error::ConnectError;
use crate::settings::Mask;

/// How much of the versions that a server names is repeated, in bytes.
const VERSIONS_BYTES_MAX: usize = 200;

/// How to go on with a server that knows what it was asked.
pub(super) enum Discovered {
    /// In the modern revision.
    Modern(ServerIdentity),
    /// With a handshake: all that we have in common is older.
    Legacy,
    /// Not at all.
    Nothing(ConnectError),
}

/// Reads a `DiscoverResult`; nothing if it is none.
pub(super) fn read(result: &Text, mask: &Mask) -> Option<Discovered> {
    let object = result.object()?;
    let versions = object.get("supportedVersions").filter(|versions| versions.starts_with('['))?;
    Some(choose(versions, mask, || {
        let server = object.object("_meta").and_then(|meta| meta.get(meta::SERVER_INFO));
        // It stood in the result itself in drafts.
        let server = server.or_else(|| object.get("serverInfo"));
        ServerIdentity {
            revision: Revision::MODERN,
            capabilities: object.object("capabilities").map(|all| result.slice(all.text())),
            server: server.map_or_else(Peer::default, initialize::peer),
            instructions: object.string("instructions").map(std::borrow::Cow::into_owned),
        }
    }))
}

/// Reads an error that only modern servers send; nothing if it is another one.
pub(super) fn read_refusal(error: &Text, mask: &Mask) -> Option<Discovered> {
    let object = error.object()?;
    let code: i64 = object.get("code")?.parse().ok()?;
    let refused = || Discovered::Nothing(answer::refused("server/discover", error));
    if code == Code::UnsupportedVersion.number() {
        let versions = object.object("data").and_then(|data| data.get("supported"));
        let Some(versions) = versions.filter(|versions| versions.starts_with('[')) else {
            return Some(refused());
        };
        // It would contradict itself if it named the revision it has just refused.
        return Some(match choose(versions, mask, || ServerIdentity::unknown(Revision::MODERN)) {
            Discovered::Modern(_) => refused(),
            other => other,
        });
    }
    let modern = [Code::HeaderMismatch, Code::MissingClientCapability];
    modern.iter().any(|known| known.number() == code).then(refused)
}

/// True if the error refuses our revision and names it as one that is supported.
pub(super) fn refuses_its_own(error: &Text) -> bool {
    let Some(object) = error.object() else { return false };
    let is_version = object.get("code") == Some("-32022");
    let supported = object.object("data").and_then(|data| data.get("supported"));
    let mut named = supported.and_then(object::elements).into_iter().flatten();
    is_version && named.any(|name| string::decode_if_string(name).as_deref() == Some(Revision::MODERN.name()))
}

/// True if an answer to `initialize` says that the server wants no handshake, or not this one.
pub(super) fn wants_no_handshake(error: &Text) -> bool {
    let code = error.object().and_then(|object| object.get("code")).and_then(|code| code.parse().ok());
    let codes = [
        Code::UnsupportedVersion,
        Code::HeaderMismatch,
        Code::MissingClientCapability,
        Code::MethodNotFound,
        Code::InvalidRequest,
        Code::InvalidParams,
    ];
    codes.iter().any(|known| Some(known.number()) == code)
}

fn choose(versions: &str, mask: &Mask, face: impl FnOnce() -> ServerIdentity) -> Discovered {
    let named = object::elements(versions).into_iter().flatten();
    let named: Vec<_> = named.filter_map(string::decode_if_string).collect();
    let known: Vec<Revision> = named.iter().filter_map(|name| Revision::parse(name)).collect();
    if known.contains(&Revision::MODERN) {
        return Discovered::Modern(face());
    }
    if !known.is_empty() {
        return Discovered::Legacy;
    }
    let named = mask.sentence(&named.join(", "), VERSIONS_BYTES_MAX);
    Discovered::Nothing(ConnectError::NotMcp(format!(
        "it speaks the protocol versions {named}, none of which is supported"
    )))
}

impl ServerIdentity {
    /// A server that has said nothing of itself.
    fn unknown(revision: Revision) -> ServerIdentity {
        ServerIdentity { revision, capabilities: None, server: Peer::default(), instructions: None }
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn text(json: &str) -> Text {
        Text::check(bytes::Bytes::copy_from_slice(json.as_bytes())).expect("JSON")
    }

    fn show(discovered: Option<Discovered>) -> String {
        match discovered {
            None => "none".to_owned(),
            Some(Discovered::Legacy) => "handshake".to_owned(),
            Some(Discovered::Nothing(error)) => error.to_string(),
            Some(Discovered::Modern(face)) => format!(
                "modern {} {} {:?} {}",
                face.server.name,
                face.server.version,
                face.instructions,
                face.capabilities.as_ref().map_or("-", Text::as_str)
            ),
        }
    }

    #[track_caller]
    fn check(result: &str, expected: Expect) {
        expected.assert_eq(&show(read(&text(result), &Mask::default())));
    }

    #[track_caller]
    fn check_refusal(error: &str, expected: Expect) {
        expected.assert_eq(&show(read_refusal(&text(error), &Mask::default())));
    }

    #[test]
    fn the_best_revision_in_common_is_chosen() {
        check(
            r#"{"supportedVersions":["2025-11-25","2026-07-28"],"capabilities":{"tools":{}},"instructions":"i","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"n","version":"1"}}}"#,
            expect![[r#"modern n 1 Some("i") {"tools":{}}"#]],
        );
        check(
            r#"{"supportedVersions":["2026-07-28"],"serverInfo":{"name":"n","version":"1"}}"#,
            expect!["modern n 1 None -"],
        );
        check(r#"{"supportedVersions":["2031-01-01","2025-06-18"]}"#, expect!["handshake"]);
        check(
            r#"{"supportedVersions":["2031-01-01"]}"#,
            expect![
                "it does not speak MCP as expected: it speaks the protocol versions 2031-01-01, none of which is supported"
            ],
        );
        check(r#"{"supportedVersions":"2026-07-28"}"#, expect!["none"]);
        check("[]", expect!["none"]);
        check("{}", expect!["none"]);
    }

    #[test]
    fn a_server_may_refuse_what_it_names() {
        for (error, refuses) in [
            (r#"{"code":-32022,"data":{"supported":["2025-11-25","2026-07-28"]}}"#, true),
            (r#"{"code":-32022,"data":{"supported":["2025-11-25"]}}"#, false),
            (r#"{"code":-32022,"data":{"supported":"2026-07-28"}}"#, false),
            (r#"{"code":-32022}"#, false),
            (r#"{"code":-32020,"data":{"supported":["2026-07-28"]}}"#, false),
            ("5", false),
        ] {
            assert_eq!(refuses_its_own(&text(error)), refuses, "{error}");
        }
    }

    #[test]
    fn a_modern_refusal_is_no_reason_for_a_handshake_unless_it_names_one() {
        check_refusal(
            r#"{"code":-32022,"message":"no","data":{"supported":["2025-11-25"],"requested":"2026-07-28"}}"#,
            expect!["handshake"],
        );
        check_refusal(
            r#"{"code":-32022,"message":"no","data":{"supported":["2026-07-28"]}}"#,
            expect!["it refused `server/discover`: no (code -32022)"],
        );
        check_refusal(
            r#"{"code":-32022,"message":"no"}"#,
            expect!["it refused `server/discover`: no (code -32022)"],
        );
        check_refusal(
            r#"{"code":-32021,"message":"no"}"#,
            expect!["it refused `server/discover`: no (code -32021)"],
        );
        check_refusal(
            r#"{"code":-32020,"message":"no"}"#,
            expect!["it refused `server/discover`: no (code -32020)"],
        );
        for code in [-32_601, -32_600, -32_602, -32_000, -32_002, 5] {
            check_refusal(&format!(r#"{{"code":{code},"message":"no"}}"#), expect!["none"]);
        }
        check_refusal("5", expect!["none"]);
    }

    #[test]
    fn what_a_server_without_handshake_says_to_one() {
        for (code, expected) in
            [(-32_022, true), (-32_601, true), (-32_602, true), (-32_020, true), (-32_603, false)]
        {
            let error = format!(r#"{{"code":{code},"message":"m"}}"#);
            assert_eq!(wants_no_handshake(&text(&error)), expected, "{code}");
        }
    }
}
