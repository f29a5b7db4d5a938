//! The `_meta` of modern requests (MCP 2026-07-28, "Per-request metadata"): reading what a client says with
//! each of them, and writing what we say to upstreams.

use std::sync::LazyLock;

use memchr::memmem::Finder;

use crate::error::{Code, WireError};
use crate::log_level::LogLevel;
use crate::object::{Member, Object};
use crate::object_writer::object_text;
use crate::revision::Revision;
use crate::text::Text;
use crate::{patch, string};

/// Names the revision of a request.
pub const PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
/// What the client can do, with this request.
pub const CLIENT_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
/// Who the client says it is.
pub const CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";
/// The least grave level of log messages that the client wants for this request.
pub const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
/// Who the server says it is, in results.
pub const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";
/// The request of `subscriptions/listen` that a message belongs to.
pub const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";
/// Opts in to progress; known in every revision.
pub const PROGRESS_TOKEN: &str = "progressToken";
/// Our own: by which a call is known if it is sent again.
pub const REQUEST_ID: &str = "toolcrib/request_id";
/// Our own: the call changes nothing and says what it would change.
pub const DRY_RUN: &str = "toolcrib/dry_run";
/// Our own: the call follows this dry run.
pub const PLAN_HASH: &str = "toolcrib/plan_hash";
/// Our own: the call is to be a job; in results, the job that it has become.
pub const JOB: &str = "toolcrib/job";

/// The keys of the modern envelope. They say something of one hop and are never passed on as they are.
pub(crate) const ENVELOPE: [&str; 5] =
    [PROTOCOL_VERSION, CLIENT_CAPABILITIES, CLIENT_INFO, LOG_LEVEL, PROGRESS_TOKEN];

/// What a modern client says with a request.
#[derive(Debug, Clone)]
pub struct Envelope {
    /// The revision it names, which is one that we speak without a handshake.
    pub revision: Revision,
    /// Its `ClientCapabilities` object.
    pub capabilities: Text,
    /// Its `Implementation` object, if it says one.
    pub client: Option<Text>,
    /// Which log messages it wants; none if it says nothing.
    pub log_level: Option<LogLevel>,
}

/// What every modern request says somewhere; searched for first, since most requests are small and legacy.
static VERSION_WORD: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("protocolVersion"));

/// The `_meta` of a request that may be a modern one: a word may be spelt with escapes.
fn modern_meta(params: &Text) -> Option<Object<'_>> {
    let bytes = params.as_str().as_bytes();
    let may_be = VERSION_WORD.find(bytes).is_some() || string::has_unicode_escape(bytes);
    params.object().filter(|_| may_be)?.object("_meta")
}

/// True if a request is a modern one: its `_meta` names a protocol version, whatever the value.
pub fn is_modern(params: Option<&Text>) -> bool {
    params.and_then(modern_meta).is_some_and(|meta| meta.get(PROTOCOL_VERSION).is_some())
}

/// Reads the envelope of a request; nothing for a legacy one.
///
/// # Errors
/// `InvalidParams` if a required member is missing or of the wrong kind, or the level is no level;
/// `UnsupportedVersion` for a revision that we do not speak without a handshake.
pub fn envelope(params: Option<&Text>) -> Option<Result<Envelope, WireError>> {
    let text = params?;
    let meta = modern_meta(text)?;
    let (mut version, mut capabilities, mut client, mut level) = (None, None, None, None);
    for member in meta.members() {
        let slot = match &*member.key() {
            PROTOCOL_VERSION => &mut version,
            CLIENT_CAPABILITIES => &mut capabilities,
            CLIENT_INFO => &mut client,
            LOG_LEVEL => &mut level,
            _ => continue,
        };
        *slot = Some(member.value);
    }
    version.map(|version| check(text, version, [capabilities, client, level]))
}

/// Checks what stands in an envelope: the version, and the capabilities, the client and the level.
fn check(text: &Text, version: &str, others: [Option<&str>; 3]) -> Result<Envelope, WireError> {
    let [capabilities, client, level] = others;
    let invalid = |key: &str, what: &str| {
        WireError::new(Code::InvalidParams, format!("Invalid params: `_meta` needs {what} as \"{key}\""))
    };
    let version = string::decode_if_string(version).ok_or_else(|| invalid(PROTOCOL_VERSION, "a string"))?;
    let revision = Revision::parse(&version).filter(|revision| revision.is_modern());
    let revision = revision.ok_or_else(|| unsupported(&version))?;
    let capabilities = capabilities
        .filter(|text| text.starts_with('{'))
        .ok_or_else(|| invalid(CLIENT_CAPABILITIES, "an object"))?;
    if client.is_some_and(|text| !text.starts_with('{')) {
        return Err(invalid(CLIENT_INFO, "an object"));
    }
    let read = |level| {
        let level = string::decode_if_string(level).and_then(|name| LogLevel::parse(&name));
        level.ok_or_else(|| invalid(LOG_LEVEL, "a logging level"))
    };
    let log_level = level.map(read).transpose()?;
    Ok(Envelope {
        revision,
        capabilities: text.slice(capabilities),
        client: client.map(|client| text.slice(client)),
        log_level,
    })
}

