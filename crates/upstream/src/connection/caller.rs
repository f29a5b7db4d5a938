//! For whom a request is made.

use std::sync::Arc;

use bytes::Bytes;
use tool_api::{Context, Listener};
use wire::LogLevel;

/// For whom a request is made.
#[derive(Clone)]
pub(crate) struct Caller {
    /// Calls of one conversation have one number; 0 has nothing in common with anybody.
    pub conversation: u64,
    /// Its `ClientCapabilities` object as JSON text.
    pub capabilities: Bytes,
    /// The least grave level of log messages that it wants.
    pub log_level: Option<LogLevel>,
    /// False for methods during which a server may not ask for anything.
    pub may_be_asked: bool,
    /// Who hears progress and log messages: nobody while the client is asked something.
    pub listener: Option<Arc<dyn Listener>>,
}

pub(super) fn caller(method: &str, cx: &Context) -> Caller {
    let client = &cx.client;
    Caller {
        conversation: client.conversation,
        capabilities: client.capabilities.clone(),
        log_level: log_level(cx),
        may_be_asked: matches!(method, "tools/call" | "prompts/get" | "resources/read" | "tasks/result"),
        listener: cx.listener.clone(),
    }
}

pub(super) fn log_level(cx: &Context) -> Option<LogLevel> {
    cx.client.log_level.and_then(LogLevel::parse)
}
