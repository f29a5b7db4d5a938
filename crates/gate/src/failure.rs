//! Why a call gave no outcome. Three kinds and no fourth; the transport maps them to protocol.

use std::sync::Arc;

use tool_api::{ArgumentsFault, CallId, Effect, Sandboxed, ToolError};

use crate::clock::time;
use crate::plan_fault::PlanFault;
use crate::request_fault::RequestFault;
use crate::schema::Violation;
use crate::seal::StateFault;

/// A call that gave no outcome.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The gate did not let it through.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The tool could not do its work.
    #[error(transparent)]
    Tool(#[from] ToolError),
    /// We failed.
    #[error(transparent)]
    Internal(#[from] Internal),
}

/// Why the gate did not let a call through. Each says what to try.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// There is no such tool, or none that this caller may see; the two read alike.
    #[error("unknown tool: {0}")]
    UnknownTool(String),
    /// There is no such method, or none that this caller may use.
    #[error("unknown method: {0}")]
    UnknownMethod(String),
    /// Several upstreams declare the extension of a method, and which one is meant is not guessed.
    #[error(
        "`{method}` is a method of several servers, `{upstreams}`, so none of them was asked; configure one of them only"
    )]
    SeveralOwners {
        /// The method.
        method: String,
        /// Who declares its extension.
        upstreams: String,
    },
    /// There is no such resource, or none that this caller may see.
    #[error("unknown resource: {0}")]
    UnknownResource(String),
    /// There is no such prompt, or none that this caller may see.
    #[error("unknown prompt: {0}")]
    UnknownPrompt(String),
    /// There is no such task, or it is not this caller's.
    #[error("unknown task; it may have ended, or belong to somebody else")]
    UnknownTask,
    /// The source has no such action.
    #[error("`{upstream}` does not support {action}")]
    Unsupported {
        /// Whose thing it is.
        upstream: String,
        /// What was to be done with it.
        action: &'static str,
    },
    /// Its definition has changed, or is new, and nobody has accepted it: a sentence on that, and on what a person can do.
    #[error("{0}")]
    HeldBack(Arc<str>),
    /// What the transport was told beside the call differs from it.
    #[error("Header mismatch: {0}")]
    HeaderMismatch(String),
    /// The state that the client brings from an earlier round cannot be used.
    #[error("{0}")]
    BadState(StateFault),
    /// It bears the request id of an earlier call.
    #[error("{0}")]
    Repeated(RequestFault),
    /// Nobody can say what it would change without having it done.
    #[error("there is no dry run of `{0}`; nothing was done: call it as it is, or go on without it")]
    NoDryRun(String),
    /// It is not what a dry run has shown.
    #[error("{0}")]
    NotPlanned(PlanFault),
    /// The caller is in plan mode, and it is more than looking.
    #[error(
        "`{tool}` {}, and you are in plan mode{}: until it ends you can look and change nothing{}. Leave it with `PlanMode` \
         (`action` `exit`) once the plan is ready; the person you work for may want to see it first",
        planned_effect(*.effect, *.is_a_servers),
        .goal.as_deref().map(|goal| format!(" for \"{goal}\"")).unwrap_or_default(),
        .plan_file.as_deref().map(but_the_plan).unwrap_or_default()
    )]
    Planning {
        /// The tool.
        tool: String,
        /// What it does.
        effect: Effect,
        /// Whether it is a tool of a server.
        is_a_servers: bool,
        /// What the plan is for.
        goal: Option<String>,
        /// Where it is written.
        plan_file: Option<String>,
    },
    /// Nobody can say whether the caller is in plan mode, and what cannot be checked does not run.
    #[error("whether you are in plan mode cannot be looked up, so only what changes nothing runs: {0}")]
    NoPlanMode(String),
    /// A rule forbids it.
    #[error("refused by policy: {0}")]
    Denied(Ruling),
    /// An AI rule forbids it.
    #[error("refused by the rules for AI: {0}")]
    RuleBlocked(Ruling),
    /// A person would have to agree, and nobody may be asked.
    #[error("{0}, so a person must allow it first, and nobody may be asked; go on without it")]
    NeedsApproval(Ruling),
    /// A person has been asked and has not answered yet.
    #[error(transparent)]
    ApprovalPending(Box<Awaited>),
    /// A person has said no.
    #[error(
        "`{tool}` was not allowed: {by} denied it{}; do not try the same call again unless a person asks for it",
        .reason.as_deref().map(|reason| format!(": {reason}")).unwrap_or_default()
    )]
    ApprovalDenied {
        /// The tool.
        tool: String,
        /// Who said it.
        by: Arc<str>,
        /// And why.
        reason: Option<Arc<str>>,
    },
    /// Nobody has answered in time.
    #[error(
        "`{0}` was not allowed: the person who was asked has not answered in time; go on without it, and call again \
         only if a person asks for it"
    )]
    ApprovalExpired(String),
    /// The caller's key was taken back while the call waited.
    #[error("`{0}` does not run: the key that it was called with was revoked")]
    KeyRevoked(String),
    /// What a person has allowed is not what would run by now.
    #[error(
        "`{0}` has not run: while a person was asked, the rules have changed, or what it is about has, so what was \
         allowed is not what would run; call again with the same arguments"
    )]
    Outdated(String),
    /// Too many questions wait for people already.
    #[error(
        "`{tool}` needs a person's approval, and {max} questions{} wait for an answer already; go on without it",
        if *.is_own_share { " of this caller" } else { "" }
    )]
    TooManyApprovals {
        /// The tool.
        tool: String,
        /// How many may wait.
        max: usize,
        /// Whether those of this caller alone are too many.
        is_own_share: bool,
    },
    /// The question cannot be kept, and what cannot be asked does not run.
    #[error("a person must allow this call, and the question cannot be kept: {0}")]
    NoApprovals(String),
    /// The arguments do not fit the tool's input schema.
    #[error("the arguments do not fit `{tool}`:{}", Violation::lines(.violations))]
    InvalidArguments {
        /// The tool.
        tool: String,
        /// What is wrong where, at most [`crate::schema::VIOLATIONS_MAX`].
        violations: Vec<Violation>,
    },
    /// The tool's input schema cannot be used, so nothing can be checked against it.
    #[error("the input schema of `{tool}` cannot be used, so its arguments cannot be checked: {why}")]
    UnusableSchema {
        /// The tool.
        tool: String,
        /// What is wrong with the schema.
        why: String,
    },
    /// The caller asks more often than its limit allows.
    #[error("Rate limit exceeded. Please try again later.")]
    RateLimited {
        /// When the next call is allowed, in milliseconds from now.
        retry_after_ms: u64,
        /// Which limit it is, by its name in the configuration: `limits.rate`, `limits.tools."web_*".per_day`.
        limit: Arc<str>,
    },
    /// The calls of a day cannot be counted, and what cannot be counted does not run.
    #[error(
        "the calls of the day cannot be counted, which a limit wants (`per_day`), so this one does not run: {0}"
    )]
    NoQuota(String),
    /// There is no such job, or it is not this caller's.
    #[error("unknown job; it may have been forgotten, or belong to somebody else")]
    UnknownJob,
    /// A page of jobs begins nowhere.
    #[error("the cursor was not given out with a page of jobs; list them from the beginning")]
    BadCursor,
    /// Only tools become jobs.
    #[error(
        "only a call of a tool can be a job, and none of the tools that are about jobs or call others; call it as it is"
    )]
    NotAJob,
    /// Only what may be done twice is tried again.
    #[error(
        "`{0}` is not tried again: only a tool that just reads, or says that it is idempotent, may do the same twice; \
         leave `retries` away"
    )]
    NoRetries(String),
    /// What is wanted of a job it cannot do as it stands.
    #[error("the job is {is} and cannot {cannot}")]
    JobState {
        /// How it stands.
        is: &'static str,
        /// What it cannot.
        cannot: &'static str,
    },
    /// Too many jobs are under way.
    #[error(
        "{max} jobs{} are under way already; wait for one of them, or cancel one",
        if *.is_own_share { " of this caller" } else { "" }
    )]
    TooManyJobs {
        /// How many may be.
        max: usize,
        /// Whether those of this caller alone are too many.
        is_own_share: bool,
    },
    /// The job cannot be kept or read, and what cannot be kept is not taken.
    #[error("jobs cannot be kept or read at the moment: {0}")]
    NoJobs(String),
    /// The call could not be written in the audit log, and what cannot be recorded does not run.
    #[error("the audit log cannot be written, so no call runs: {0}")]
    NoAuditLog(String),
}

