//! The policy: which rule decides about a call and why, the cases that stand beside the rules, and what the rules would make
//! of the calls that were recorded.

mod cases;
mod explain;
mod replay;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use policy::{Case, Decision, Policy, Verdict};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::fault::Fault;
use crate::tools::Tools;
pub use cases::{CaseReport, Expected, Got, Test, Tested};
pub use explain::{Asking, CallerReport, Explain, Explained};
pub use replay::{Now, Replay, Replayed, ReplayedCall, Ruled};

/// What operations on the policy work on.
pub struct PolicyPart {
    /// The one in force.
    pub policy: Policy,
    /// What stands beside it.
    pub beside: Box<dyn Beside>,
    /// The tools that there are.
    pub tools: Arc<dyn Tools>,
    /// The folder that the audit log lies in.
    pub state: PathBuf,
}

/// Reads what stands beside the policy in force. Waits for the disk.
pub trait Beside: Send + Sync {
    /// The cases that stand beside the rules.
    ///
    /// # Errors
    /// One of them cannot be read.
    fn cases(&self) -> Result<Vec<Case>, Fault>;

    /// The policy of another configuration file.
    ///
    /// # Errors
    /// What is wrong with it.
    fn policy_of(&self, file: &Path) -> Result<Policy, Fault>;
}

/// What the policy makes of a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Decided {
    /// The answer.
    pub effect: Verdict,
    /// The rule that decided.
    pub rule: String,
    /// The reason, completing "the tool …"; empty for a permission.
    pub why: String,
}

impl From<&Decision> for Decided {
    fn from(decision: &Decision) -> Decided {
        let Decision { verdict, rule, why, .. } = decision;
        Decided { effect: *verdict, rule: rule.to_string(), why: why.to_string() }
    }
}
