//! Every change that this crate makes to a file, as a trait, so that tests can let one fail, and cut the power.
#![expect(clippy::disallowed_methods, reason = "the audit log is a declared home of files")]

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

/// Only the owner may read what they did.
pub(crate) const FILE_MODE: u32 = 0o600;

pub(crate) trait FileOps: Send + Sync {
    /// Comes before every change; tests let it fail.
    fn before_change(&self) -> io::Result<()> {
        Ok(())
    }

    /// Opens a file for reading and appending; creates it if there is none.
    fn open(&self, path: &Path) -> io::Result<File> {
        self.before_change()?;
        OpenOptions::new().read(true).append(true).create(true).mode(FILE_MODE).open(path)
    }

    /// Creates a file that is written in place; there must be none of this name.
    fn create(&self, path: &Path) -> io::Result<File> {
        self.before_change()?;
        OpenOptions::new().write(true).create_new(true).mode(FILE_MODE).open(path)
    }

    /// Writes all bytes at the end; after an error any part of them may have been written.
    fn write(&self, mut file: &File, bytes: &[u8]) -> io::Result<()> {
        self.before_change()?;
        file.write_all(bytes)
    }

    /// Writes all bytes at an offset. Not for files that are appended to: Linux would append.
    fn write_at(&self, file: &File, bytes: &[u8], at: u64) -> io::Result<()> {
        self.before_change()?;
        file.write_all_at(bytes, at)
    }

    /// Takes back what a write left after this length.
    fn truncate(&self, file: &File, len: u64) -> io::Result<()> {
        self.before_change()?;
        file.set_len(len)
    }

    /// Returns when what was written survives a power cut.
    fn sync(&self, file: &File) -> io::Result<()> {
        self.before_change()?;
        file.sync_data()
    }

    /// Returns when the names in a folder survive a power cut.
    fn sync_folder(&self, dir: &Path) -> io::Result<()> {
        self.before_change()?;
        OpenOptions::new().read(true).open(dir)?.sync_all()
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.before_change()?;
        fs::rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.before_change()?;
        fs::remove_file(path)
    }
}

/// The operating system's own.
pub(crate) struct SystemFiles;

impl FileOps for SystemFiles {}
