//! What the answer to `server/discover` says of a modern server, and what one says that refuses it.

use wire::initialize::{self, Peer};
use wire::message::Text;
use wire::{Code, Revision, meta, object, string};

use crate::answer;
use crate::connection::{Reply, ServerIdentity};
use crate::error::ConnectError;
use crate::fault::Fault;
use crate::settings::Mask;

/// How much of the versions that a server names is repeated, in bytes.
const VERSIONS_BYTES_MAX: usize = 200;

/// What an answer to `server/discover` says of a server: what it is in the modern revision; nothing if it wants a
/// handshake, as those do that do not know what they were asked.
///
/// # Errors
/// If there is no revision in common, or only a modern server refuses like this.
pub(super) fn read(reply: &Reply, mask: &Mask) -> Result<Option<ServerIdentity>, ConnectError> {
    match reply {
        Ok(result) => read_result(result, mask),
        Err(error) => read_refusal(error, mask),
    }
}

fn read_result(result: &Text, mask: &Mask) -> Result<Option<ServerIdentity>, ConnectError> {
    let Some(object) = result.object() else { return Ok(None) };
    let versions = object.get("supportedVersions").filter(|versions| versions.starts_with('['));
    if !versions.map_or(Ok(false), |versions| is_modern(versions, mask))? {
        return Ok(None);
    }
    let server = object.object("_meta").and_then(|meta| meta.get(meta::SERVER_INFO));
    // It stood in the result itself in drafts.
    let server = server.or_else(|| object.get("serverInfo"));
    Ok(Some(ServerIdentity {
        revision: Revision::MODERN,
        capabilities: object.object("capabilities").map(|all| result.slice(all.text())),
        server: server.map_or_else(Peer::default, initialize::peer),
        instructions: object.string("instructions").map(std::borrow::Cow::into_owned),
    }))
}

fn read_refusal(error: &Text, mask: &Mask) -> Result<Option<ServerIdentity>, ConnectError> {
    let object = error.object();
    let code = object.and_then(|object| object.get("code")).and_then(|code| code.parse::<i64>().ok());
    let is = |known: Code| code == Some(known.number());
    if is(Code::UnsupportedVersion) {
        let versions = object.and_then(|object| object.object("data")).and_then(|data| data.get("supported"));
        let versions = versions.filter(|versions| versions.starts_with('['));
        // It would contradict itself if it named the revision it has just refused.
        if !versions.map_or(Ok(true), |versions| is_modern(versions, mask))? {
            return Ok(None);
        }
    } else if !is(Code::HeaderMismatch) && !is(Code::MissingClientCapability) {
        return Ok(None);
    }
    Err(answer::refused("server/discover", error))
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

/// True if the modern revision is among `versions`, false if only older ones are.
fn is_modern(versions: &str, mask: &Mask) -> Result<bool, ConnectError> {
    let named = object::elements(versions).into_iter().flatten();
    let named: Vec<_> = named.filter_map(string::decode_if_string).collect();
    let known: Vec<Revision> = named.iter().filter_map(|name| Revision::parse(name)).collect();
    if known.is_empty() {
        let named = mask.sentence(&named.join(", "), VERSIONS_BYTES_MAX);
        let why = format!("it speaks the protocol versions {named}, none of which is supported");
        return Err(ConnectError::Request(Fault::Broken(why)));
    }
    Ok(known.contains(&Revision::MODERN))
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn text(json: &str) -> Text {
        Text::check(bytes::Bytes::copy_from_slice(json.as_bytes())).expect("JSON")
    }

    fn show(read: Result<Option<ServerIdentity>, ConnectError>) -> String {
        match read {
            Ok(None) => "handshake".to_owned(),
            Err(error) => error.to_string(),
            Ok(Some(identity)) => format!(
                "modern {} {} {:?} {}",
                identity.server.name,
                identity.server.version,
                identity.instructions,
                identity.capabilities.as_ref().map_or("-", Text::as_str)
            ),
        }
    }

    #[track_caller]
    fn check(result: &str, expected: Expect) {
        expected.assert_eq(&show(read(&Ok(text(result)), &Mask::default())));
    }

    #[track_caller]
    fn check_refusal(error: &str, expected: Expect) {
        expected.assert_eq(&show(read(&Err(text(error)), &Mask::default())));
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
        check(r#"{"supportedVersions":"2026-07-28"}"#, expect!["handshake"]);
        check("[]", expect!["handshake"]);
        check("{}", expect!["handshake"]);
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
            check_refusal(&format!(r#"{{"code":{code},"message":"no"}}"#), expect!["handshake"]);
        }
        check_refusal("5", expect!["handshake"]);
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
