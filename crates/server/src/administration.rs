//! What an operator has done over HTTP. Its operations are above this crate; whoever puts the crates together hands them in.

use gate::Caller;
use serde_json::Value;

/// Does operations of the administration for callers who are known. Both may wait for the disk.
pub trait Administration: Send + Sync {
    /// Does the operation of this name for a caller. Whether it may have it done was looked at before.
    ///
    /// # Errors
    /// Why it was not done.
    fn perform(&self, operation: &str, input: Value, caller: &Caller) -> Result<Value, OperationFault>;

    /// What is wrong with the manifest of a tool, each in a sentence; nothing if it is good. No program is started.
    fn manifest_problems(&self, manifest: &Value) -> Vec<String>;
}

/// Why an operation was not done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OperationFault {
    /// What sort of fault it is.
    pub kind: OperationFaultKind,
    /// For programs.
    pub code: String,
    /// For people. Without secrets.
    pub message: String,
}

/// What sort of fault it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OperationFaultKind {
    /// What was asked for means nothing, or is not as it must be.
    Misused,
    /// There is nothing of the name that was given.
    Unknown,
    /// It may not be done, or not by whoever asks.
    Refused,
    /// The work could not be done.
    Failed,
}
