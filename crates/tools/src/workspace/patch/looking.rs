//! What looking for the places of hunks may cost, and what may be said of the lines that stand there.

use std::cell::Cell;

use tool_api::{Cancel, Secrets, ToolError};

/// Lines that one patch compares at most: far beyond any that fits, well below a second.
const COMPARED_MAX: u64 = 50_000_000;

/// Bytes of two lines that cost as much to compare as a line does.
const BYTES_PER_LINE: usize = 64;

/// Lines between two looks whether the call was cancelled.
const LOOK_EVERY: u64 = 1 << 16;

/// Looks for the hunks of one patch.
pub(super) struct Looking<'a> {
    cancel: &'a Cancel,
    pub(super) secrets: Option<&'a dyn Secrets>,
    left: Cell<u64>,
}

impl<'a> Looking<'a> {
    pub(super) fn new(cancel: &'a Cancel, secrets: Option<&'a dyn Secrets>) -> Looking<'a> {
        Looking { cancel, secrets, left: Cell::new(COMPARED_MAX) }
    }

    /// Whether it is over: nothing is found any more.
    pub(super) fn is_over(&self) -> bool {
        self.left.get() == 0
    }

    pub(super) fn check_cancel(&self) -> Result<(), ToolError> {
        if self.cancel.is_cancelled() { Err(ToolError::cancelled()) } else { Ok(()) }
    }

    /// Whether these lines are the same, if it is not over by then.
    pub(super) fn are_same(&self, found: &[&str], wanted: &[&str]) -> bool {
        found.len() == wanted.len()
            && found.iter().zip(wanted).all(|(one, other)| {
                let deep = if one.len() == other.len() { one.len() / BYTES_PER_LINE } else { 0 };
                self.spend(1 + deep as u64) && one == other
            })
    }

    /// Takes what so many lines cost; whether there was as much.
    pub(super) fn spend(&self, lines: u64) -> bool {
        let left = self.left.get().saturating_sub(lines);
        let is_time_to_look = left / LOOK_EVERY != self.left.get() / LOOK_EVERY;
        self.left.set(if is_time_to_look && self.cancel.is_cancelled() { 0 } else { left });
        !self.is_over()
    }
}
