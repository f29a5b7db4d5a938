//! What a log message of a running call says.

use bytes::Bytes;
use serde_json::Value;
use tool_api::STDERR_LOGGER;

/// What a log message says, and on which stream.
pub(super) fn said(params: &Bytes) -> Option<(&'static str, String)> {
    let mut params: Value = serde_json::from_slice(params).ok()?;
    let is_stderr = params["logger"].as_str().is_some_and(|logger| logger.ends_with(STDERR_LOGGER));
    let text = match params["data"].take() {
        Value::String(text) => text,
        other => other.to_string(),
    };
    Some((if is_stderr { "stderr" } else { "log" }, text))
}
