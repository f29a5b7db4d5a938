//! `Serving`: what runs the calls of a workspace's jobs. The gate is one; jobs know no more of it than this.

use std::sync::Arc;

use ::jobs::{Job, JobId};
use futures_util::future::BoxFuture;
use policy::Caller;
use tool_api::Outcome;

use crate::failure::{Failure, Refusal};
use crate::offer::Offered;
use crate::request::Call;

/// Keeps a call that was judged, and gives the job that it is then.
pub type Keep<'a> = Box<dyn FnOnce(Arc<Offered>) -> BoxFuture<'a, Result<Job, Refusal>> + Send + 'a>;

/// What judges and runs calls of one workspace.
pub trait Serving: Send + Sync {
    /// The name of the workspace among jobs.
    fn workspace(&self) -> Option<&Arc<str>>;

    /// The tool of this name, if the caller may see it.
    fn find<'a>(&'a self, caller: &'a Caller, tool: &'a str) -> BoxFuture<'a, Result<Arc<Offered>, Refusal>>;

    /// Judges a call and has it kept as this job, unless it is refused.
    fn take<'a, 'c: 'a>(
        &'a self,
        caller: &'a Caller,
        call: &'a mut Call<'c>,
        job: &'a JobId,
        keep: Keep<'a>,
    ) -> BoxFuture<'a, Result<Job, Failure>>;

    /// Carries a call to its end.
    fn call<'a>(&'a self, caller: &'a Caller, call: Call<'a>) -> BoxFuture<'a, Result<Outcome, Failure>>;
}
