//! Whether the open segment is still the file of its name: asked with one look at the name, without a lock, so that
//! whoever answers calls can ask it. A file that was removed takes every write without an error, and keeps none.
#![expect(clippy::disallowed_methods, reason = "the audit log is a declared home of files")]

use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

/// Which file the open segment is. If it is exchanged while somebody looks, they may see half of each, which is no file:
/// they look again with the lock of the audit log.
pub(crate) struct InPlace {
    pub(crate) path: PathBuf,
    device: AtomicU64,
    inode: AtomicU64,
}

impl InPlace {
    /// Of the file that will be opened under this name.
    pub(crate) fn of(path: PathBuf) -> Self {
        Self { path, device: AtomicU64::new(0), inode: AtomicU64::new(0) }
    }

    /// This is the file that is open now.
    pub(crate) fn set(&self, (device, inode): (u64, u64)) {
        self.device.store(device, Ordering::Relaxed);
        self.inode.store(inode, Ordering::Relaxed);
    }

    /// True if the name still leads to it. Also false if another process closed the segment.
    pub(crate) fn holds(&self) -> bool {
        let open = (self.device.load(Ordering::Relaxed), self.inode.load(Ordering::Relaxed));
        fs::metadata(&self.path).is_ok_and(|found| id(&found) == open)
    }
}

/// What tells a file from every other one while somebody has it open.
pub(crate) fn id(file: &Metadata) -> (u64, u64) {
    (file.dev(), file.ino())
}
