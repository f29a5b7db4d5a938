//! `RequestFault`: why a call with a request id does not run.

use std::time::Duration;

use units::Span;

/// Why a call with a request id does not run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RequestFault {
    /// The id was another call's.
    #[error("another call has had this request id within a day; send an id of its own with each call")]
    Conflict,
    /// The same call runs.
    #[error("the call of this request id is still running; ask again later")]
    InProgress,
    /// The same call began, and its end is not known here.
    #[error(
        "the call of this request id was begun, and nobody here knows what came of it: another process runs it, or ended \
         before it did. It is not run again; see what it has done, and send it with another id if it is to run"
    )]
    Interrupted,
    /// The same call has ended, and its answer is not there.
    #[error(
        "the call of this request id has ended, and its answer was too long to be kept; it is not run again"
    )]
    NotKept,
    /// As many ids are remembered as may be, and what cannot be noted does not run.
    #[error(
        "{max} request ids are remembered {whose}, each for a day, and there are that many, so the call does not run: try again \
         in {}, or send it without an id",
        Span(Duration::from_secs(retry_after_ms.div_ceil(60_000) * 60))
    )]
    TooMany {
        /// The limit.
        max: usize,
        /// Whose ids it counts, in a few words.
        whose: &'static str,
        /// In how many milliseconds the first of them is over at the latest.
        retry_after_ms: u64,
    },
    /// It cannot be noted, and what cannot be noted does not run.
    #[error(
        "the request id cannot be kept, so the call does not run: {0}; try again later, or without an id"
    )]
    Unavailable(String),
}

impl RequestFault {
    /// The stable code.
    pub fn code(&self) -> &'static str {
        match self {
            RequestFault::Conflict => "request_conflict",
            RequestFault::InProgress => "in_progress",
            RequestFault::Interrupted => "interrupted",
            RequestFault::NotKept => "answer_not_kept",
            RequestFault::TooMany { .. } => "too_many_request_ids",
            RequestFault::Unavailable(_) => "requests_unavailable",
        }
    }
}
