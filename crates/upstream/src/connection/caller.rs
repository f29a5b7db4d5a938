//! For whom a request is made.

use std::sync::Arc;

use bytes::Bytes;
use tool_api::{Client, Context, Listener};
use wire::LogLevel;

use crate::habits::Habit;

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
    /// What is known of such calls; nothing where a question says whose it is.
    pub habit: Option<Arc<Habit>>,
    /// Who hears progress and log messages: nobody while the client is asked something.
    pub listener: Option<Arc<dyn Listener>>,
}

impl Caller {
    /// True if the server may ask its client, as far as is known.
    pub(crate) fn may_ask(&self) -> bool {
        self.may_be_asked && !self.habit.as_ref().is_some_and(|habit| habit.is_quiet())
    }
}

impl Caller {
    /// Who is asked what a task asks. Its questions name it, so that it can be taken for no other call that asks.
    pub(crate) fn of_task(client: &Client) -> Caller {
        let (conversation, capabilities) = (client.conversation, client.capabilities.clone());
        Caller {
            conversation,
            capabilities,
            log_level: None,
            may_be_asked: false,
            habit: None,
            listener: None,
        }
    }
}

pub(crate) fn caller(method: &str, habit: Option<Arc<Habit>>, cx: &Context) -> Caller {
    let client = &cx.client;
    Caller {
        conversation: client.conversation,
        capabilities: client.capabilities.clone(),
        log_level: log_level(cx),
        may_be_asked: matches!(method, "tools/call" | "prompts/get" | "resources/read" | "tasks/result"),
        habit,
        listener: cx.listener.clone(),
    }
}

pub(super) fn log_level(cx: &Context) -> Option<LogLevel> {
    cx.client.log_level.and_then(LogLevel::parse)
}