/// Longest name of a version that is repeated, in characters.
const VERSION_CHARS_MAX: usize = 40;

/// The error about a revision that needs no handshake and that we do not speak.
pub fn unsupported(requested: &str) -> WireError {
    let requested: String = requested.chars().take(VERSION_CHARS_MAX).collect();
    let supported = format!("[\"{}\"]", Revision::MODERN.name());
    let data =
        object_text(96, |data| data.json("supported", &*supported).string("requested", &*requested).end());
    WireError::new(Code::UnsupportedVersion, format!("Unsupported protocol version: {requested}"))
        .with_data(data)
}

/// The error about a capability that the client did not declare with its request. `required` is a
/// `ClientCapabilities` object as JSON text.
pub fn missing_capability(required: &str) -> WireError {
    let why = "this request needs a capability that the client did not declare with it";
    WireError::new(Code::MissingClientCapability, why)
        .with_data(format!("{{\"requiredCapabilities\":{required}}}"))
}

/// What we say of the client whose request we pass on, and of ourselves.
#[derive(Debug, Clone, Copy)]
pub struct OwnEnvelope<'a> {
    /// The revision spoken with the upstream.
    pub revision: Revision,
    /// Who sends: an `Implementation` object as JSON text.
    pub client: &'a str,
    /// What the client at the far end can do: a `ClientCapabilities` object as JSON text.
    pub capabilities: &'a str,
    /// Which log messages it wants.
    pub log_level: Option<LogLevel>,
    /// Our own progress token as JSON text.
    pub progress_token: Option<&'a str>,
}

/// True if a client's `_meta` holds more than the envelope, which is what goes on to an upstream as it is.
pub fn has_more(meta: Object<'_>) -> bool {
    meta.members().any(|member| !is_of_envelope(&member))
}

fn is_of_envelope(member: &Member<'_>) -> bool {
    ENVELOPE.iter().any(|key| member.is(key))
}

/// The `_meta` object of a request to an upstream as JSON text. `passed_on` is the `_meta` that our own client
/// sent; its envelope is left out, everything else in it goes on byte for byte. Nothing if there is nothing
/// to say, which happens with legacy upstreams only.
pub fn write(passed_on: Option<Object<'_>>, own: &OwnEnvelope<'_>) -> Option<String> {
    let passed_bytes = passed_on.map_or(0, |meta| meta.text().len());
    let room = 256 + own.client.len() + own.capabilities.len() + passed_bytes;
    let meta = object_text(room, |mut meta| {
        if own.revision.is_modern() {
            meta = meta
                .string(PROTOCOL_VERSION, own.revision.name())
                .json(CLIENT_INFO, own.client)
                .json(CLIENT_CAPABILITIES, own.capabilities)
                .string(LOG_LEVEL, own.log_level.map(LogLevel::name));
        }
        meta = meta.json(PROGRESS_TOKEN, own.progress_token);
        let passed = passed_on.into_iter().flat_map(Object::members);
        for passed in passed.filter(|member| !is_of_envelope(member)) {
            let key = passed.key_literal();
            meta = meta.json(&key[1..key.len() - 1], passed.value);
        }
        meta.end();
    });
    (meta != "{}").then_some(meta)
}

