//! The hand of the few tools that wait for jobs.

use std::sync::Arc;

use tool_api::{JOB_RESULT, JOB_WAIT, Origin};

use super::Gate;
use crate::admitted::Identity;
use crate::jobs::OfCaller;

impl Gate {
    /// The jobs of the caller, for the tools that wait for them.
    pub(super) fn jobs_of(&self, identity: &Identity) -> Option<Arc<dyn tool_api::Jobs>> {
        let definition = identity.offered.definition();
        let waits = matches!(definition.name.as_str(), JOB_WAIT | JOB_RESULT);
        let jobs = self.jobs().filter(|_| waits && definition.origin == Origin::BuiltIn)?;
        Some(Arc::new(OfCaller { jobs: jobs.clone(), caller: identity.caller.clone() }))
    }
}
