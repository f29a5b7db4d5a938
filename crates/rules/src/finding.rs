//! What one rule says of a call or a result.

use std::borrow::Cow;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::files::Layer;

/// A rule that matched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Its id.
    pub rule: Arc<str>,
    /// Whose rule it is.
    pub layer: Layer,
    /// What it did, for the record: `block`, `redact (dry-run)`.
    pub effect: Cow<'static, str>,
    /// True if it acts.
    pub acts: bool,
}

/// Why something does not happen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Stop {
    /// The rule.
    pub rule: Arc<str>,
    /// The reason, completing "the tool …".
    pub why: Arc<str>,
}

/// What a person must agree to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Approval {
    /// The rule that asks.
    pub rule: Arc<str>,
    /// Its reason, completing "the tool …".
    pub why: Arc<str>,
    /// Who may answer, in the words of the rules file; any who may answer at all if there are none.
    pub roles: Arc<[Box<str>]>,
}
