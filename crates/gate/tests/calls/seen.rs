//! What the cases have shown: every refusal there is, and every check, both passing and refusing.

use std::collections::BTreeSet;

use gate::Refusal;
use serde_json::Value;

/// The steps of a call that have a say, in their order.
const CHECKS: [&str; 8] =
    ["repeat", "scope", "policy", "ai_rules", "input_schema", "plan_mode", "rate", "approval"];

/// The second fence behind the catalogue, which hides such a tool before the check is asked; its own test is beside it.
const NEVER_REACHED: &str = "scope";

/// No case revokes a key, or changes what a call names, while the call waits; `approvals/` does. Methods of extensions are
/// called in the server's tests, and only there are headers. Of jobs `jobs/` tells, of dry runs the
/// tests of programs, of plan mode the end-to-end case `agent`; a store that fails later than at the first look is in
/// `failing/`.
const ELSEWHERE: [&str; 16] = [
    "Planning",
    "NoApprovals",
    "NoDryRun",
    "NotPlanned",
    "KeyRevoked",
    "Outdated",
    "UnknownMethod",
    "SeveralOwners",
    "HeaderMismatch",
    "UnknownJob",
    "BadCursor",
    "NotAJob",
    "NoRetries",
    "JobState",
    "TooManyJobs",
    "NoJobs",
];

/// One list of all refusals, which the compiler holds to the type.
macro_rules! refusals {
    ($($name:ident $pattern:tt)*) => {
        const REFUSALS: &[&str] = &[$(stringify!($name)),*];

        fn name(refusal: &Refusal) -> &'static str {
            match refusal {
                $(Refusal::$name $pattern => stringify!($name),)*
            }
        }
    };
}

refusals! {
    UnknownTool(_)
    UnknownMethod(_)
    SeveralOwners { .. }
    UnknownResource(_)
    UnknownPrompt(_)
    UnknownTask {}
    Unsupported { .. }
    HeldBack(_)
    HeaderMismatch(_)
    BadState(_)
    Repeated(_)
    NoDryRun(_)
    NotPlanned(_)
    Planning { .. }
    NoPlanMode(_)
    Denied(_)
    RuleBlocked(_)
    NeedsApproval(_)
    ApprovalPending(_)
    ApprovalDenied { .. }
    ApprovalExpired(_)
    KeyRevoked(_)
    Outdated(_)
    TooManyApprovals { .. }
    NoApprovals(_)
    InvalidArguments { .. }
    UnusableSchema { .. }
    RateLimited { .. }
    NoQuota(_)
    UnknownJob {}
    BadCursor {}
    NotAJob {}
    NoRetries(_)
    JobState { .. }
    TooManyJobs { .. }
    NoJobs(_)
    NoAuditLog(_)
}

#[derive(Default)]
pub(crate) struct Seen(BTreeSet<String>);

impl Seen {
    pub(crate) fn refusal(&mut self, refusal: &Refusal) {
        self.0.insert(format!("the refusal {}", name(refusal)));
    }

    /// What a record says of the checks.
    pub(crate) fn verdicts(&mut self, record: &Value) {
        for verdict in record["verdicts"].as_array().unwrap() {
            let text = |nth: usize| verdict[nth].as_str().unwrap();
            assert!(CHECKS.contains(&text(0)), "{} is in the list", text(0));
            self.0.insert(format!("the check {} with {}", text(0), text(1)));
        }
    }

    /// What no case has shown.
    pub(crate) fn missing(&self) -> Vec<String> {
        let refusals = REFUSALS
            .iter()
            .filter(|name| !ELSEWHERE.contains(name))
            .map(|name| format!("the refusal {name}"));
        // Who is in no plan mode is not told so in every record.
        let passing = CHECKS
            .iter()
            .filter(|check| **check != "plan_mode")
            .map(|check| format!("the check {check} with pass"));
        let refusing = CHECKS.iter().filter(|check| **check != NEVER_REACHED);
        let refusing = refusing.map(|check| format!("the check {check} with refuse"));
        refusals.chain(passing).chain(refusing).filter(|one| !self.0.contains(one)).collect()
    }
}
