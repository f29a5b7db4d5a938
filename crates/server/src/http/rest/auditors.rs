//! What is for those who look after others' calls.

use gate::Caller;
use hyper::StatusCode;

use super::super::problem::Problem;

/// Lets a caller see the records of all, and how calls are judged.
pub(super) const AUDIT_SCOPE: &str = "audit:read";

/// Refuses what is for those who look after others' calls.
pub(super) fn check_may_audit(caller: &Caller, what: &str) -> Result<(), Problem> {
    match caller.scopes().contains(AUDIT_SCOPE) {
        true => Ok(()),
        false => Err(scope_denied(what)),
    }
}

pub(super) fn scope_denied(what: &str) -> Problem {
    let why = format!("{what} takes the scope {AUDIT_SCOPE}, which owners, maintainers and auditors have");
    Problem::new(StatusCode::FORBIDDEN, why).with_code("scope_denied")
}
