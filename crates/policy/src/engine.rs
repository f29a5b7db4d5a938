//! The seam: whoever decides, decides through this trait. Rules in TOML with conditions in CEL stand behind it; another
//! engine would be one more implementation.

use std::sync::Arc;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::caller::Caller;
use crate::facts::Facts;
use crate::role::Roles;

/// What is to be done with a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// The answer.
    pub verdict: Verdict,
    /// The id of the rule that decided, for people and the audit log.
    pub rule: Arc<str>,
    /// The reason; completes the sentence "the tool NAME …". Empty for a permission.
    pub why: Arc<str>,
    /// What must be done besides; shared, since it belongs to the rule.
    pub obligations: Arc<Obligations>,
}

/// What a rule does with a call that fits.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, Serialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "RuleEffect")]
#[derive(strum::IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
pub enum Verdict {
    /// Run it.
    Allow,
    /// Run it if a person agrees.
    Ask,
    /// Do not run it.
    #[default]
    Deny,
}

/// What a permission, or a question, is bound to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Obligations {
    /// Who may answer a question; empty for the configured ones.
    pub approvers: Roles,
    /// How long a question stays open; none for the configured time.
    pub approval_lasts: Option<Duration>,
    /// What one permission is good for.
    pub approval_covers: Covers,
    /// Whether a question shows what the call would change, which is found out before.
    pub dry_run_first: bool,
    /// How long the call may take at most, whatever its tool allows.
    pub timeout_max: Option<Duration>,
    /// How its arguments are put down in the audit log; none for the configured way.
    pub arguments: Option<Recorded>,
}

/// What a person's yes is good for at least.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "CoversWord")]
pub enum Covers {
    /// The call alone.
    #[default]
    Call,
    /// Every call of the tool, as it is now, by this caller in this session.
    Session,
}

/// How arguments are put down in the audit log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "ArgumentsWord")]
pub enum Recorded {
    /// As they are, secrets struck out.
    Redacted,
    /// As a hash and a size.
    Hash,
}

/// Decides. Does no I/O and never waits; a decision may be taken on the thread that reads the request.
pub trait Engine: Send + Sync {
    /// Decides one call. Whatever cannot be evaluated is a denial.
    fn decide(&self, facts: &Facts<'_>, arguments: &Value) -> Decision;

    /// Whether the caller is shown the tool: false if no arguments could ever make it run.
    fn may_see(&self, facts: &Facts<'_>) -> bool;

    /// Callers of one class see the same tools, so that lists are written once for all of them.
    fn class(&self, caller: &Caller) -> u64;
}

impl Verdict {
    /// The word for people and records.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}
