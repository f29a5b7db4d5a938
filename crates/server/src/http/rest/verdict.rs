//! How an invocation is answered: one table from what came of a call to a status word, a code and a status of HTTP.

use gate::jobs::StoredFailure;
use gate::{Failure, Outcome, Payload, PlanFault, Refusal, RequestFault, ToolError};
use hyper::StatusCode;
use serde_json::{Value, json};

use super::super::problem::Problem;

/// How an invocation ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Word {
    Success,
    /// It goes on as a job.
    Accepted,
    Error,
    Denied,
    ApprovalRequired,
    Timeout,
    Cancelled,
    InvalidOutput,
}

/// The codes of problems of an invocation; a `reason` says it more exactly.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Code {
    ToolNotFound,
    ScopeDenied,
    RuleBlocked,
    ApprovalRequired,
    ApprovalDenied,
    HeldBack,
    InvalidArguments,
    DryRunUnsupported,
    PlanOutdated,
    InputRequired,
    SandboxViolation,
    Timeout,
    Cancelled,
    ToolFailed,
    InvalidOutput,
    RateLimited,
    RequestConflict,
    JobNotFound,
    JobState,
    InProgress,
    Interrupted,
    Unavailable,
    Internal,
}

/// What is told of one.
pub(super) struct Verdict {
    pub(super) word: Word,
    /// Why it has no result, or one that says that it failed.
    pub(super) error: Option<Problem>,
}

impl Verdict {
    /// The problem of something that failed.
    pub(super) fn problem(self) -> Problem {
        self.error.unwrap_or_else(|| Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "nothing has failed"))
    }
}

/// A row of the table.
type Row = (Word, Code, StatusCode);

const NOT_FOUND: Row = (Word::Error, Code::ToolNotFound, StatusCode::NOT_FOUND);
const INVALID: Row = (Word::Error, Code::InvalidArguments, StatusCode::BAD_REQUEST);
const NO_DRY_RUN: Row = (Word::Error, Code::DryRunUnsupported, StatusCode::BAD_REQUEST);
const NOT_PLANNED: Row = (Word::Error, Code::PlanOutdated, StatusCode::CONFLICT);
const SCOPE: Row = (Word::Denied, Code::ScopeDenied, StatusCode::FORBIDDEN);
const RULE: Row = (Word::Denied, Code::RuleBlocked, StatusCode::FORBIDDEN);
const HELD: Row = (Word::Denied, Code::HeldBack, StatusCode::FORBIDDEN);
const PENDING: Row = (Word::ApprovalRequired, Code::ApprovalRequired, StatusCode::FORBIDDEN);
const DENIED: Row = (Word::Denied, Code::ApprovalDenied, StatusCode::FORBIDDEN);
const LIMITED: Row = (Word::Denied, Code::RateLimited, StatusCode::TOO_MANY_REQUESTS);
const NO_JOB: Row = (Word::Error, Code::JobNotFound, StatusCode::NOT_FOUND);
const JOB_STATE: Row = (Word::Error, Code::JobState, StatusCode::CONFLICT);
const CONFLICT: Row = (Word::Error, Code::RequestConflict, StatusCode::CONFLICT);
const IN_PROGRESS: Row = (Word::Error, Code::InProgress, StatusCode::CONFLICT);
const INTERRUPTED: Row = (Word::Error, Code::Interrupted, StatusCode::CONFLICT);
const UNAVAILABLE: Row = (Word::Error, Code::Unavailable, StatusCode::SERVICE_UNAVAILABLE);
const INTERNAL: Row = (Word::Error, Code::Internal, StatusCode::INTERNAL_SERVER_ERROR);
const SANDBOX: Row = (Word::Error, Code::SandboxViolation, StatusCode::FORBIDDEN);
const TIMEOUT: Row = (Word::Timeout, Code::Timeout, StatusCode::GATEWAY_TIMEOUT);
const CANCELLED: Row = (Word::Cancelled, Code::Cancelled, StatusCode::CONFLICT);
const OUTPUT: Row = (Word::InvalidOutput, Code::InvalidOutput, StatusCode::BAD_GATEWAY);
const FAILED: Row = (Word::Error, Code::ToolFailed, StatusCode::UNPROCESSABLE_ENTITY);
const INPUT: Row = (Word::Error, Code::InputRequired, StatusCode::UNPROCESSABLE_ENTITY);

