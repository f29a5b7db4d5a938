//! The policy: which rule decides about a call and why, the cases that stand beside the rules, and what the rules would make
//! of the calls that were recorded.

mod cases;
mod explain;
mod replay;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use policy::{Case, Policy};

use crate::fault::Fault;
use crate::tools::Tools;
pub use cases::{Test, Tested};
pub use explain::{CallerReport, Explain, Explained};
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
