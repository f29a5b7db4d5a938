//! The hand that writes, so that tests can make it shake, and cut the power.
#![expect(clippy::disallowed_methods, reason = "the audit log is a declared home of files")]

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write},
    os::unix::fs::{FileExt, OpenOptionsExt},
    path::Path,
};

use crate::file::FILE_MODE;

/// Changes files. Every change of the audit log and of the journals passes here.
pub(crate) trait Pen: Send + Sync {
    /// Opens a file for reading and appending; creates it if there is none.
    fn open(&self, path: &Path) -> io::Result<File> {
        OpenOptions::new().read(true).append(true).create(true).mode(FILE_MODE).open(path)
    }

    /// Creates a file for appending; there must be none of this name.
    fn create(&self, path: &Path) -> io::Result<File> {
        OpenOptions::new().append(true).create_new(true).mode(FILE_MODE).open(path)
    }

    /// Writes all bytes at the end; after an error any part of them may have been written.
    fn write(&self, mut file: &File, bytes: &[u8]) -> io::Result<()> {
        file.write_all(bytes)
    }

    /// Writes all bytes at a place. Not for files that are appended to.
    fn write_at(&self, file: &File, bytes: &[u8], at: u64) -> io::Result<()> {
        file.write_all_at(bytes, at)
    }

    /// Takes back what a write left after this length.
    fn take_back(&self, file: &File, len: u64) -> io::Result<()> {
        file.set_len(len)
    }

    /// Returns when what was written survives a power cut.
    fn sync(&self, file: &File) -> io::Result<()> {
        file.sync_data()
    }

    /// Returns when the names in a folder survive a power cut.
    fn sync_folder(&self, dir: &Path) -> io::Result<()> {
        OpenOptions::new().read(true).open(dir)?.sync_all()
    }

    /// Gives a file another name.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    /// Removes a file.
    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }
}

/// The real one.
pub(crate) struct Steady;

impl Pen for Steady {}