/// The reason of [`Refusal::Outdated`].
const OUTDATED: &str = "approval_outdated";

/// All of them, for the test of what is described.
#[cfg(test)]
pub(super) const ROWS: [Row; 23] = [
    NOT_FOUND,
    INVALID,
    NO_DRY_RUN,
    NOT_PLANNED,
    SCOPE,
    RULE,
    HELD,
    PENDING,
    DENIED,
    LIMITED,
    CONFLICT,
    IN_PROGRESS,
    INTERRUPTED,
    UNAVAILABLE,
    INTERNAL,
    SANDBOX,
    TIMEOUT,
    CANCELLED,
    OUTPUT,
    FAILED,
    INPUT,
    NO_JOB,
    JOB_STATE,
];

/// What is told of what came of a call.
pub(super) fn of(result: &Result<Outcome, Failure>) -> Verdict {
    match result {
        Ok(Outcome { payload: Payload::InputRequired { .. }, .. }) => {
            let why = "the tool asks its client something, which cannot be answered here; call it over MCP";
            told(INPUT, why.to_owned(), |problem| problem)
        }
        Ok(outcome) if outcome.is_error => {
            let why = "the tool says that it has failed; its result says why".to_owned();
            told(FAILED, why, |problem| problem.with("reason", "tool_error"))
        }
        Ok(_) => Verdict { word: Word::Success, error: None },
        Err(failure) => of_failure(failure),
    }
}

/// What is told of a failure.
pub(super) fn of_failure(failure: &Failure) -> Verdict {
    let (row, facts) = match failure {
        Failure::Refused(refusal) => (refused(refusal), refusal.facts().unwrap_or_default()),
        Failure::Tool(error) => failed(error),
        Failure::Internal(internal) => (INTERNAL, json!({ "call": internal.call.to_string() })),
    };
    with_facts(row, failure.to_string(), failure.code(), facts)
}

/// What is told of a failure that a job has kept: what it would have been told at once.
pub(super) fn of_kept(stored: StoredFailure) -> Verdict {
    let StoredFailure { code, message, details, is_refused, protocol: _ } = stored;
    let (row, facts) = match is_refused {
        true => (refused_by(&code), details.unwrap_or_default()),
        false => (ended_by(&code), failure_facts(details.as_ref())),
    };
    with_facts(row, message, &code, facts)
}

fn with_facts(row: Row, detail: String, reason: &str, facts: Value) -> Verdict {
    told(row, detail, |mut problem| {
        // The same call asks anew.
        problem.retryable |= row == PENDING && reason == OUTDATED;
        let Value::Object(facts) = facts else { return problem.with("reason", reason) };
        let wait_ms = facts.get("retry_after_ms").and_then(Value::as_u64);
        let problem = facts.into_iter().fold(problem, |problem, (name, fact)| problem.with(&name, fact));
        let problem = problem.with("reason", reason);
        wait_ms.into_iter().fold(problem, Problem::after)
    })
}

fn told((word, code, status): Row, detail: String, add: impl FnOnce(Problem) -> Problem) -> Verdict {
    let Value::String(code) = json!(code) else { unreachable!("a code is a word") };
    Verdict { word, error: Some(add(Problem::new(status, detail).with_code(code))) }
}