/// Completes "change nothing".
fn but_the_plan(file: &str) -> String {
    format!(" but {file}, by `workspace_write` or `workspace_edit`")
}

/// What is wrong with a call while its caller plans.
fn planned_effect(effect: Effect, is_a_servers: bool) -> String {
    match is_a_servers {
        true => format!(
            "is a tool of a server, which counts as one that {} unless its server is trusted or the configuration says \
             otherwise",
            effect.name()
        ),
        false => effect.name().to_owned(),
    }
}

/// What a rule says of a call that it does not let through.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{tool}` {why} (rule {rule})")]
pub struct Ruling {
    /// The tool.
    pub tool: String,
    /// The rule that decided.
    pub rule: Arc<str>,
    /// Its reason, completing "the tool …".
    pub why: Arc<str>,
}

/// A question that waits for a person. A model reads the sentence: with the id, or a command or an address to answer at,
/// one that has a shell would answer for the person.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{why}, so a person must allow it first. A person ({}) has been asked and can answer until {}. Go on with \
     something else, and do not repeat this call until a person tells you to",
    roles.join(" or "), time(*expires_at_ms)
)]
pub struct Awaited {
    /// The question.
    pub id: Arc<str>,
    /// What is asked, and by which rules.
    pub why: String,
    /// Who may answer, by role.
    pub roles: Vec<String>,
    /// When it ends, in milliseconds since 1970.
    pub expires_at_ms: i64,
}

