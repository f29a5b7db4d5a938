//! The client at the far end of a call: what it can do, and what it has answered.

use std::sync::Arc;

use bytes::Bytes;

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

/// What a client sends with a call that it repeats because the tool asked for more (MCP 2026-07-28,
/// "Multi Round-Trip Requests").
#[derive(Debug, Clone, Default)]
pub struct Input {
    /// The `inputResponses` object as JSON text: answers by the keys that the tool gave.
    pub responses: Option<Bytes>,
    /// What the tool wanted to be given back.
    pub state: Option<Arc<str>>,
}
