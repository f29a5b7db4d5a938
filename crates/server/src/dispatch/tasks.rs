//! Requests about tasks. Whose a task is, its id says: jobs of ours have ids that no token of a source's task has. What is
//! asked of a source goes through the gate, as everything of a source does; a job is its caller's or unknown.

mod asks;
mod own;

use gate::Action;
use gate::jobs::JobId;
use wire::WireError;

use super::calls;
use super::request::Request;
use crate::abilities;
use crate::outgoing::Now;
pub(super) use asks::Asks;
pub(super) use own::list;

/// Answers a request about one task.
pub(super) fn task(request: &mut Request<'_>, asks: Asks) -> Result<Now, WireError> {
    if request.revision().is_modern() {
        abilities::check_tasks(request.capabilities())?;
    }
    let id = wire::tasks::id(request.params.as_ref())?;
    if request.server.has_jobs() && JobId::parse(&id).is_some() {
        return own::about(request, asks, id);
    }
    match asks {
        Asks::Get => calls::relayed_task(request, Action::GetTask, id),
        Asks::Update => calls::relayed_task(request, Action::UpdateTask, id),
        Asks::Cancel => calls::relayed_task(request, Action::CancelTask, id),
        Asks::Result => Err(asks::unknown()),
    }
}

/// Whether the request's client may ask for the core tasks of 2025-11-25. Sources' tasks are none of them: calls that become
/// such are followed to their end.
pub(super) fn has_core_tasks(request: &Request<'_>) -> bool {
    request.revision().has_execution() && request.server.has_jobs()
}
