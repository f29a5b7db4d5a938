//! What an upstream's errors mean for the one who called, in a sentence to act on and in the protocol's words.

use std::fmt::Display;
use std::time::Duration;

use oauth::AuthError;
use serde_json::{Value, json};
use tool_api::{Protocol, ToolError};
use wire::message::Text;
use wire::string::literal;
use wire::{Code, WireError, patch, resources};

use crate::breaker::FAILURES_MAX;
use crate::clean;
use crate::error::ConnectError;
use crate::fault::Fault;

/// Longest error message of an upstream that is passed on, in bytes.
const MESSAGE_BYTES_MAX: usize = 2 * 1024;

/// Largest `data` of an upstream's error that is passed on to models, in bytes of JSON.
const DATA_BYTES_MAX: usize = 2 * 1024;

/// Largest `data` that is passed on to programs, in bytes of JSON.
const PROTOCOL_DATA_BYTES_MAX: usize = 16 * 1024;

/// The parts of a JSON-RPC error object.
struct Parts<'t> {
    code: i64,
    message: String,
    /// The JSON text.
    data: Option<&'t str>,
}

fn parts(error: &Text) -> Parts<'_> {
    let object = error.object();
    let code = object.and_then(|object| object.get("code")).and_then(|code| code.parse().ok()).unwrap_or(0);
    let message = object.and_then(|object| object.string("message")).unwrap_or_default();
    let data = object.and_then(|object| object.get("data"));
    Parts { code, message: clean::sentence(&message, MESSAGE_BYTES_MAX), data }
}

/// The server answered a call with a JSON-RPC error.
pub(crate) fn error(upstream: &str, error: &Text, unknown_tool: bool) -> ToolError {
    let Parts { code, message, data } = parts(error);
    let words = if message.is_empty() { "no message" } else { &message };
    let hint = if unknown_tool { "; its list of tools is read again" } else { "" };
    let sentence = format!("`{upstream}` answered with error {code}: {words}{hint}");
    let mut details = json!({ "upstream": upstream, "code": code, "message": message });
    if let Some(data) = data {
        details["data"] = match data.len() {
            0..=DATA_BYTES_MAX => serde_json::from_str(data).unwrap_or(Value::Null),
            bytes => json!(format!("{bytes} bytes left out")),
        };
    }
    let data = data.filter(|data| data.len() <= PROTOCOL_DATA_BYTES_MAX).map(str::to_owned);
    ToolError::new("upstream_error", sentence).with_details(details).with_protocol(Protocol {
        code,
        message,
        data,
    })
}

/// The server does not have the resource `own`, which is offered here as `offered`, or says another error about it.
/// What it says of a URI is said of the one offered.
pub(crate) fn not_found(upstream: &str, error: &Text, own: &str, offered: &str) -> ToolError {
    let unchanged = self::error(upstream, error, false);
    let Some(protocol) = unchanged.protocol().cloned() else { return unchanged };
    let Parts { code, message, data } = parts(error);
    let object = data.and_then(wire::Object::parse);
    let is_missing = code == Code::ResourceNotFound.number()
        || (code == Code::InvalidParams.number() && (is_about(object, own) || says_missing(&message)));
    if !is_missing {
        return unchanged;
    }
    let data = match object {
        Some(object) if data.is_some_and(|data| data.len() <= PROTOCOL_DATA_BYTES_MAX) => {
            patch::set(object, "uri", &literal(offered))
        }
        _ => resources::not_found_data(offered),
    };
    // Without a scheme it may be any word of the sentence.
    let message = match own.contains(':') {
        true => protocol.message.replace(own, offered),
        false => protocol.message,
    };
    unchanged.with_protocol(Protocol { message, data: Some(data), ..protocol })
}

fn is_about(data: Option<wire::Object<'_>>, uri: &str) -> bool {
    data.and_then(|data| data.string("uri")).is_some_and(|named| named == uri)
}

/// An error of ours about the server.
fn about(upstream: &str, code: &'static str, message: String) -> ToolError {
    ToolError::new(code, message).with_details(json!({ "upstream": upstream }))
}

