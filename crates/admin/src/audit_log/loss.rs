//! What an audit log tells of records that were lost.

use audit::Loss;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A loss that an audit log tells of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LossReport {
    /// The number of the record that says so.
    pub record: u64,
    /// The number of the record that was kept elsewhere and is not in it.
    pub kept: u64,
    /// The number of the record in which somebody signed that they know.
    #[serde(default)]
    pub acknowledged: Option<u64>,
    /// What they say of it.
    #[serde(default)]
    pub because: Option<String>,
}

impl From<Loss> for LossReport {
    fn from(loss: Loss) -> LossReport {
        let Loss { seq, kept, acknowledged, because } = loss;
        LossReport { record: seq, kept, acknowledged, because }
    }
}

impl From<&LossReport> for Loss {
    fn from(loss: &LossReport) -> Loss {
        let LossReport { record, kept, acknowledged, because } = loss;
        Loss { seq: *record, kept: *kept, acknowledged: *acknowledged, because: because.clone() }
    }
}
