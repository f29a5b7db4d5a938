//! How an invocation is answered: one table from what came of a call to a status word, a code and a status of HTTP.

use gate::{Awaited, Failure, Outcome, Payload, PlanFault, Refusal, RequestFault, ToolError};
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
        Failure::Refused(refusal) => refused(refusal),
        Failure::Tool(error) => failed(error),
        Failure::Internal(internal) => (INTERNAL, json!({ "call": internal.call.to_string() })),
    };
    told(row, failure.to_string(), |problem| {
        let Value::Object(facts) = facts else { return problem.with("reason", failure.code()) };
        let wait_ms = facts.get("retry_after_ms").and_then(Value::as_u64);
        let problem = facts.into_iter().fold(problem, |problem, (name, fact)| problem.with(&name, fact));
        let problem = problem.with("reason", failure.code());
        wait_ms.into_iter().fold(problem, Problem::after)
    })
}

fn told((word, code, status): Row, detail: String, add: impl FnOnce(Problem) -> Problem) -> Verdict {
    let Value::String(code) = json!(code) else { unreachable!("a code is a word") };
    Verdict { word, error: Some(add(Problem::new(status, detail).with_code(code))) }
}

/// Every kind is decided here.
fn refused(refusal: &Refusal) -> (Row, Value) {
    match refusal {
        Refusal::UnknownTool(_)
        | Refusal::UnknownMethod(_)
        | Refusal::SeveralOwners { .. }
        | Refusal::UnknownResource(_)
        | Refusal::UnknownPrompt(_)
        | Refusal::UnknownTask
        | Refusal::Unsupported { .. } => (NOT_FOUND, Value::Null),
        Refusal::HeldBack(_) => (HELD, Value::Null),
        Refusal::HeaderMismatch(_) | Refusal::BadState(_) => (INVALID, Value::Null),
        Refusal::InvalidArguments { violations, .. } => (INVALID, json!({ "violations": violations })),
        Refusal::Denied(ruling) | Refusal::RuleBlocked(ruling) => (RULE, json!({ "rule_id": &*ruling.rule })),
        Refusal::NeedsApproval(ruling) => (PENDING, json!({ "rule_id": &*ruling.rule })),
        Refusal::ApprovalPending(awaited) => {
            let Awaited { id, roles, expires_at_ms, .. } = &**awaited;
            (PENDING, json!({ "approval_id": &**id, "roles": roles, "expires_at_ms": expires_at_ms }))
        }
        Refusal::NoDryRun(_) => (NO_DRY_RUN, Value::Null),
        Refusal::NotPlanned(PlanFault::Unavailable(_)) => (UNAVAILABLE, Value::Null),
        Refusal::NotPlanned(_) => (NOT_PLANNED, Value::Null),
        Refusal::Outdated(_) => (PENDING, json!({ "retryable": true })),
        Refusal::ApprovalDenied { .. } | Refusal::ApprovalExpired(_) | Refusal::Planning { .. } => {
            (DENIED, Value::Null)
        }
        Refusal::KeyRevoked(_) => (SCOPE, Value::Null),
        Refusal::TooManyApprovals { max, .. } => (LIMITED, json!({ "pending_max": max })),
        Refusal::RateLimited { retry_after_ms, limit } => {
            (LIMITED, json!({ "retry_after_ms": retry_after_ms, "limit": &**limit }))
        }
        Refusal::TooManyJobs { max, .. } => (LIMITED, json!({ "jobs_max": max })),
        Refusal::UnknownJob => (NO_JOB, Value::Null),
        Refusal::JobState { .. } => (JOB_STATE, Value::Null),
        Refusal::BadCursor | Refusal::NotAJob => (INVALID, Value::Null),
        Refusal::Repeated(RequestFault::Conflict) => (CONFLICT, Value::Null),
        Refusal::Repeated(RequestFault::InProgress) => (IN_PROGRESS, Value::Null),
        Refusal::Repeated(RequestFault::Interrupted | RequestFault::NotKept) => (INTERRUPTED, Value::Null),
        Refusal::Repeated(RequestFault::Unavailable(_))
        | Refusal::NoJobs(_)
        | Refusal::NoApprovals(_)
        | Refusal::NoQuota(_)
        | Refusal::NoPlanMode(_)
        | Refusal::NoAuditLog(_) => (UNAVAILABLE, Value::Null),
        Refusal::UnusableSchema { .. } => (OUTPUT, Value::Null),
    }
}