/// The server cannot be used, so the call was not looked at.
fn unusable(upstream: &str, why: impl Display) -> ToolError {
    about(upstream, "upstream_unavailable", format!("`{upstream}` cannot be used: {why}"))
}

/// A request that cannot be passed on, with what the protocol says about such.
pub(crate) fn bad_request(upstream: &str, code: Code, why: &str, data: Option<String>) -> ToolError {
    let protocol = Protocol { code: code.number(), message: why.to_owned(), data };
    about(upstream, "upstream_error", format!("`{upstream}`: {why}")).with_protocol(protocol)
}

/// True if the error has this code.
pub(crate) fn is_code(error: &Text, code: Code) -> bool {
    parts(error).code == code.number()
}

/// True if the error says that there is no such tool; servers word it in several ways.
pub(crate) fn says_unknown_tool(error: &Text) -> bool {
    let Parts { code, message, .. } = parts(error);
    code == Code::InvalidParams.number()
        && says_missing(&message)
        && message.to_ascii_lowercase().contains("tool")
}

fn says_missing(message: &str) -> bool {
    let message = message.to_ascii_lowercase();
    ["unknown", "not found", "no such"].iter().any(|word| message.contains(word))
}

/// The server answered a request of ours with a JSON-RPC error.
pub(crate) fn refused(method: &'static str, error: &Text) -> ConnectError {
    let Parts { code, message, .. } = parts(error);
    ConnectError::Refused { method, code, said: message }
}

/// Of a call that the server has got and not answered.
const EFFECT_UNKNOWN: &str = "whether this call had an effect is unknown";

/// Of a server with `restart = "never"`.
const STAYS_GONE: &str = "it is not started again by itself, so a person must start it";

/// It stopped before it answered; `then` is what follows. What it said itself is not for everybody, but a limit of ours is.
fn gone(upstream: &str, fault: &Fault, then: &str) -> ToolError {
    let why = fault.limit().map(|limit| format!(", since {limit}")).unwrap_or_default();
    let message = format!("`{upstream}` stopped before it answered{why}; {then}; {EFFECT_UNKNOWN}");
    about(upstream, "upstream_gone", message)
}

/// It stopped before it answered, and is not started again by itself.
pub(crate) fn stays_gone(upstream: &str, fault: &Fault) -> ToolError {
    gone(upstream, fault, STAYS_GONE)
}

/// There was no answer that could be used.
pub(crate) fn failed(upstream: &str, fault: &Fault) -> ToolError {
    match fault {
        Fault::Gone(_) => gone(upstream, fault, "it is started again with the next call"),
        Fault::Broken(why) => broken(upstream, why),
        Fault::Busy => busy(upstream),
        Fault::NotSent(_) => {
            about(upstream, "upstream_unavailable", format!("`{upstream}` cannot be reached: {fault}"))
        }
        Fault::Scope(AuthError::NeedsSignIn { why }) => {
            let message = format!(
                "`{upstream}` wants more for this than the present sign-in: {why}; a person must sign in to it again"
            );
            about(upstream, "needs_auth", message)
        }
        Fault::SignIn(error) | Fault::Scope(error) => sign_in(upstream, error),
        Fault::Access(_) | Fault::Redirect { .. } => unusable(upstream, fault),
        Fault::Status { .. } => {
            about(upstream, "upstream_error", format!("`{upstream}` failed: {fault}; {EFFECT_UNKNOWN}"))
        }
        Fault::Lacking(required) => {
            let WireError { code, message, data } = wire::meta::missing_capability(required);
            let protocol = Protocol { code: code.number(), message, data };
            let message = format!("`{upstream}` needs what the client has not declared: {required}");
            about(upstream, "upstream_error", message).with_protocol(protocol)
        }
        Fault::Round(why) => bad_request(upstream, Code::InvalidParams, why, None),
    }
}

