//! Why an upstream cannot be used, in sentences for people.

use std::time::Duration;

use crate::connection::Fault;

/// An upstream could not be connected to. Holds no secret: no header, no query of an address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConnectError {
    /// Its table says `enabled = false`.
    #[error("it is disabled in the configuration")]
    Disabled,
    /// `end` was called.
    #[error("it is being shut down")]
    Ended,
    /// The program is not there or may not be run.
    #[error("{0}")]
    Start(String),
    /// The program ended, or closed the connection, before it was ready.
    #[error("it {how} before it was ready")]
    Exited {
        /// What happened, such as "exited with code 1 (no such module)".
        how: String,
    },
    /// It is there but does not answer.
    #[error("it did not {what} within {} s{}", .limit.as_secs(), last_words(.stderr))]
    TooSlow {
        /// What it was asked to do.
        what: &'static str,
        /// How long it had.
        limit: Duration,
        /// The last line on its stderr, or nothing.
        stderr: String,
    },
    /// Nothing answers at its address.
    #[error("{0}")]
    Unreachable(String),
    /// It wants to know who we are.
    #[error("it refuses access (HTTP status {0}); give credentials with `headers`")]
    Access(u16),
    /// It sends us somewhere else.
    #[error("it redirects (HTTP status {status}){to}, which is not followed; set `url` to the final address")]
    Redirect {
        /// The HTTP status.
        status: u16,
        /// Where to, as " to ADDRESS", if it says so.
        to: String,
    },
    /// It answers with an HTTP error.
    #[error("it answered with HTTP status {status}{colon}{said}", colon = if .said.is_empty() { "" } else { ": " })]
    Status {
        /// The HTTP status.
        status: u16,
        /// The beginning of the answer.
        said: String,
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
    /// What it says is not MCP.
    #[error("it does not speak MCP as expected: {0}")]
    NotMcp(String),
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

fn last_words(stderr: &str) -> String {
    if stderr.is_empty() { String::new() } else { format!("; the last line on its stderr: {stderr}") }
}

impl ConnectError {
    /// The failure of a request that belongs to connecting.
    pub(crate) fn of(fault: Fault) -> ConnectError {
        match fault {
            Fault::NotSent(why) => ConnectError::Unreachable(why),
            Fault::Gone(how) => ConnectError::Exited { how },
            Fault::Broken(why) => ConnectError::NotMcp(why),
            Fault::Busy => ConnectError::Unreachable("it does not take in what it is sent".to_owned()),
            Fault::Access(status) => ConnectError::Access(status),
            Fault::Redirect { status, to } => ConnectError::Redirect { status, to },
            Fault::Status { status, said } => ConnectError::Status { status, said },
            // Nobody is asked for anything while a server is met.
            Fault::Lacking(why) | Fault::Round(why) => ConnectError::NotMcp(why),
        }
    }
}
