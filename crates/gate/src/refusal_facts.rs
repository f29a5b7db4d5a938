//! What programs are told of a refusal beside its code and its sentence: of one that is told at once, and of one that a job has
//! met, the same.

use serde_json::{Value, json};

use crate::failure::{Awaited, Refusal};
use crate::request_fault::RequestFault;

impl Refusal {
    /// The members of an object, if there are any.
    pub fn facts(&self) -> Option<Value> {
        Some(match self {
            Refusal::InvalidArguments { violations, .. } => json!({ "violations": violations }),
            Refusal::Denied(ruling) | Refusal::RuleBlocked(ruling) | Refusal::NeedsApproval(ruling) => {
                json!({ "rule_id": &*ruling.rule })
            }
            Refusal::ApprovalPending(awaited) => {
                let Awaited { id, roles, expires_at_ms, .. } = &**awaited;
                json!({ "approval_id": &**id, "roles": roles, "expires_at_ms": expires_at_ms })
            }
            Refusal::TooManyApprovals { max, .. } => json!({ "pending_max": max }),
            Refusal::RateLimited { retry_after_ms, limit } => {
                json!({ "retry_after_ms": retry_after_ms, "limit": &**limit })
            }
            Refusal::Repeated(RequestFault::TooMany { retry_after_ms, .. }) => {
                json!({ "retry_after_ms": retry_after_ms, "limit": "request_ids" })
            }
            Refusal::TooManyJobs { max, .. } => json!({ "jobs_max": max }),
            Refusal::UnknownTool(_)
            | Refusal::UnknownMethod(_)
            | Refusal::SeveralOwners { .. }
            | Refusal::UnknownResource(_)
            | Refusal::UnknownPrompt(_)
            | Refusal::UnknownTask
            | Refusal::Unsupported { .. }
            | Refusal::HeldBack(_)
            | Refusal::HeaderMismatch(_)
            | Refusal::BadState(_)
            | Refusal::Repeated(_)
            | Refusal::NoDryRun(_)
            | Refusal::NotPlanned(_)
            | Refusal::Planning { .. }
            | Refusal::NoPlanMode(_)
            | Refusal::ApprovalDenied { .. }
            | Refusal::ApprovalExpired(_)
            | Refusal::KeyRevoked(_)
            | Refusal::Outdated(_)
            | Refusal::NoApprovals(_)
            | Refusal::UnusableSchema { .. }
            | Refusal::NoQuota(_)
            | Refusal::UnknownJob
            | Refusal::BadCursor
            | Refusal::NotAJob
            | Refusal::NoRetries(_)
            | Refusal::JobState { .. }
            | Refusal::NoJobs(_)
            | Refusal::NoAuditLog(_) => return None,
        })
    }
}
