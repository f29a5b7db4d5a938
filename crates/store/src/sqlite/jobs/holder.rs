//! Who holds jobs: each process locks a file of its own for as long as it lives, so that others see that it has ended,
//! however it did, and no clock has to say so.
#![expect(clippy::disallowed_methods, reason = "the store is a declared home of files")]

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use crate::folder;

/// The folder of these files within the state folder. It is there as long as jobs are kept.
pub(super) const FOLDER: &str = "jobs";

/// Only the owner may lock it.
const FILE_MODE: u32 = 0o600;

/// This process, as a holder of jobs.
#[derive(Debug)]
pub(super) struct Holder {
    pub(super) name: String,
    path: PathBuf,
    /// Locked until the process ends.
    _lock: File,
}

impl Holder {
    /// Locks a file of its own in the state folder `dir`.
    pub(super) fn enter(dir: &Path) -> io::Result<Holder> {
        let folder = dir.join(FOLDER);
        folder::create_private(&folder)?;
        let name = format!("{:016x}", getrandom::u64().map_err(io::Error::other)?);
        let path = folder.join(&name);
        let lock = OpenOptions::new().write(true).create_new(true).mode(FILE_MODE).open(&path)?;
        lock.lock()?;
        Ok(Holder { name, path, _lock: lock })
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        // One that stays is locked by nobody, and the next who looks removes it.
        let _ = fs::remove_file(&self.path);
    }
}

/// Whether a holder has ended. One that cannot be asked after lives.
pub(super) fn has_ended(dir: &Path, name: &str) -> bool {
    let path = dir.join(FOLDER).join(name);
    match File::open(&path) {
        Err(error) => error.kind() == ErrorKind::NotFound,
        Ok(file) => match file.try_lock() {
            Ok(()) => {
                let _ = fs::remove_file(&path);
                true
            }
            Err(TryLockError::WouldBlock | TryLockError::Error(_)) => false,
        },
    }
}

/// Whether jobs may be kept below this state folder. One question to the system.
pub(super) fn may_have_jobs(dir: &Path) -> bool {
    dir.join(FOLDER).is_dir()
}
