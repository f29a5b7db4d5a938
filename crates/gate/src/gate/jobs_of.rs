//! Which calls may be jobs here, who can wait for one, and the hand of the few tools that do.

use std::sync::Arc;

use policy::Caller;
use tool_api::{Definition, JOB_RESULT, JOB_WAIT, Origin};

use super::Gate;
use crate::admitted::Identity;
use crate::failure::Refusal;
use crate::jobs::{Job, OfCaller, Whose};

impl Gate {
    /// The jobs of the caller, for the tools that wait for them.
    pub(super) fn jobs_of(&self, identity: &Identity) -> Option<Arc<dyn tool_api::Jobs>> {
        let definition = identity.offered.definition();
        let waits = matches!(definition.name.as_str(), JOB_WAIT | JOB_RESULT);
        let jobs = self.jobs().filter(|_| waits && definition.origin == Origin::BuiltIn)?;
        Some(Arc::new(OfCaller { jobs: jobs.clone(), caller: identity.caller.clone() }))
    }

    /// Cancels a job for `by`, as [`Jobs::cancel`] does.
    ///
    /// # Errors
    /// As there; or there are no jobs here.
    pub async fn cancel_job(&self, by: &Caller, whose: Whose<'_>, id: &str) -> Result<Job, Refusal> {
        let jobs = self.jobs().ok_or(Refusal::UnknownJob)?;
        jobs.cancel(whose, id, (by, &self.audit_log)).await
    }

    /// Whether a call of this tool may be a job here.
    pub fn may_be_job(&self, definition: &Definition) -> bool {
        self.jobs().is_some_and(|jobs| jobs.may_become(definition.name.as_str()))
    }

    /// Whether a caller that knows no tasks can wait for a job of theirs.
    pub fn may_wait_for_jobs(&self, caller: &Caller) -> bool {
        let offer = self.catalog().offer();
        let waits = offer.get(JOB_WAIT).filter(|tool| tool.definition().origin == Origin::BuiltIn);
        waits.is_some_and(|tool| self.may_see(caller, tool))
    }
}
