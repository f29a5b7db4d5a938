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
        .map_err(|fault| problem(operation, &fault))
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

/// The codes that are others here than on the command line.
const CODES: [(&str, &str); 2] = [("misused", "bad_request"), ("unknown_tool", "tool_not_found")];

fn problem(operation: &str, fault: &OperationFault) -> Problem {
    let status = match fault.kind {
        OperationFaultKind::Misused => StatusCode::BAD_REQUEST,
        OperationFaultKind::Unknown => StatusCode::NOT_FOUND,
        OperationFaultKind::Refused => StatusCode::FORBIDDEN,
        OperationFaultKind::Failed => StatusCode::SERVICE_UNAVAILABLE,
    };
    // Who asks over HTTP knows no names of operations.
    let message = fault.message.strip_prefix(operation).and_then(|rest| rest.strip_prefix(": "));
    let problem = Problem::new(status, message.unwrap_or(&fault.message));
    match CODES.iter().find(|(theirs, _)| *theirs == fault.code) {
        Some((theirs, ours)) => problem.with_code(*ours).with("reason", *theirs),
        None => problem.with_code(fault.code.clone()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_fault_has_the_codes_and_the_words_of_all_routes() {
        for (kind, code, message, expected) in [
            (
                OperationFaultKind::Misused,
                "misused",
                "rules.test: unknown field `x`",
                json!([400, "bad_request", "misused", "unknown field `x`"]),
            ),
            (
                OperationFaultKind::Unknown,
                "unknown_tool",
                "there is no tool",
                json!([404, "tool_not_found", "unknown_tool", "there is no tool"]),
            ),
            (
                OperationFaultKind::Refused,
                "needs_person",
                "rules.tests: no",
                json!([403, "needs_person", null, "rules.tests: no"]),
            ),
        ] {
            let fault = OperationFault { kind, code: code.to_owned(), message: message.to_owned() };
            let problem = json!(problem("rules.test", &fault));
            let told = ["status", "code", "reason", "detail"].map(|member| problem[member].clone());
            assert_eq!(json!(told), expected);
        }
    }
}
