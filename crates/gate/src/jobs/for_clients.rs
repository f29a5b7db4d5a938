//! What transports ask about jobs: which tools' calls may be some, must be some, or become some; and the jobs of one caller, for
//! the tools that wait for them.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use policy::Caller;
use tool_api::{
    BACKGROUND, BACKGROUND_KILL, BACKGROUND_LIST, BACKGROUND_READ, JOB_RESULT, JOB_WAIT, JobAsks, JobSeen,
    Outcome, TOOLS_CALL, ToolError,
};

use super::{Job, Jobs};
use crate::failure::Failure;

impl Jobs {
    /// Whether a call of this tool may be a job. What looks after some is none.
    pub fn may_become(&self, tool: &str) -> bool {
        const NEVER: [&str; 7] = [
            JOB_WAIT,
            JOB_RESULT,
            BACKGROUND,
            BACKGROUND_READ,
            BACKGROUND_LIST,
            BACKGROUND_KILL,
            // What runs in its place is kept under no name of its own, so nobody could say whether it may run twice.
            TOOLS_CALL,
        ];
        !NEVER.contains(&tool)
    }

    /// Whether it is one from the beginning, where its client can be given a task.
    pub fn should_become(&self, tool: &str) -> bool {
        self.config().always.iter().any(|name| name == tool)
    }

    /// Whether it is one or nothing.
    pub fn must_become(&self, tool: &str) -> bool {
        self.config().required.iter().any(|name| name == tool)
    }

    /// How long a client waits for a call of this tool before it goes on as a job; nothing if it waits for the end.
    pub fn patience(&self, tool: &str) -> Option<Duration> {
        self.config().patience(tool)
    }
}

/// The jobs of one caller, for the tools that wait for them.
pub(crate) struct OfCaller {
    pub(crate) jobs: Arc<Jobs>,
    pub(crate) caller: Caller,
}

impl tool_api::Jobs for OfCaller {
    fn wait<'a>(&'a self, id: &'a str, longest: Duration) -> BoxFuture<'a, Option<JobSeen>> {
        Box::pin(async move {
            let Job { state, message, progress, .. } =
                self.jobs.wait(&self.caller, id, longest).await.ok()?;
            let progress = progress.and_then(|progress| progress.message);
            let message = message.or(progress.filter(|_| !state.is_final()));
            Some(JobSeen { state: state.as_str(), message, is_over: state.is_final() })
        })
    }

    fn result<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Option<Result<Outcome, ToolError>>> {
        Box::pin(async move {
            let job = self.jobs.get(&self.caller, id).await.ok().filter(|job| job.state.is_final())?;
            let kept = self.jobs.result(&self.caller, job.id.as_str()).await.ok()??;
            Some(kept.map_err(|stored| match Failure::from(stored) {
                Failure::Tool(error) => error,
                other => ToolError::new(other.code().to_owned(), other.to_string()),
            }))
        })
    }

    fn asked<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Option<JobAsks>> {
        Box::pin(async move { self.jobs.asked(&self.caller, id).await.ok() })
    }

    fn answer<'a>(&'a self, id: &'a str, number: u64, responses: Bytes) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            // One that asks no more has been answered by somebody else, and what is left unanswered is asked again.
            let _ = self.jobs.answer_for_client(&self.caller, id, Some(number), &responses).await;
        })
    }
}
