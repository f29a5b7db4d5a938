//! Operations of the administration, and whatever else waits for the disk.

use gate::Caller;
use hyper::StatusCode;
use serde_json::Value;

use super::super::door::Door;
use super::super::problem::Problem;
use crate::administration::{OperationFault, OperationFaultKind};

/// Has an operation done where it may wait for the disk.
pub(super) async fn perform(
    door: &Door,
    operation: &'static str,
    input: Value,
    caller: &Caller,
) -> Result<Value, Problem> {
    let (administration, caller) = (door.administration.clone(), caller.clone());
    on_disk(door, move || administration.perform(operation, input, &caller))
        .await?
        .map_err(|fault| problem(&fault))
}

/// Does what waits for the disk on another thread, a few at a time.
pub(super) async fn on_disk<T: Send + 'static>(
    door: &Door,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Problem> {
    let ending = || Problem::new(StatusCode::SERVICE_UNAVAILABLE, "the program is ending; try again");
    let turn = door.operations.clone().acquire_owned().await.map_err(|_| ending())?;
    let done = tokio::task::spawn_blocking(move || {
        let done = work();
        drop(turn);
        done
    });
    done.await.map_err(|_| ending())
}

fn problem(fault: &OperationFault) -> Problem {
    let status = match fault.kind {
        OperationFaultKind::Misused => StatusCode::BAD_REQUEST,
        OperationFaultKind::Unknown => StatusCode::NOT_FOUND,
        OperationFaultKind::Refused => StatusCode::FORBIDDEN,
        OperationFaultKind::Failed => StatusCode::SERVICE_UNAVAILABLE,
    };
    Problem::new(status, fault.message.clone()).with_code(fault.code.clone())
}