/// The server could not be connected to, so the call was not sent.
pub(crate) fn unavailable(upstream: &str, error: &ConnectError) -> ToolError {
    let tool_error = match error {
        ConnectError::Request(Fault::SignIn(error) | Fault::Scope(error)) => sign_in(upstream, error),
        ConnectError::Crowded => {
            about(upstream, "upstream_busy", format!("`{upstream}` cannot be used: {error}; try again later"))
        }
        ConnectError::Ended => return ToolError::gone(upstream),
        // Their own words are for a person: they name what to set or run.
        ConnectError::Lacking(_) => unusable(upstream, "a secret that it needs is yet to be set by a person"),
        ConnectError::NotRestarted { last } => unusable(upstream, format_args!("{STAYS_GONE}: {last}")),
        ConnectError::Disabled
        | ConnectError::Start { .. }
        | ConnectError::Request(_)
        | ConnectError::TooSlow { .. }
        | ConnectError::Refused { .. }
        | ConnectError::BackingOff { .. } => unusable(upstream, error),
    };
    tool_error.with_source(error.clone())
}

/// There is no token that it accepts, so the call was not looked at.
fn sign_in(upstream: &str, error: &AuthError) -> ToolError {
    match error {
        AuthError::NeedsSignIn { .. } => {
            let message =
                format!("`{upstream}` wants a person to sign in to it; go on without it until then");
            about(upstream, "needs_auth", message)
        }
        AuthError::NeedsRegistration(why) => {
            let message = format!("`{upstream}` wants you to sign in: {why}");
            about(upstream, "needs_client_registration", message)
        }
        // Its own words tell a person which command puts it right.
        AuthError::Keep(_) => {
            unusable(upstream, "what is kept of its sign-in cannot be used, so a person must look at it")
        }
        AuthError::Failed(_) => unusable(upstream, error),
    }
}

/// The server has more calls than it can answer, or more wait for it than may.
pub(crate) fn busy(upstream: &str) -> ToolError {
    let message = format!("`{upstream}` does not keep up with its calls; try again later");
    about(upstream, "upstream_busy", message)
}

/// The call was not sent: others had all slots for so long.
pub(crate) fn no_slot(upstream: &str, waited: Duration, concurrency: u16) -> ToolError {
    let message = format!(
        "waited {waited:?} for a slot at `{upstream}` (`concurrency = {concurrency}`); nothing was sent, so try again \
         later"
    );
    about(upstream, "upstream_busy", message)
}

/// The call was not sent: too many before it failed, and it is refused for `wait`.
pub(crate) fn circuit_open(upstream: &str, wait: Duration) -> ToolError {
    let wait_s = wait.as_millis().div_ceil(1000);
    let why = format_args!(
        "{FAILURES_MAX} or more of its calls in a row got no answer, so it is tried again in {wait_s} s"
    );
    unusable(upstream, why).with_details(json!({ "upstream": upstream, "retry": true }))
}

/// The tool is not what it was when it was listed.
pub(crate) fn changed(upstream: &str, tool: &str) -> ToolError {
    let message = format!(
        "`{upstream}` has changed or removed `{tool}` since it was listed; list the tools again before you call it"
    );
    about(upstream, "definition_changed", message)
}

/// It is not offered before a person has accepted it.
pub(crate) fn held_back(upstream: &str, why: &str) -> ToolError {
    about(upstream, "held_back", why.to_owned())
}

