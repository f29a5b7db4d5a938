//! Why a call gave no outcome. Three kinds and no fourth; the door maps them to protocol.

use tool_api::{ArgumentsFault, CallId, ToolError};

use crate::schema::Violation;
use crate::seal::StateFault;

/// A call that gave no outcome.
#[derive(Debug)]
pub enum Failure {
    /// The gate did not let it through.
    Refused(Refusal),
    /// The tool could not do its work.
    Tool(ToolError),
    /// We failed.
    Internal(Internal),
}

/// Why the gate did not let a call through. Each says what to try.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// There is no such tool, or none that this caller may see; the two read alike.
    #[error("unknown tool: {0}")]
    UnknownTool(String),
    /// There is no such resource, or none that this caller may see.
    #[error("unknown resource: {0}")]
    UnknownResource(String),
    /// There is no such prompt, or none that this caller may see.
    #[error("unknown prompt: {0}")]
    UnknownPrompt(String),
    /// There is no such task, or it is not this caller's.
    #[error("unknown task; it may have ended, or belong to somebody else")]
    UnknownTask,
    /// The source has no such action.
    #[error("`{upstream}` does not support {action}")]
    Unsupported {
        /// Whose thing it is.
        upstream: String,
        /// What was to be done with it.
        action: &'static str,
    },
    /// The state that the client brings from an earlier round cannot be used.
    #[error("{0}")]
    BadState(StateFault),
    /// A rule forbids it.
    #[error("refused by policy: `{tool}` {why} (rule {rule})")]
    Denied {
        /// The tool.
        tool: String,
        /// The rule that decided.
        rule: &'static str,
        /// Its reason, completing "the tool …".
        why: &'static str,
    },
    /// A person would have to agree, and nobody can be asked; the setting says how to allow it beforehand.
    #[error(
        "`{tool}` {why}, so a person must allow it first: add \"{tool}\" to `{setting}` in the configuration, then call again"
    )]
    NeedsApproval {
        /// The tool.
        tool: String,
        /// The rule that decided.
        rule: &'static str,
        /// Its reason, completing "the tool …".
        why: &'static str,
        /// The setting that allows it.
        setting: &'static str,
    },
    /// The arguments do not fit the tool's input schema.
    #[error("the arguments do not fit `{tool}`:{}", Violation::lines(.violations))]
    InvalidArguments {
        /// The tool.
        tool: String,
        /// What is wrong where, at most [`crate::schema::VIOLATIONS_MAX`].
        violations: Vec<Violation>,
    },
    /// The tool's input schema cannot be used, so nothing can be checked against it.
    #[error("the input schema of `{tool}` cannot be used, so its arguments cannot be checked: {why}")]
    UnusableSchema {
        /// The tool.
        tool: String,
        /// What is wrong with the schema.
        why: String,
    },
    /// The caller asks more often than its limit allows.
    #[error("Rate limit exceeded. Please try again later.")]
    RateLimited {
        /// When the next call is allowed, in milliseconds from now.
        retry_after_ms: u64,
    },
    /// The call could not be written in the book, and what cannot be recorded does not run.
    #[error("the audit book cannot be written, so no call runs: {0}")]
    NoBook(String),
}

/// We failed. The caller gets a name to look for in the log, the log gets the cause.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("internal error; the log has the cause under call {call}")]
pub struct Internal {
    /// The call that failed.
    pub call: CallId,
}

impl Failure {
    /// The stable code.
    pub fn code(&self) -> &str {
        match self {
            Failure::Refused(refusal) => refusal.code(),
            Failure::Tool(error) => error.code(),
            Failure::Internal(_) => "internal",
        }
    }

    /// True if the caller gave the call up.
    pub fn is_cancelled(&self) -> bool {
        matches!(self, Failure::Tool(error) if error.code() == ToolError::CANCELLED)
    }
}

impl Refusal {
    /// The arguments are no object that can be held.
    pub(crate) fn unreadable(tool: &str, fault: &ArgumentsFault) -> Refusal {
        let violation =
            Violation { pointer: String::new(), expected: "an object".to_owned(), found: fault.0.clone() };
        Refusal::InvalidArguments { tool: tool.to_owned(), violations: vec![violation] }
    }

    /// The stable code.
    pub fn code(&self) -> &'static str {
        match self {
            Refusal::UnknownTool(_) => "unknown_tool",
            Refusal::UnknownResource(_) => "unknown_resource",
            Refusal::UnknownPrompt(_) => "unknown_prompt",
            Refusal::UnknownTask => "unknown_task",
            Refusal::Unsupported { .. } => "unsupported",
            Refusal::BadState(_) => "bad_request_state",
            Refusal::Denied { .. } => "policy_denied",
            Refusal::NeedsApproval { .. } => "approval_required",
            Refusal::InvalidArguments { .. } => "invalid_arguments",
            Refusal::UnusableSchema { .. } => "unusable_schema",
            Refusal::RateLimited { .. } => "rate_limited",
            Refusal::NoBook(_) => "book_unavailable",
        }
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Failure::Refused(refusal) => refusal.fmt(f),
            Failure::Tool(error) => error.fmt(f),
            Failure::Internal(internal) => internal.fmt(f),
        }
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Failure {
        Failure::Refused(refusal)
    }
}

impl From<ToolError> for Failure {
    fn from(error: ToolError) -> Failure {
        Failure::Tool(error)
    }
}
