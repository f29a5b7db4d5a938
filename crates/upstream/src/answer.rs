//! What an upstream's answers mean for the one who called: an outcome, or an error to act on.

use serde_json::{Value, json};
use tool_api::{Outcome, Payload, ToolError};
use wire::message::Text;

use crate::clean;
use crate::connection::Fault;
use crate::error::ConnectError;

/// Longest error message of an upstream that is passed on, in bytes.
const MESSAGE_BYTES_MAX: usize = 2 * 1024;

/// Largest `data` of an upstream's error that is passed on, in bytes of JSON.
const DATA_BYTES_MAX: usize = 2 * 1024;

/// JSON-RPC's code for wrong parameters; MCP uses it for an unknown tool, too.
const INVALID_PARAMS: i64 = -32602;

/// The outcome in a result of `tools/call`.
pub(crate) fn outcome(upstream: &str, result: &Text) -> Result<Outcome, ToolError> {
    let object = result.object().ok_or_else(|| broken(upstream, "its result is no JSON object"))?;
    let (mut is_error, mut structured) = (false, None);
    // One pass, since results can be large.
    for member in object.members() {
        match member.key().as_ref() {
            "isError" => is_error = member.value == "true",
            "structuredContent" if member.value != "null" => {
                structured = Some(result.slice(member.value).bytes());
            }
            _ => {}
        }
    }
    Ok(Outcome { payload: Payload::Relayed { result: result.bytes(), structured }, is_error })
}

/// The parts of a JSON-RPC error object.
struct Parts {
    code: i64,
    message: String,
    data: Option<Value>,
}

fn parts(error: &Text) -> Parts {
    let object = error.object();
    let code = object.and_then(|object| object.get("code")).and_then(|code| code.parse().ok()).unwrap_or(0);
    let message = object.and_then(|object| object.string("message")).unwrap_or_default();
    let data = object.and_then(|object| object.get("data")).map(|data| match data.len() {
        0..=DATA_BYTES_MAX => serde_json::from_str(data).unwrap_or(Value::Null),
        bytes => json!(format!("{bytes} bytes left out")),
    });
    Parts { code, message: clean::sentence(&message, MESSAGE_BYTES_MAX), data }
}

/// The server answered a call with a JSON-RPC error.
pub(crate) fn error(upstream: &str, error: &Text, unknown_tool: bool) -> ToolError {
    let Parts { code, message, data } = parts(error);
    let said = if message.is_empty() { "no message" } else { &message };
    let hint = if unknown_tool { "; its list of tools is read again" } else { "" };
    let mut details = json!({ "upstream": upstream, "code": code, "message": message });
    if let Some(data) = data {
        details["data"] = data;
    }
    ToolError::new("upstream_error", format!("`{upstream}` answered with error {code}: {said}{hint}"))
        .with_details(details)
}

/// True if the error says that there is no such tool; servers word it in several ways.
pub(crate) fn says_unknown_tool(error: &Text) -> bool {
    let Parts { code, message, .. } = parts(error);
    let message = message.to_ascii_lowercase();
    let missing = ["unknown", "not found", "no such"].iter().any(|word| message.contains(word));
    code == INVALID_PARAMS && missing && message.contains("tool")
}

/// The server answered a request of ours with a JSON-RPC error.
pub(crate) fn refused(method: &'static str, error: &Text) -> ConnectError {
    let Parts { code, message, .. } = parts(error);
    ConnectError::Refused { method, code, said: message }
}

