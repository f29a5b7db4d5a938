//! `Draft`: an artifact that is being written, under a name that nobody reads.
#![expect(clippy::disallowed_methods, reason = "the artifacts are a declared home of files")]

use std::fs::{self, File};
use std::io::Write as _;
use std::path::PathBuf;

use data_encoding::HEXLOWER;
use sha2::{Digest as _, Sha256};

use crate::error::ArtifactError;

/// An artifact that is being written. Dropped before it is kept, it is gone.
pub struct Draft {
    file: File,
    path: PathBuf,
    hash: Sha256,
    bytes: u64,
    bytes_max: u64,
    line_ends: u64,
    ends_in_line: bool,
}

/// One that is whole, and on the disk.
#[derive(Clone)]
pub(crate) struct Whole {
    pub(crate) path: PathBuf,
    pub(crate) sha256: String,
    pub(crate) bytes: u64,
    pub(crate) lines: u64,
}

impl Draft {
    /// One in a file that was just made.
    pub(crate) fn new(file: File, path: PathBuf, bytes_max: u64) -> Draft {
        Draft { file, path, hash: Sha256::new(), bytes: 0, bytes_max, line_ends: 0, ends_in_line: false }
    }

    /// Adds bytes to its end.
    ///
    /// # Errors
    /// It would be larger than it may be, or the disk is full.
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), ArtifactError> {
        if self.bytes + bytes.len() as u64 > self.bytes_max {
            return Err(ArtifactError::TooLarge { max: self.bytes_max });
        }
        self.file.write_all(bytes)?;
        self.hash.update(bytes);
        self.bytes += bytes.len() as u64;
        self.line_ends += bytes.iter().filter(|&&byte| byte == b'\n').count() as u64;
        self.ends_in_line = bytes.last().map_or(self.ends_in_line, |&last| last != b'\n');
        Ok(())
    }

    /// How many bytes it has by now.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(crate) fn whole(&mut self) -> Result<Whole, ArtifactError> {
        // The index that names it is durable, so it must be.
        self.file.sync_all()?;
        Ok(Whole {
            path: self.path.clone(),
            sha256: HEXLOWER.encode(&self.hash.clone().finalize()),
            bytes: self.bytes,
            lines: self.line_ends + u64::from(self.ends_in_line),
        })
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        // It has another name by now, or nobody wants it; what stays is removed a day later.
        let _ = fs::remove_file(&self.path);
    }
}
