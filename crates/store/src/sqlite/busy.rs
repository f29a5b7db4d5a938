//! Waiting for other processes that use the same state folder.
#![expect(clippy::disallowed_methods, reason = "the store is a declared home of files")]

use std::fs::{File, TryLockError};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use crate::error::StoreError;

/// How long to wait for other processes. They write rows, not files: seconds mean that one is stuck.
pub(super) const BUSY_WAIT_MAX: Duration = Duration::from_secs(5);

/// How often to try again where nothing waits by itself.
pub(super) const BUSY_RETRY: Duration = Duration::from_millis(10);

/// Waits until nobody else makes or leaves a database in this folder. Some file systems know no locks: nothing there.
pub(super) fn lock(dir: &Path) -> Result<Option<File>, StoreError> {
    let folder = File::open(dir).map_err(StoreError::folder(dir))?;
    let deadline = Instant::now() + BUSY_WAIT_MAX;
    loop {
        match folder.try_lock() {
            Ok(()) => return Ok(Some(folder)),
            Err(TryLockError::Error(_)) => return Ok(None),
            Err(TryLockError::WouldBlock) if Instant::now() >= deadline => return Err(StoreError::Busy),
            Err(TryLockError::WouldBlock) => thread::sleep(BUSY_RETRY),
        }
    }
}