/// We failed. The caller gets a name to look for in the log, the log gets the cause.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("internal error; the log has the cause under call {call}")]
pub struct Internal {
    /// The call that failed.
    pub call: CallId,
}

impl Failure {
    /// The stable code.
    pub fn code(&self) -> &str {
        match self {
            Failure::Refused(refusal) => refusal.code(),
            Failure::Tool(error) => error.code(),
            Failure::Internal(_) => "internal",
        }
    }

    /// How the programs of the call ran, if some did.
    pub fn sandboxed(&self) -> Option<&Sandboxed> {
        match self {
            Failure::Tool(error) => error.sandboxed(),
            Failure::Refused(_) | Failure::Internal(_) => None,
        }
    }

    /// True if the caller gave the call up.
    pub fn is_cancelled(&self) -> bool {
        matches!(self, Failure::Tool(error) if error.code() == ToolError::CANCELLED)
    }
}

impl Refusal {
    /// The arguments are no object that can be held.
    pub(crate) fn unreadable(tool: &str, fault: &ArgumentsFault) -> Refusal {
        let violation =
            Violation { pointer: String::new(), expected: "an object".to_owned(), found: fault.0.clone() };
        Refusal::InvalidArguments { tool: tool.to_owned(), violations: vec![violation] }
    }