/// Every kind is decided here.
fn refused(refusal: &Refusal) -> Row {
    match refusal {
        Refusal::UnknownTool(_)
        | Refusal::UnknownMethod(_)
        | Refusal::SeveralOwners { .. }
        | Refusal::UnknownResource(_)
        | Refusal::UnknownPrompt(_)
        | Refusal::UnknownTask
        | Refusal::Unsupported { .. } => NOT_FOUND,
        Refusal::HeldBack(_) => HELD,
        Refusal::HeaderMismatch(_) | Refusal::BadState(_) | Refusal::InvalidArguments { .. } => INVALID,
        Refusal::Denied(_) | Refusal::RuleBlocked(_) => RULE,
        Refusal::NeedsApproval(_) | Refusal::ApprovalPending(_) | Refusal::Outdated(_) => PENDING,
        Refusal::NoDryRun(_) => NO_DRY_RUN,
        Refusal::NotPlanned(PlanFault::Unavailable(_)) => UNAVAILABLE,
        Refusal::NotPlanned(PlanFault::Unknown | PlanFault::Outdated(_)) => NOT_PLANNED,
        Refusal::ApprovalDenied { .. } | Refusal::ApprovalExpired(_) | Refusal::Planning { .. } => DENIED,
        Refusal::KeyRevoked(_) => SCOPE,
        Refusal::TooManyApprovals { .. }
        | Refusal::RateLimited { .. }
        | Refusal::TooManyJobs { .. }
        | Refusal::Repeated(RequestFault::TooMany { .. }) => LIMITED,
        Refusal::UnknownJob => NO_JOB,
        Refusal::JobState { .. } => JOB_STATE,
        Refusal::BadCursor | Refusal::NotAJob | Refusal::NoRetries(_) => INVALID,
        Refusal::Repeated(RequestFault::Conflict) => CONFLICT,
        Refusal::Repeated(RequestFault::InProgress) => IN_PROGRESS,
        Refusal::Repeated(RequestFault::Interrupted | RequestFault::NotKept) => INTERRUPTED,
        Refusal::Repeated(RequestFault::Unavailable(_))
        | Refusal::NoJobs(_)
        | Refusal::NoApprovals(_)
        | Refusal::NoQuota(_)
        | Refusal::NoPlanMode(_)
        | Refusal::NoAuditLog(_) => UNAVAILABLE,
        Refusal::UnusableSchema { .. } => OUTPUT,
    }
}

/// The row of a refusal of which the code is kept; a test holds it against [`refused`].
fn refused_by(code: &str) -> Row {
    match code {
        "unknown_tool" | "unknown_method" | "several_owners" | "unknown_resource" | "unknown_prompt"
        | "unknown_task" | "unsupported" => NOT_FOUND,
        "held_back" => HELD,
        "header_mismatch" | "bad_request_state" | "invalid_arguments" | "bad_cursor" | "not_a_job"
        | "no_retries" => INVALID,
        "policy_denied" | "rule_blocked" => RULE,
        "approval_required" | OUTDATED => PENDING,
        "approval_denied" | "approval_expired" | "plan_mode" => DENIED,
        "dry_run_unsupported" => NO_DRY_RUN,
        "unknown_plan" | "plan_outdated" => NOT_PLANNED,
        "key_revoked" => SCOPE,
        "too_many_approvals" | "rate_limited" | "too_many_jobs" | "too_many_request_ids" => LIMITED,
        "unknown_job" => NO_JOB,
        "job_state" => JOB_STATE,
        "request_conflict" => CONFLICT,
        "in_progress" => IN_PROGRESS,
        "interrupted" | "answer_not_kept" => INTERRUPTED,
        "plans_unavailable"
        | "requests_unavailable"
        | "jobs_unavailable"
        | "approvals_unavailable"
        | "limits_unavailable"
        | "plan_mode_unavailable"
        | "book_unavailable" => UNAVAILABLE,
        "unusable_schema" => OUTPUT,
        // A later release may know more.
        _ => FAILED,
    }
}

/// The row of a job that was not refused.
fn ended_by(code: &str) -> Row {
    match code {
        "internal" => INTERNAL,
        "interrupted" | "result_unreadable" => INTERRUPTED,
        "timed_out" => TIMEOUT,
        code => failed_by(code),
    }
}

fn failed(error: &ToolError) -> (Row, Value) {
    (failed_by(error.code()), failure_facts(error.details()))
}

fn failure_facts(details: Option<&Value>) -> Value {
    let exit_code = details.and_then(|details| details.get("exit_code"));
    json!({ "exit_code": exit_code, "details": details })
}

/// By the codes of tools: of all others, the tool has failed.
fn failed_by(code: &str) -> Row {
    match code {
        "timeout" => TIMEOUT,
        ToolError::CANCELLED => CANCELLED,
        "invalid_output" | "result_too_large" => OUTPUT,
        "invalid_arguments" => INVALID,
        "rule_blocked" => RULE,
        "held_back" => HELD,
        "host_blocked" | "limit_reached" | "program_not_run" => SANDBOX,
        _ => FAILED,
    }
}

#[cfg(test)]
mod tests;
