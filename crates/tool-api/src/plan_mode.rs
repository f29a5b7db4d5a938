//! Plan mode: while a caller plans in a workspace, the gate lets it look and change nothing.

use serde::{Deserialize, Serialize};

/// The tool that enters and leaves it.
pub const PLAN_MODE_TOOL: &str = "PlanMode";

/// The longest plan that is shown and given back, in bytes.
pub const PLAN_BYTES_MAX: usize = 64 * 1024;

/// Under which name it is kept. Nothing is kept there while nobody plans.
pub const PLAN_MODE: &str = "plan_mode";

/// What is kept while a caller plans.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanMode {
    /// What is to be reached.
    pub goal: Option<String>,
    /// When it was entered, in milliseconds since 1970.
    pub since_ms: i64,
    /// The one file that may be written meanwhile, as tools name it.
    #[serde(default)]
    pub plan_file: Option<String>,
}
