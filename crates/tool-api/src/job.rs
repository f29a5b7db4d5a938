//! Calls that go on after their answer, as the tools that wait for them see them. Who keeps them, and whose they are, is the
//! gate's affair.

use std::time::Duration;

use bytes::Bytes;
use futures_util::future::BoxFuture;

use crate::failure::ToolError;
use crate::outcome::Outcome;

/// The tool that waits for a job. Callers who may not call it are given no job in place of a result.
pub const JOB_WAIT: &str = "job_wait";

/// The tool that reads what came of one.
pub const JOB_RESULT: &str = "job_result";

/// How a job is doing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobSeen {
    /// Its state: `queued`, `running` and so on.
    pub state: &'static str,
    /// What it is doing, in a sentence.
    pub message: Option<String>,
    /// True if nothing will change any more.
    pub is_over: bool,
}

/// What a job asks its client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobAsks {
    /// An `inputRequests` object as JSON text.
    pub requests: Bytes,
    /// Which of its questions it is: another one has another number.
    pub number: u64,
}

/// The jobs of one caller.
pub trait Jobs: Send + Sync {
    /// How the job of this id is doing once it is over, or needs somebody, or so much time has passed. Nothing if it is
    /// another caller's, or not kept any more.
    fn wait<'a>(&'a self, id: &'a str, longest: Duration) -> BoxFuture<'a, Option<JobSeen>>;

    /// What came of a job that is over: what its call would have given. Nothing if it is another caller's, or not kept any
    /// more, or is not over.
    fn result<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Option<Result<Outcome, ToolError>>>;

    /// What a job asks that the client of this call may be asked. Nothing if there is none.
    fn asked<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Option<JobAsks>>;

    /// Has a job go on with an `inputResponses` object. Nothing happens if it does not ask that any more.
    fn answer<'a>(&'a self, id: &'a str, number: u64, responses: Bytes) -> BoxFuture<'a, ()>;
}
