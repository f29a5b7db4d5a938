//! `Fault`: why a request got no answer that could be used.

use sandbox::confine::Limit;

/// What a server is said to have done whose program a limit has ended. Nothing else that is said of one begins so.
const ENDED: &str = "was ended: ";

/// Why a request got no answer. Holds no secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// It never reached the server, or the server threw it away unread: it may be sent again.
    #[error("{0}")]
    NotSent(String),
    /// The connection ended before the answer; what the server did is unknown.
    #[error("it {0}")]
    Gone(String),
    /// What came is no answer.
    #[error("{0}")]
    Broken(String),
    /// The server has too many calls to answer.
    #[error("it is busy")]
    Busy,
    /// HTTP 401 or 403.
    #[error("it refuses access (HTTP status {0})")]
    Access(u16),
    /// There is no token that it accepts. It has done nothing.
    #[error("{0}")]
    SignIn(oauth::AuthError),
    /// The token is good, but not for this, and there is no better one. It has done nothing.
    #[error("{0}")]
    Scope(oauth::AuthError),
    /// HTTP 3xx.
    #[error("it redirects (HTTP status {status}){to}, which is not followed")]
    Redirect {
        /// The HTTP status.
        status: u16,
        /// Where to, as " to ADDRESS", if it says so.
        to: String,
    },
    /// Any other HTTP status.
    #[error("it answered with HTTP status {status}{colon}{said}", colon = if .said.is_empty() { "" } else { ": " })]
    Status {
        /// The HTTP status.
        status: u16,
        /// The beginning of the answer.
        said: String,
    },
    /// The server asked for something that the client of the call has not declared.
    #[error("it needs a capability that the client has not declared: {0}")]
    Lacking(
        /// What is needed: a `ClientCapabilities` object as JSON text.
        String,
    ),
    /// What the client sent to go on with a call cannot be used.
    #[error("{0}")]
    Round(String),
}

impl Fault {
    /// That a limit has ended the server's program, or was reached when it failed.
    pub(crate) fn limited(limit: Limit) -> Fault {
        let what = if limit.ends_programs() { ENDED } else { "failed: " };
        Fault::Gone(format!("{what}it reached its limit `{}`", limit.name()))
    }

    /// Which limit has ended the server's program, as the rest of a sentence, if one has.
    pub(crate) fn limit(&self) -> Option<&str> {
        match self {
            Fault::Gone(how) => how.strip_prefix(ENDED),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_limit_is_one() {
        assert_eq!(Fault::limited(Limit::MemoryBytes).limit(), Some("it reached its limit `memory_bytes`"));
        assert_eq!(
            Fault::limited(Limit::Processes).to_string(),
            "it failed: it reached its limit `processes`"
        );
        for other in [
            Fault::limited(Limit::Processes),
            Fault::Gone("was ended by signal 9 (was ended: hunter2)".to_owned()),
            Fault::Broken("was ended: x".to_owned()),
        ] {
            assert_eq!(other.limit(), None, "{other}");
        }
    }
}
