//! The client at the far end of a call: what it can do, and what it has answered.

use std::sync::Arc;

use bytes::Bytes;
use serde_json::Value;

use crate::cancel::Cancel;

/// What the client of a call says it can do. A tool may ask for nothing beyond it.
#[derive(Debug, Clone)]
pub struct Client {
    /// Who calls, by the id that the audit log knows. Set by the gate, whatever a door says.
    pub caller: Arc<str>,
    /// Its `ClientCapabilities` object as JSON text.
    pub capabilities: Bytes,
    /// Its `Implementation` object as JSON text, if it says one. For logs and upstreams; nothing is decided
    /// by it.
    pub info: Option<Bytes>,
    /// The name of the least grave level of log messages that it wants; none if it wants none.
    pub log_level: Option<&'static str>,
    /// Calls of one conversation have one number. What one conversation is asked, no other one sees.
    pub conversation: u64,
    /// True if its revision has no tasks that it could be given: a call that becomes one is followed to its end, and
    /// gives its result.
    pub knows_no_tasks: bool,
    /// Set when the conversation is over; nothing for one whose end nobody hears of.
    pub over: Option<Cancel>,
}

impl Default for Client {
    /// A client that can do nothing and wants nothing, in no conversation with others.
    fn default() -> Client {
        Client {
            caller: Arc::default(),
            capabilities: Bytes::from_static(b"{}"),
            info: None,
            log_level: None,
            conversation: 0,
            knows_no_tasks: false,
            over: None,
        }
    }
}

/// Whether a client shows forms to its user, by its `ClientCapabilities` as JSON text. An empty object stands for forms only (MCP
/// 2025-11-25, "Elicitation").
pub fn shows_forms(capabilities: &[u8]) -> bool {
    let all: Value = serde_json::from_slice(capabilities).unwrap_or_default();
    let elicitation = all["elicitation"].as_object();
    elicitation.is_some_and(|kinds| kinds.contains_key("form") || !kinds.contains_key("url"))
}

/// What a client sends with a call that it repeats because the tool asked for more (MCP 2026-07-28,
/// "Multi Round-Trip Requests").
#[derive(Debug, Clone, Default)]
pub struct Input {
    /// The `inputResponses` object as JSON text: answers by the keys that the tool gave.
    pub responses: Option<Bytes>,
    /// What the tool wanted to be given back.
    pub state: Option<Arc<str>>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_is_asked_that_shows_forms() {
        for (capabilities, expected) in [
            (r#"{"elicitation":{}}"#, true),
            (r#"{"elicitation":{"form":{}}}"#, true),
            (r#"{"elicitation":{"form":{},"url":{}}}"#, true),
            (r#"{"elicitation":{"url":{}}}"#, false),
            (r#"{"elicitation":true}"#, false),
            ("{}", false),
            ("", false),
        ] {
            assert_eq!(shows_forms(capabilities.as_bytes()), expected, "{capabilities}");
        }
    }
}