/// By the codes of tools: of all others, the tool has failed.
fn failed(error: &ToolError) -> (Row, Value) {
    let row = match &**error.code() {
        "timeout" => TIMEOUT,
        ToolError::CANCELLED => CANCELLED,
        "invalid_output" | "result_too_large" => OUTPUT,
        "invalid_arguments" => INVALID,
        "rule_blocked" => RULE,
        "held_back" => HELD,
        "host_blocked" | "limit_reached" | "program_not_run" => SANDBOX,
        _ => FAILED,
    };
    let details = error.details();
    let exit_code = details.and_then(|details| details.get("exit_code"));
    (row, json!({ "exit_code": exit_code, "details": details }))
}

#[cfg(test)]
mod tests {
    use gate::Ruling;
    use gate::schema::Violation;

    use super::*;

    fn brief(verdict: Verdict) -> String {
        let problem = json!(verdict.error);
        let Value::Object(mut problem) = problem else { return json!(verdict.word).to_string() };
        let status = problem.remove("status").expect("a status");
        for known in ["title", "detail"] {
            problem.remove(known);
        }
        format!("{} {status} {}", json!(verdict.word), Value::from(problem))
    }

    #[test]
    fn each_end_has_a_word_a_code_and_a_status() {
        let ruling = || Ruling { tool: "t".into(), rule: "r".into(), why: "is refused".into() };
        let violations =
            vec![Violation { pointer: "/a".into(), expected: "integer".into(), found: "null".into() }];
        let awaited =
            Awaited { id: "k7".into(), why: "w".into(), roles: vec!["owner".into()], expires_at_ms: 5 };
        let tool = |code: &'static str| ToolError::new(code, "it failed");
        let ours = Payload::Ours { blocks: Vec::new(), structured: None };
        for (result, expected) in [
            (Ok(Outcome::of(ours.clone())), r#""success""#),
            (
                Ok(Outcome { is_error: true, ..Outcome::of(ours) }),
                r#""error" 422 {"code":"tool_failed","reason":"tool_error","retryable":false}"#,
            ),
            (
                Ok(Outcome::of(Payload::InputRequired { requests: None, state: None, hold: None })),
                r#""error" 422 {"code":"input_required","retryable":false}"#,
            ),
            (
                Err(Refusal::UnknownTool("t".into()).into()),
                r#""error" 404 {"code":"tool_not_found","reason":"unknown_tool","retryable":false}"#,
            ),
            (
                Err(Refusal::Denied(ruling()).into()),
                r#""denied" 403 {"code":"rule_blocked","reason":"policy_denied","retryable":false,"rule_id":"r"}"#,
            ),
            (
                Err(Refusal::InvalidArguments { tool: "t".into(), violations }.into()),
                r#""error" 400 {"code":"invalid_arguments","reason":"invalid_arguments","retryable":false,"violations":[{"expected":"integer","found":"null","pointer":"/a"}]}"#,
            ),
            (
                Err(Refusal::ApprovalPending(Box::new(awaited)).into()),
                r#""approval_required" 403 {"approval_id":"k7","code":"approval_required","expires_at_ms":5,"reason":"approval_required","retryable":false,"roles":["owner"]}"#,
            ),
            (
                Err(Refusal::RateLimited { retry_after_ms: 90, limit: "limits.rate".into() }.into()),
                r#""denied" 429 {"code":"rate_limited","limit":"limits.rate","reason":"rate_limited","retry_after_ms":90,"retryable":true}"#,
            ),
            (
                Err(Refusal::Repeated(RequestFault::NotKept).into()),
                r#""error" 409 {"code":"interrupted","reason":"answer_not_kept","retryable":false}"#,
            ),
            (
                Err(Refusal::NoAuditLog("full".into()).into()),
                r#""error" 503 {"code":"unavailable","reason":"book_unavailable","retryable":true}"#,
            ),
            (
                Err(tool("tool_failed").with_details(json!({ "exit_code": 3 })).into()),
                r#""error" 422 {"code":"tool_failed","details":{"exit_code":3},"exit_code":3,"reason":"tool_failed","retryable":false}"#,
            ),
            (
                Err(tool("timeout").into()),
                r#""timeout" 504 {"code":"timeout","reason":"timeout","retryable":false}"#,
            ),
            (
                Err(tool("invalid_output").into()),
                r#""invalid_output" 502 {"code":"invalid_output","reason":"invalid_output","retryable":false}"#,
            ),
            (
                Err(tool("host_blocked").into()),
                r#""error" 403 {"code":"sandbox_violation","reason":"host_blocked","retryable":false}"#,
            ),
            (
                Err(tool("not_found").into()),
                r#""error" 422 {"code":"tool_failed","reason":"not_found","retryable":false}"#,
            ),
        ] {
            assert_eq!(brief(of(&result)), expected, "{result:?}");
        }
    }
}
