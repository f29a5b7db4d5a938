//! `Change`: a file that would change, as it is and as it would be.

use std::path::PathBuf;

use data_encoding::HEXLOWER;
use rustix::fs::FileType;
use sha2::{Digest, Sha256};

/// The longest file whose content is kept to be shown, in bytes.
pub(crate) const SHOWN_BYTES_MAX: u64 = 1024 * 1024;

/// One file that would have changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// Below the workspace.
    pub path: PathBuf,
    /// What would have become of it.
    pub what: What,
    /// It as it is.
    pub before: Option<Content>,
    /// It as it would have been.
    pub after: Option<Content>,
}

/// What becomes of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    /// It is new.
    Added,
    /// Its content, its kind or its mode is another.
    Changed,
    /// It is gone.
    Removed,
}

impl What {
    /// In one word.
    pub fn as_str(self) -> &'static str {
        match self {
            What::Added => "added",
            What::Changed => "changed",
            What::Removed => "removed",
        }
    }
}

/// What is in a file; of a link, where it leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Content {
    /// Whether it may be run, is a link, and the like: type and mode as the system has them.
    pub mode: u32,
    /// Its SHA-256, in hexadecimal digits; of a pipe or a device that of nothing.
    pub sha256: String,
    /// Itself, unless it is too long to be shown.
    pub shown: Option<Vec<u8>>,
}

impl Content {
    /// Of a file with this mode.
    pub fn of_file(mode: u32, bytes: Vec<u8>) -> Content {
        let mode = FileType::RegularFile.as_raw_mode() | (mode & 0o7777);
        let sha256 = hex(Sha256::new_with_prefix(&bytes));
        let shown = (bytes.len() as u64 <= SHOWN_BYTES_MAX).then_some(bytes);
        Content { mode, sha256, shown }
    }

    /// Whether both are the same file.
    pub(crate) fn is_same(&self, other: &Content) -> bool {
        self.mode == other.mode && self.sha256 == other.sha256
    }
}

/// A hash in hexadecimal digits.
pub(crate) fn hex(hash: Sha256) -> String {
    HEXLOWER.encode(&hash.finalize())
}
