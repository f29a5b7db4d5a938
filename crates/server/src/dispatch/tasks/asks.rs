//! What is asked of one task.

use gate::{Action, Refusal};
use wire::{Code, WireError};

/// What is asked of one task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::dispatch) enum Asks {
    /// How it is doing.
    Get,
    /// That it takes these answers, in the extension.
    Update,
    /// That it ends.
    Cancel,
    /// What came of it, once it is over; of 2025-11-25.
    Result,
}

impl Asks {
    /// The same for logs and errors.
    pub(super) fn action(self) -> Action {
        match self {
            Asks::Get | Asks::Result => Action::GetTask,
            Asks::Update => Action::UpdateTask,
            Asks::Cancel => Action::CancelTask,
        }
    }
}

/// There is no such task, or it is somebody else's.
pub(super) fn unknown() -> WireError {
    WireError::new(Code::InvalidParams, format!("Invalid params: {}", Refusal::UnknownTask))
}
