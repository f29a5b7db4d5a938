//! The table, row by row, and that a job keeps what it takes.

use gate::schema::Violation;
use gate::{Awaited, Ruling, StateFault};

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

fn text() -> String {
    "x".to_owned()
}

fn ruling() -> Ruling {
    Ruling { tool: "t".into(), rule: "r".into(), why: "is refused".into() }
}

fn violations() -> Vec<Violation> {
    vec![Violation { pointer: "/a".into(), expected: "integer".into(), found: "null".into() }]
}

fn awaited() -> Awaited {
    Awaited { id: "k7".into(), why: "w".into(), roles: vec!["owner".into()], expires_at_ms: 5 }
}

#[test]
fn each_end_has_a_word_a_code_and_a_status() {
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
            Err(Refusal::InvalidArguments { tool: "t".into(), violations: violations() }.into()),
            r#""error" 400 {"code":"invalid_arguments","reason":"invalid_arguments","retryable":false,"violations":[{"expected":"integer","found":"null","pointer":"/a"}]}"#,
        ),
        (
            Err(Refusal::ApprovalPending(Box::new(awaited())).into()),
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
            Err(Refusal::Repeated(RequestFault::TooMany {
                max: 9,
                whose: "of one caller",
                retry_after_ms: 90,
            })
            .into()),
            r#""denied" 429 {"code":"rate_limited","limit":"request_ids","reason":"too_many_request_ids","retry_after_ms":90,"retryable":true}"#,
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

/// Samples of each kind: a kind without any does not compile.
macro_rules! samples {
    ($($kind:pat => [$($sample:expr),+ $(,)?],)+) => {
        fn refusals() -> Vec<Refusal> {
            let _every_kind = |refusal: &Refusal| match refusal {
                $($kind => ()),+
            };
            let mut all = Vec::new();
            $(for sample in [$($sample),+] {
                assert!(matches!(sample, $kind), "a sample of another kind: {sample:?}");
                all.push(sample);
            })+
            all
        }
    };
}

samples! {
    Refusal::UnknownTool(_) => [Refusal::UnknownTool(text())],
    Refusal::UnknownMethod(_) => [Refusal::UnknownMethod(text())],
    Refusal::SeveralOwners { .. } => [Refusal::SeveralOwners { method: text(), upstreams: text() }],
    Refusal::UnknownResource(_) => [Refusal::UnknownResource(text())],
    Refusal::UnknownPrompt(_) => [Refusal::UnknownPrompt(text())],
    Refusal::UnknownTask => [Refusal::UnknownTask],
    Refusal::Unsupported { .. } => [Refusal::Unsupported { upstream: text(), action: "x" }],
    Refusal::HeldBack(_) => [Refusal::HeldBack("x".into())],
    Refusal::HeaderMismatch(_) => [Refusal::HeaderMismatch(text())],
    Refusal::BadState(_) => [Refusal::BadState(StateFault::Foreign)],
    Refusal::NoDryRun(_) => [Refusal::NoDryRun(text())],
    Refusal::NotPlanned(PlanFault::Unknown) => [Refusal::NotPlanned(PlanFault::Unknown)],
    Refusal::NotPlanned(PlanFault::Outdated(_)) => [Refusal::NotPlanned(PlanFault::Outdated(text()))],
    Refusal::NotPlanned(PlanFault::Unavailable(_)) => [Refusal::NotPlanned(PlanFault::Unavailable(text()))],
    Refusal::Planning { .. } => [
        Refusal::Planning { tool: text(), effect: gate::Effect::Writes, is_a_servers: false, goal: None, plan_file: None },
    ],
    Refusal::NoPlanMode(_) => [Refusal::NoPlanMode(text())],
    Refusal::Denied(_) => [Refusal::Denied(ruling())],
    Refusal::RuleBlocked(_) => [Refusal::RuleBlocked(ruling())],
    Refusal::NeedsApproval(_) => [Refusal::NeedsApproval(ruling())],
    Refusal::ApprovalPending(_) => [Refusal::ApprovalPending(Box::new(awaited()))],
    Refusal::ApprovalDenied { .. } => [Refusal::ApprovalDenied { tool: text(), by: "x".into(), reason: None }],
    Refusal::ApprovalExpired(_) => [Refusal::ApprovalExpired(text())],
    Refusal::KeyRevoked(_) => [Refusal::KeyRevoked(text())],
    Refusal::Outdated(_) => [Refusal::Outdated(text())],
    Refusal::TooManyApprovals { .. } => [Refusal::TooManyApprovals { tool: text(), max: 1, is_own_share: true }],
    Refusal::NoApprovals(_) => [Refusal::NoApprovals(text())],
    Refusal::InvalidArguments { .. } => [Refusal::InvalidArguments { tool: text(), violations: violations() }],
    Refusal::UnusableSchema { .. } => [Refusal::UnusableSchema { tool: text(), why: text() }],
    Refusal::RateLimited { .. } => [Refusal::RateLimited { retry_after_ms: 1, limit: "x".into() }],
    Refusal::NoQuota(_) => [Refusal::NoQuota(text())],
    Refusal::UnknownJob => [Refusal::UnknownJob],
    Refusal::BadCursor => [Refusal::BadCursor],
    Refusal::NotAJob => [Refusal::NotAJob],
    Refusal::NoRetries(_) => [Refusal::NoRetries(text())],
    Refusal::JobState { .. } => [Refusal::JobState { is: "x", cannot: "y" }],
    Refusal::TooManyJobs { .. } => [Refusal::TooManyJobs { max: 1, is_own_share: true }],
    Refusal::NoJobs(_) => [Refusal::NoJobs(text())],
    Refusal::NoAuditLog(_) => [Refusal::NoAuditLog(text())],
    Refusal::Repeated(RequestFault::Conflict) => [Refusal::Repeated(RequestFault::Conflict)],
    Refusal::Repeated(RequestFault::InProgress) => [Refusal::Repeated(RequestFault::InProgress)],
    Refusal::Repeated(RequestFault::Interrupted) => [Refusal::Repeated(RequestFault::Interrupted)],
    Refusal::Repeated(RequestFault::NotKept) => [Refusal::Repeated(RequestFault::NotKept)],
    Refusal::Repeated(RequestFault::TooMany { .. }) => [Refusal::Repeated(RequestFault::TooMany { max: 1, whose: "x", retry_after_ms: 1 })],
    Refusal::Repeated(RequestFault::Unavailable(_)) => [Refusal::Repeated(RequestFault::Unavailable(text()))],
}

#[test]
fn what_a_job_has_kept_of_a_refusal_is_told_as_it_was_at_once() {
    let told = |verdict: Verdict| (verdict.word, json!(verdict.error));
    for refusal in refusals() {
        let kept = StoredFailure::from(&refusal);
        assert_eq!(told(of_kept(kept)), told(of_failure(&refusal.clone().into())), "{refusal:?}");
    }
    for (kept, expected) in [
        (
            json!({ "code": "tool_failed", "details": { "exit_code": 3 } }),
            r#""error" 422 {"code":"tool_failed","details":{"exit_code":3},"exit_code":3,"reason":"tool_failed","retryable":false}"#,
        ),
        (
            json!({ "code": "interrupted" }),
            r#""error" 409 {"code":"interrupted","reason":"interrupted","retryable":false}"#,
        ),
        (
            json!({ "code": "result_unreadable" }),
            r#""error" 409 {"code":"interrupted","reason":"result_unreadable","retryable":false}"#,
        ),
        (
            json!({ "code": "internal" }),
            r#""error" 500 {"code":"internal","reason":"internal","retryable":false}"#,
        ),
        (
            json!({ "code": "cancelled" }),
            r#""cancelled" 409 {"code":"cancelled","reason":"cancelled","retryable":false}"#,
        ),
        (
            json!({ "code": "approval_denied" }),
            r#""error" 422 {"code":"tool_failed","reason":"approval_denied","retryable":false}"#,
        ),
    ] {
        let mut stored = kept.clone();
        stored["message"] = "it failed".into();
        let stored: StoredFailure = serde_json::from_value(stored).expect("one that was kept");
        assert_eq!(brief(of_kept(stored)), expected, "{kept}");
    }
}

#[test]
fn a_member_of_a_problem_stands_there_once() {
    let outdated = Failure::from(Refusal::Outdated("t".into()));
    let text = serde_json::to_string(&of_failure(&outdated).problem()).expect("JSON");
    assert_eq!(text.matches("retryable").collect::<Vec<_>>().len(), 1, "{text}");
    assert!(text.contains(r#""retryable":true"#), "{text}");
}