/// The text of a modern result: `result` (an object) with `resultType`, if it has none, and who we are in its
/// `_meta`. Nothing else in it changes.
pub fn complete(result: Object<'_>, server: &str) -> String {
    let text = match result.get("resultType") {
        Some(_) => result.text().to_owned(),
        None => patch::set(result, "resultType", "\"complete\""),
    };
    let whole = Object::parse(&text).expect("a patched object is an object");
    let meta = match whole.object("_meta") {
        Some(meta) => patch::set(meta, SERVER_INFO, server),
        None => format!("{{\"{SERVER_INFO}\":{server}}}"),
    };
    patch::set(whole, "_meta", &meta)
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use expect_test::{Expect, expect};

    use super::*;

    fn text(json: &str) -> Text {
        Text::check(Bytes::copy_from_slice(json.as_bytes())).expect("a sample is sound")
    }

    #[track_caller]
    fn check_read(meta: &str, expected: Expect) {
        let params = text(&format!("{{\"name\":1,\"_meta\":{meta}}}"));
        let shown = match envelope(Some(&params)) {
            None => "legacy".to_owned(),
            Some(Err(error)) => format!(
                "{} {} {}",
                error.code.number(),
                error.message,
                error.data.as_deref().unwrap_or_default()
            ),
            Some(Ok(read)) => format!(
                "{} {} {:?} {:?}",
                read.revision.name(),
                read.capabilities.as_str(),
                read.client.as_ref().map(Text::as_str),
                read.log_level.map(LogLevel::name)
            ),
        };
        expected.assert_eq(&shown);
        assert_eq!(is_modern(Some(&params)), shown != "legacy", "{meta}");
    }

    #[test]
    fn an_envelope_is_read_or_refused() {
        check_read(r#"{"progressToken":1}"#, expect!["legacy"]);
        check_read("5", expect!["legacy"]);
        check_read(
            r#"{"io.modelcontextprotocol\/\u0070rotocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#,
            expect!["2026-07-28 {} None None"],
        );
        check_read(
            r#"{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"sampling":{}},"io.modelcontextprotocol/clientInfo":{"name":"n"},"io.modelcontextprotocol/logLevel":"error"}"#,
            expect![[r#"2026-07-28 {"sampling":{}} Some("{\"name\":\"n\"}") Some("error")"#]],
        );
        check_read(
            r#"{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}"#,
            expect![[
                r#"-32602 Invalid params: `_meta` needs an object as "io.modelcontextprotocol/clientCapabilities" "#
            ]],
        );
        check_read(
            r#"{"io.modelcontextprotocol/protocolVersion":1,"io.modelcontextprotocol/clientCapabilities":{}}"#,
            expect![[
                r#"-32602 Invalid params: `_meta` needs a string as "io.modelcontextprotocol/protocolVersion" "#
            ]],
        );
        for version in ["2025-11-25", "1999-01-01"] {
            let meta = format!(r#"{{"io.modelcontextprotocol/protocolVersion":"{version}"}}"#);
            let params = text(&format!("{{\"_meta\":{meta}}}"));
            let error = envelope(Some(&params)).expect("modern").expect_err("no such revision");
            assert_eq!(error.code, Code::UnsupportedVersion);
            let data = format!(r#"{{"supported":["2026-07-28"],"requested":"{version}"}}"#);
            assert_eq!(error.data, Some(data));
        }
        check_read(
            r#"{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/logLevel":"loud"}"#,
            expect![[
                r#"-32602 Invalid params: `_meta` needs a logging level as "io.modelcontextprotocol/logLevel" "#
            ]],
        );
    }

    #[track_caller]
    fn check_written(revision: Revision, passed_on: &str, token: Option<&str>, expected: Expect) {
        let own = OwnEnvelope {
            revision,
            client: "{}",
            capabilities: r#"{"roots":{}}"#,
            log_level: Some(LogLevel::INFO),
            progress_token: token,
        };
        let written = write(Object::parse(passed_on), &own);
        if let Some(written) = &written {
            text(written);
        }
        expected.assert_eq(written.as_deref().unwrap_or("nothing"));
    }

    #[test]
    fn the_envelope_is_ours_and_the_rest_is_passed_on() {
        let has_more = |meta| super::has_more(Object::parse(meta).expect("an object"));
        assert!(has_more(r#"{"progressToken":1,"x":1}"#) && has_more(r#"{"io.modelcontextprotocol/x":1}"#));
        assert!(!has_more("{}") && !has_more(r#"{"progressToken":1,"io.modelcontextprotocol/logLevel":1}"#));
        let passed_on = r#"{"traceparent":"00-1","progressToken":9,"io.modelcontextprotocol/protocolVersion":"x","x.y/z":1.0}"#;
        check_written(
            Revision::V2025_11_25,
            passed_on,
            None,
            expect![[r#"{"traceparent":"00-1","x.y/z":1.0}"#]],
        );
        check_written(
            Revision::V2025_11_25,
            passed_on,
            Some("7"),
            expect![[r#"{"progressToken":7,"traceparent":"00-1","x.y/z":1.0}"#]],
        );
        check_written(Revision::V2025_03_26, r#"{"progressToken":9}"#, None, expect!["nothing"]);
        check_written(
            Revision::MODERN,
            passed_on,
            Some("7"),
            expect![[
                r#"{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{},"io.modelcontextprotocol/clientCapabilities":{"roots":{}},"io.modelcontextprotocol/logLevel":"info","progressToken":7,"traceparent":"00-1","x.y/z":1.0}"#
            ]],
        );
    }

    #[test]
    fn a_result_is_made_complete_and_keeps_its_bytes() {
        let cases = [
            (
                r#"{"a":1.0}"#,
                r#"{"_meta":{"io.modelcontextprotocol/serverInfo":{}},"resultType":"complete","a":1.0}"#,
            ),
            (
                r#"{"_meta":{"x":1e3},"resultType":"task"}"#,
                r#"{"_meta":{"io.modelcontextprotocol/serverInfo":{},"x":1e3},"resultType":"task"}"#,
            ),
        ];
        for (before, after) in cases {
            assert_eq!(complete(Object::parse(before).expect("an object"), "{}"), after);
        }
    }
}
