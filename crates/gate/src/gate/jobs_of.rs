//! Which calls may be jobs here, who can wait for one, and the hand of the few tools that do.

use std::sync::Arc;

use policy::Caller;
use tool_api::{BACKGROUND_READ, Definition, JOB_RESULT, JOB_WAIT, Need, Origin, Tasks};

use super::Gate;
use crate::admitted::Identity;
use crate::failure::Refusal;
use crate::jobs::{Cancelled, OfCaller, OfTasks, Whose};
use crate::request::Call;

impl Gate {
    /// The jobs of the caller, for the tools that wait for them.
    pub(super) fn jobs_of(&self, identity: &Identity) -> Option<Arc<dyn tool_api::Jobs>> {
        let definition = identity.offered.definition();
        let waits = matches!(definition.name.as_str(), JOB_WAIT | JOB_RESULT);
        let jobs = self.jobs().filter(|_| waits && definition.origin == Origin::BuiltIn)?;
        Some(Arc::new(OfCaller { jobs: jobs.clone(), caller: identity.caller.clone() }))
    }

    /// Cancels a job for `by`, as [`crate::jobs::Jobs::cancel`] does.
    ///
    /// # Errors
    /// As there; or there are no jobs here; or `by` has been refused, or has cancelled what was over, too often.
    pub async fn cancel_job(&self, by: &Caller, whose: Whose<'_>, id: &str) -> Result<Cancelled, Refusal> {
        let jobs = self.jobs().ok_or(Refusal::UnknownJob)?;
        if let Some(refusal) = self.refusals.turn_away(by, &self.audit_log) {
            return Err(refusal);
        }
        let cancelled = jobs.cancel(whose, id, (by, &self.audit_log)).await;
        // What ended nothing was a record for nothing, as a refusal is.
        if !cancelled.as_ref().is_ok_and(Cancelled::took) {
            self.refusals.note(by, &self.ruleset.load().rates);
        }
        cancelled
    }

    /// The caller's background tasks, for the tools that need them.
    pub(super) fn tasks_of(&self, identity: &Identity, call: &Call<'_>) -> Option<Arc<dyn Tasks>> {
        let needs = identity.offered.definition().listing.needs();
        let jobs = self.jobs().filter(|_| needs.contains(&Need::Tasks))?;
        let (jobs, workspace) = (jobs.clone(), self.workspace()?.clone());
        Some(Arc::new(OfTasks::of(jobs, workspace, identity.caller.clone(), call)))
    }

    /// Whether a call of this tool may be a job here.
    pub fn may_be_job(&self, definition: &Definition) -> bool {
        self.jobs().is_some_and(|jobs| jobs.may_become(definition.name.as_str()))
    }

    /// Whether a caller that knows no tasks can wait for a job of theirs.
    pub fn may_wait_for_jobs(&self, caller: &Caller) -> bool {
        self.may_see_our(JOB_WAIT, caller)
    }

    /// Whether a caller can read what a background task of theirs puts out.
    pub fn may_read_tasks(&self, caller: &Caller) -> bool {
        self.may_see_our(BACKGROUND_READ, caller)
    }

    fn may_see_our(&self, tool: &str, caller: &Caller) -> bool {
        let offer = self.catalog().offer();
        let ours = offer.get(tool).filter(|tool| tool.definition().origin == Origin::BuiltIn);
        ours.is_some_and(|tool| self.may_see(caller, tool))
    }
}
