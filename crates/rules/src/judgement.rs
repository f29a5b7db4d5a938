//! What all rules together say of a call.

use serde_json::Value;

use crate::finding::{Approval, Finding, Stop};
use crate::outcome::OnResult;

/// What the rules say of a call.
#[derive(Debug, Default)]
pub struct Judgement {
    /// Every rule that matched, for the record.
    pub findings: Vec<Finding>,
    /// Why it does not run, if it does not.
    pub stop: Option<Stop>,
    /// What a person must agree to.
    pub approvals: Vec<Approval>,
    /// The arguments as they must be, if the rules changed them.
    pub arguments: Option<Value>,
    /// The answers as they must be, if the rules changed them.
    pub answers: Option<String>,
    /// What is sent beside the arguments as it must be, if the rules changed it.
    pub meta: Option<String>,
    /// How many places were struck out of the arguments, answers and what is sent beside them.
    pub struck: u32,
    /// What is to be held against the result; nothing if it concerns no rule.
    pub on_result: Option<OnResult>,
}

impl Judgement {
    /// Whether the rules changed anything of the call.
    pub(crate) fn is_changed(&self) -> bool {
        self.arguments.is_some() || self.answers.is_some() || self.meta.is_some()
    }
}
