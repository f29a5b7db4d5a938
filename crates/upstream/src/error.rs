//! Why an upstream cannot be used, in sentences for people.

use std::time::Duration;

use oauth::AuthError;
use sandbox::StartError;
use sandbox::confine::{ConfineError, Layer};

use crate::fault::Fault;

/// What is wrong with a program that was not started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotStarted {
    /// There is no such program.
    Missing,
    /// It is there and may not be run.
    NotExecutable,
    /// Its working folder is none.
    Folder,
    /// The system could not start another process.
    System,
    /// A layer of the sandbox is missing.
    Sandbox(Layer),
    /// The sandbox does not show it what it needs to start.
    NotShown,
    /// It is to see what cannot be shown.
    CannotBeShown,
    /// The system cannot run it.
    NotRun,
}

/// An upstream could not be connected to. Holds no secret: no header, no query of an address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConnectError {
    /// Its table says `enabled = false`.
    #[error("it is disabled in the configuration")]
    Disabled,
    /// `end` was called.
    #[error("it is being shut down")]
    Ended,
    /// A reference of its table leads to something that is still missing.
    #[error("{0}")]
    Lacking(String),
    /// The program is not there or may not be run.
    #[error("{said}")]
    Start {
        /// Which of them.
        kind: NotStarted,
        /// The same as a sentence that says what to try.
        said: String,
    },
    /// A request that belongs to connecting got no answer that could be used.
    #[error("{}", while_connecting(.0))]
    Request(Fault),
    /// It is there but does not answer.
    #[error("it did not {what} within {}{}", duration(*.limit), last_words(.stderr))]
    TooSlow {
        /// What it was asked to do.
        what: &'static str,
        /// How long it had.
        limit: Duration,
        /// The last line on its stderr, or nothing.
        stderr: String,
    },
    /// It refused the handshake or the list.
    #[error("it refused `{method}`: {said} (code {code})")]
    Refused {
        /// What was asked.
        method: &'static str,
        /// The JSON-RPC error code.
        code: i64,
        /// Its message.
        said: String,
    },
    /// It has ended, and is not to be started again by itself.
    #[error(
        "it is not started again by itself (`restart = \"never\"`); run `toolcrib mcp reload` to start it: {last}"
    )]
    NotRestarted {
        /// How it ended.
        last: String,
    },
    /// It has as many connections as it may have, and all of them are in use.
    #[error("all of its connections are in use by other callers")]
    Crowded,
    /// It failed several times and is left alone for a while.
    #[error("it failed {failures} times in a row and is tried again in {} s: {last}", .wait.as_millis().div_ceil(1000))]
    BackingOff {
        /// How many times.
        failures: u32,
        /// How long it is still left alone.
        wait: Duration,
        /// What it failed with.
        last: Box<ConnectError>,
    },
}

/// Nobody is asked for anything while a server is met.
fn while_connecting(fault: &Fault) -> String {
    match fault {
        Fault::Gone(how) => format!("it {how} before it was ready"),
        Fault::Broken(why) | Fault::Lacking(why) | Fault::Round(why) => {
            format!("it does not speak MCP as expected: {why}")
        }
        Fault::Busy => "it does not take in what it is sent".to_owned(),
        Fault::Access(_) => format!("{fault}; give credentials with `headers`"),
        Fault::Redirect { .. } => {
            format!("{fault}; `toolcrib mcp test` says whether `url` may be set to that")
        }
        Fault::NotSent(_) | Fault::SignIn(_) | Fault::Scope(_) | Fault::Status { .. } => fault.to_string(),
    }
}

/// Whole seconds as such, anything else to the millisecond.
fn duration(limit: Duration) -> String {
    match limit.subsec_millis() {
        0 => format!("{} s", limit.as_secs()),
        _ => format!("{} ms", limit.as_millis()),
    }
}

fn last_words(stderr: &str) -> String {
    if stderr.is_empty() { String::new() } else { format!("; the last line on its stderr: {stderr}") }
}

impl From<StartError> for ConnectError {
    fn from(error: StartError) -> ConnectError {
        let (kind, said) = match &error {
            StartError::NotFound { .. } => (NotStarted::Missing, error.to_string()),
            StartError::NotExecutable { .. } => (NotStarted::NotExecutable, error.to_string()),
            StartError::Cwd { .. } | StartError::OwnFolder { .. } => (NotStarted::Folder, error.to_string()),
            StartError::Io(cause) => (NotStarted::System, format!("{error}: {cause}")),
        };
        ConnectError::Start { kind, said }
    }
}

impl From<ConfineError> for ConnectError {
    fn from(error: ConfineError) -> ConnectError {
        let kind = match &error {
            ConfineError::Unavailable(missing) => NotStarted::Sandbox(missing.layer),
            ConfineError::Workspace(_) => NotStarted::NotShown,
            ConfineError::NotShown { .. } => NotStarted::CannotBeShown,
            ConfineError::NotRun { .. } => NotStarted::NotRun,
            ConfineError::Io(_) => NotStarted::System,
        };
        ConnectError::Start { kind, said: error.to_string() }
    }
}

impl ConnectError {
    /// The work that was to start it did not come to its end.
    pub(crate) fn lost(why: &impl ToString) -> ConnectError {
        ConnectError::Start { kind: NotStarted::System, said: why.to_string() }
    }

    /// What is wrong with the sign-in, if that is it.
    pub(crate) fn sign_in(&self) -> Option<&AuthError> {
        match self {
            ConnectError::Request(Fault::SignIn(error) | Fault::Scope(error)) => Some(error),
            _ => None,
        }
    }

    /// True if a person has to do something about the sign-in; trying again is of no use before that.
    pub(crate) fn wants_sign_in(&self) -> bool {
        self.sign_in().is_some_and(AuthError::needs_a_person)
    }

    /// True if it fails in the same way until its table, or what that refers to, is another.
    pub(crate) fn is_for_good(&self) -> bool {
        matches!(self, ConnectError::Disabled | ConnectError::Ended | ConnectError::Lacking(_))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_long_it_had_is_told_as_it_was() {
        for (limit_ms, expected) in [(500, "500 ms"), (1_900, "1900 ms"), (2_000, "2 s")] {
            let limit = Duration::from_millis(limit_ms);
            let error = ConnectError::TooSlow { what: "answer", limit, stderr: String::new() };
            assert_eq!(error.to_string(), format!("it did not answer within {expected}"));
        }
    }
}
