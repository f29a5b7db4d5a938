//! For whom a request is made.

use bytes::Bytes;
use tool_api::Context;
use wire::LogLevel;

/// For whom a request is made.
#[derive(Debug, Clone)]
pub(crate) struct Caller {
    /// Calls of one conversation have one number; 0 has nothing in common with anybody.
    pub conversation: u64,
    /// Its `ClientCapabilities` object as JSON text.
    pub capabilities: Bytes,
    /// The least grave level of log messages that it wants.
    pub log_level: Option<LogLevel>,
    /// False for methods during which a server may not ask for anything.
    pub may_be_asked: bool,
}

pub(super) fn caller(method: &str, cx: &Context) -> Caller {
    let client = cx.client();
    Caller {
        conversation: client.conversation,
        capabilities: client.capabilities.clone(),
        log_level: log_level(cx),
        may_be_asked: matches!(method, "tools/call" | "prompts/get" | "resources/read" | "tasks/result"),
    }
}

pub(super) fn log_level(cx: &Context) -> Option<LogLevel> {
    cx.client().log_level.and_then(LogLevel::parse)
}