    /// The stable code.
    pub fn code(&self) -> &'static str {
        match self {
            Refusal::UnknownTool(_) => "unknown_tool",
            Refusal::UnknownMethod(_) => "unknown_method",
            Refusal::SeveralOwners { .. } => "several_owners",
            Refusal::UnknownResource(_) => "unknown_resource",
            Refusal::UnknownPrompt(_) => "unknown_prompt",
            Refusal::UnknownTask => "unknown_task",
            Refusal::Unsupported { .. } => "unsupported",
            Refusal::HeldBack(_) => "held_back",
            Refusal::HeaderMismatch(_) => "header_mismatch",
            Refusal::BadState(_) => "bad_request_state",
            Refusal::Repeated(fault) => fault.code(),
            Refusal::NoDryRun(_) => "dry_run_unsupported",
            Refusal::NotPlanned(fault) => fault.code(),
            Refusal::Planning { .. } => "plan_mode",
            Refusal::NoPlanMode(_) => "plan_mode_unavailable",
            Refusal::Denied(_) => "policy_denied",
            Refusal::RuleBlocked(_) => "rule_blocked",
            Refusal::NeedsApproval(_) | Refusal::ApprovalPending(_) => "approval_required",
            Refusal::ApprovalDenied { .. } => "approval_denied",
            Refusal::ApprovalExpired(_) => "approval_expired",
            Refusal::KeyRevoked(_) => "key_revoked",
            Refusal::Outdated(_) => "approval_outdated",
            Refusal::TooManyApprovals { .. } => "too_many_approvals",
            Refusal::NoApprovals(_) => "approvals_unavailable",
            Refusal::InvalidArguments { .. } => "invalid_arguments",
            Refusal::UnusableSchema { .. } => "unusable_schema",
            Refusal::RateLimited { .. } => "rate_limited",
            Refusal::NoQuota(_) => "limits_unavailable",
            Refusal::UnknownJob => "unknown_job",
            Refusal::BadCursor => "bad_cursor",
            Refusal::NotAJob => "not_a_job",
            Refusal::NoRetries(_) => "no_retries",
            Refusal::JobState { .. } => "job_state",
            Refusal::TooManyJobs { .. } => "too_many_jobs",
            Refusal::NoJobs(_) => "jobs_unavailable",
            Refusal::NoAuditLog(_) => "book_unavailable",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What stands in no text that a model reads: words that it could type, and an address that it could send to.
    const COMMANDS: [&str; 5] = ["toolcrib ", "`toolcrib", "/mcp/", "approvals.roles", "k7m2xq9p"];

    #[test]
    fn a_model_reads_no_command_no_address_and_no_id() {
        let tool = || "burn".to_owned();
        let rule = || Arc::from("default.destroys");
        let planning = |is_a_servers, goal: Option<&str>, file: Option<&str>| Refusal::Planning {
            tool: tool(),
            effect: Effect::Writes,
            is_a_servers,
            goal: goal.map(str::to_owned),
            plan_file: file.map(str::to_owned),
        };
        let awaited = Awaited {
            id: "k7m2xq9p".into(),
            why: "`burn` destroys something for good (rule default.destroys)".to_owned(),
            roles: vec!["owner".to_owned(), "maintainer".to_owned()],
            expires_at_ms: 1_800_000_000_000,
        };
        for (refusal, expected) in [
            (
                Refusal::ApprovalPending(Box::new(awaited)),
                "`burn` destroys something for good (rule default.destroys), so a person must allow it first. A person \
                 (owner or maintainer) has been asked and can answer until 2027-01-15T08:00:00Z. Go on with something \
                 else, and do not repeat this call until a person tells you to",
            ),
            (
                Refusal::NeedsApproval(Ruling {
                    tool: tool(),
                    rule: rule(),
                    why: "destroys something".into(),
                }),
                "`burn` destroys something (rule default.destroys), so a person must allow it first, and nobody may be \
                 asked; go on without it",
            ),
            (
                Refusal::ApprovalDenied {
                    tool: tool(),
                    by: "local".into(),
                    reason: Some("not today".into()),
                },
                "`burn` was not allowed: local denied it: not today; do not try the same call again unless a person asks \
                 for it",
            ),
            (
                Refusal::ApprovalExpired(tool()),
                "`burn` was not allowed: the person who was asked has not answered in time; go on without it, and call \
                 again only if a person asks for it",
            ),
            (
                Refusal::TooManyApprovals { tool: tool(), max: 20, is_own_share: true },
                "`burn` needs a person's approval, and 20 questions of this caller wait for an answer already; go on \
                 without it",
            ),
            (
                planning(false, Some("Split it"), Some("plan.md")),
                "`burn` writes, and you are in plan mode for \"Split it\": until it ends you can look and change nothing but \
                 plan.md, by `workspace_write` or `workspace_edit`. Leave it with `PlanMode` (`action` `exit`) once the plan \
                 is ready; the person you work for may want to see it first",
            ),
            (
                planning(true, None, None),
                "`burn` is a tool of a server, which counts as one that writes unless its server is trusted or the \
                 configuration says otherwise, and you are in plan mode: until it ends you can look and change nothing. Leave \
                 it with `PlanMode` (`action` `exit`) once the plan is ready; the person you work for may want to see it first",
            ),
        ] {
            let message = refusal.to_string();
            assert_eq!(message, expected);
            assert!(COMMANDS.iter().all(|command| !message.contains(command)), "{message}");
        }
    }
}