/// What came back is of no use.
pub(crate) fn broken(upstream: &str, why: &str) -> ToolError {
    about(upstream, "upstream_broken", format!("the answer of `{upstream}` cannot be used: {why}"))
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    fn text(json: &str) -> Text {
        Text::check(Bytes::copy_from_slice(json.as_bytes())).expect("JSON")
    }

    #[track_caller]
    fn check_error(json: &str, unknown_tool: bool, message: &str, details: Value) {
        let said = text(json);
        assert_eq!(says_unknown_tool(&said), unknown_tool, "{json}");
        let error = error("it", &said, unknown_tool);
        assert_eq!((error.code().as_ref(), error.to_string().as_str()), ("upstream_error", message));
        assert_eq!(error.details(), Some(&details));
    }

    #[test]
    fn errors_are_passed_on_with_their_facts() {
        check_error(
            r#"{"code":-32000,"message":"no\u001b[1m luck\n","data":{"a":[1]}}"#,
            false,
            "`it` answered with error -32000: no [1m luck",
            json!({ "upstream": "it", "code": -32000, "message": "no [1m luck", "data": { "a": [1] } }),
        );
        check_error(
            r#"{"code":-32602,"message":"MCP error -32602: Tool x not found"}"#,
            true,
            "`it` answered with error -32602: MCP error -32602: Tool x not found; its list of tools is read again",
            json!({ "upstream": "it", "code": -32602, "message": "MCP error -32602: Tool x not found" }),
        );
        check_error(
            "\"odd\"",
            false,
            "`it` answered with error 0: no message",
            json!({ "upstream": "it", "code": 0, "message": "" }),
        );
    }

    #[test]
    fn programs_get_the_protocols_error_as_it_was() {
        let data = r#"{"requiredCapabilities": {"sampling":{}}}"#;
        let json = format!(r#"{{"code":-32021,"message":"needs\u0007 more","data":{data}}}"#);
        let error = error("it", &text(&json), false);
        let expected =
            Protocol { code: -32021, message: "needs  more".to_owned(), data: Some(data.to_owned()) };
        assert_eq!(error.protocol(), Some(&expected));
    }

    #[test]
    fn what_is_too_long_is_cut() {
        let long = "x".repeat(20_000);
        let error = error("it", &text(&format!(r#"{{"code":1,"message":"{long}","data":"{long}"}}"#)), false);
        assert_eq!(error.to_string().len(), "`it` answered with error 1: ".len() + 2048 + "…".len());
        assert_eq!(error.details().expect("facts")["data"], "20002 bytes left out");
        let protocol = error.protocol().expect("an error of the protocol");
        assert_eq!((protocol.message.len(), &protocol.data), (2048 + "…".len(), &None));
    }

    #[test]
    fn wrong_parameters_alone_are_no_unknown_tool() {
        assert!(!says_unknown_tool(&text(r#"{"code":-32602,"message":"x must be a number"}"#)));
        assert!(!says_unknown_tool(&text(r#"{"code":-32000,"message":"Unknown tool: x"}"#)));
    }

    #[track_caller]
    fn check_missing(json: &str, expected: (i64, &str, Option<&str>)) {
        let error = not_found("it", &text(json), "file:///a", "p+file:///a");
        let protocol = error.protocol().expect("an error of the protocol");
        assert_eq!((protocol.code, protocol.message.as_str(), protocol.data.as_deref()), expected);
    }

    #[test]
    fn a_missing_resource_is_named_as_it_is_offered() {
        check_missing(
            r#"{"code":-32002,"message":"Resource not found: file:///a","data":{"uri":"file:///a","x":1.0}}"#,
            (-32002, "Resource not found: p+file:///a", Some(r#"{"uri":"p+file:///a","x":1.0}"#)),
        );
        check_missing(r#"{"code":-32002,"message":""}"#, (-32002, "", Some(r#"{"uri":"p+file:///a"}"#)));
        check_missing(
            r#"{"code":-32602,"message":"Unknown resource"}"#,
            (-32602, "Unknown resource", Some(r#"{"uri":"p+file:///a"}"#)),
        );
        check_missing(
            r#"{"code":-32602,"message":"bad","data":{"uri":"file:///a"}}"#,
            (-32602, "bad", Some(r#"{"uri":"p+file:///a"}"#)),
        );
        check_missing(r#"{"code":-32602,"message":"bad","data":[1]}"#, (-32602, "bad", Some("[1]")));
        check_missing(r#"{"code":-32603,"message":"file:///a"}"#, (-32603, "file:///a", None));
    }

    #[test]
    fn a_refusal_of_the_breaker_says_when_it_is_tried_again() {
        let said = circuit_open("it", Duration::from_millis(29_001)).to_string();
        let why = "5 or more of its calls in a row got no answer, so it is tried again in 30 s";
        assert_eq!(said, format!("`it` cannot be used: {why}"));
    }
}
