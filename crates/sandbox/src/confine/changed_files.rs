//! Protected files that have changed, as people and models are told them.

use std::path::PathBuf;

/// How many are named.
pub const CHANGED_TOLD_MAX: usize = 32;

/// The first of them, and then how many more there are.
pub fn changed_files(written: &[PathBuf]) -> Vec<String> {
    let first = written.iter().take(CHANGED_TOLD_MAX);
    let more = written.len().checked_sub(CHANGED_TOLD_MAX).filter(|more| *more > 0);
    let more = more.map(|more| format!("and {more} more"));
    first.map(|path| path.to_string_lossy().into_owned()).chain(more).collect()
}

/// The same as a line of an answer; nothing if there are none.
pub fn protected_changed(told: &[String]) -> Option<String> {
    (!told.is_empty()).then(|| format!("[protected files have changed: {}]", told.join(", ")))
}
