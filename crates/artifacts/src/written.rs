//! What files that are being written have in common: they are private, and whoever dies leaves them.

use std::fs::Metadata;
use std::time::{Duration, SystemTime};

/// Only the owner may read.
pub(crate) const FILE_MODE: u32 = 0o600;

/// What nobody has written to for so long was left by a crash.
const AGE_MAX: Duration = Duration::from_secs(24 * 60 * 60);

/// Whether it is of a process that is gone.
pub(crate) fn is_left(file: &Metadata) -> bool {
    let age = file.modified().ok().and_then(|at| SystemTime::now().duration_since(at).ok());
    age.is_some_and(|age| age > AGE_MAX)
}