/// There was no answer that could be used.
pub(crate) fn failed(upstream: &str, fault: &Fault) -> ToolError {
    let unknown = "whether this call had an effect is unknown";
    let details = json!({ "upstream": upstream });
    let error = match fault {
        Fault::Gone(_) => {
            let again = "it is started again with the next call";
            let message = format!("`{upstream}` stopped before it answered; {again}; {unknown}");
            ToolError::new("upstream_gone", message)
        }
        Fault::Broken(why) => broken(upstream, why),
        Fault::Busy => {
            let message = format!("`{upstream}` does not keep up with its calls; try again later");
            ToolError::new("upstream_busy", message)
        }
        Fault::NotSent(_) => {
            ToolError::new("upstream_unavailable", format!("`{upstream}` cannot be reached: {fault}"))
        }
        Fault::Access(_) | Fault::Redirect { .. } => {
            ToolError::new("upstream_unavailable", format!("`{upstream}` cannot be used: {fault}"))
        }
        Fault::Status { .. } => {
            ToolError::new("upstream_error", format!("`{upstream}` failed: {fault}; {unknown}"))
        }
    };
    error.with_details(details)
}

/// The server could not be connected to, so the call was not sent.
pub(crate) fn unavailable(upstream: &str, error: &ConnectError) -> ToolError {
    ToolError::new("upstream_unavailable", format!("`{upstream}` cannot be used: {error}"))
        .with_details(json!({ "upstream": upstream }))
        .with_source(error.clone())
}

/// The tool is not what it was when it was listed.
pub(crate) fn changed(upstream: &str, tool: &str) -> ToolError {
    let message = format!(
        "`{upstream}` has changed or removed `{tool}` since it was listed; list the tools again before you call it"
    );
    ToolError::new("definition_changed", message).with_details(json!({ "upstream": upstream }))
}

/// The configuration has changed under a caller that still holds the tool.
pub(crate) fn removed(upstream: &str) -> ToolError {
    let message = format!("`{upstream}` is no longer part of the configuration");
    ToolError::new("upstream_unavailable", message).with_details(json!({ "upstream": upstream }))
}

fn broken(upstream: &str, why: &str) -> ToolError {
    let message = format!("the answer of `{upstream}` cannot be used: {why}");
    ToolError::new("upstream_broken", message).with_details(json!({ "upstream": upstream }))
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
    fn what_is_too_long_is_cut() {
        let long = "x".repeat(5000);
        let error = error("it", &text(&format!(r#"{{"code":1,"message":"{long}","data":"{long}"}}"#)), false);
        assert_eq!(error.to_string().len(), "`it` answered with error 1: ".len() + 2048 + "…".len());
        assert_eq!(error.details().expect("facts")["data"], "5002 bytes left out");
    }

    #[test]
    fn wrong_parameters_alone_are_no_unknown_tool() {
        assert!(!says_unknown_tool(&text(r#"{"code":-32602,"message":"x must be a number"}"#)));
        assert!(!says_unknown_tool(&text(r#"{"code":-32000,"message":"Unknown tool: x"}"#)));
    }

    #[track_caller]
    fn check_outcome(json: &str, is_error: bool, expected: Option<&str>) {
        let outcome = outcome("it", &text(json)).expect("an outcome");
        let Payload::Relayed { result, structured } = outcome.payload else { panic!("not relayed") };
        assert_eq!((outcome.is_error, &result[..]), (is_error, json.as_bytes()));
        assert_eq!(structured.as_deref(), expected.map(str::as_bytes));
    }

    #[test]
    fn a_result_is_relayed_whole_with_what_the_gate_needs_of_it() {
        check_outcome(r#"{ "content":[] ,"x":1.0}"#, false, None);
        check_outcome(r#"{"isError":true,"content":[]}"#, true, None);
        check_outcome(r#"{"isError":"true","structuredContent": {"a" : 1}}"#, false, Some(r#"{"a" : 1}"#));
        check_outcome(r#"{"structuredContent":null}"#, false, None);
    }

    #[test]
    fn a_result_that_is_no_object_is_broken() {
        let error = outcome("it", &text("[]")).expect_err("no object");
        assert_eq!(error.code().as_ref(), "upstream_broken");
        assert_eq!(error.to_string(), "the answer of `it` cannot be used: its result is no JSON object");
    }
}
