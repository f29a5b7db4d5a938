//! What can go wrong with a store, in words for the person who owns the machine.

use std::error::Error;
use std::fmt;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use crate::cell::NAMED_PREFIX;

/// Why a store could not do what it was asked. Names files and limits, never what was to be kept.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The folder or the database file could not be created or opened.
    #[error("the state folder cannot be used; check its permissions or set state.dir")]
    Folder(#[source] Met),
    /// The database or its folder is for reading only: by their permissions, or by how the disk is mounted. What is in the
    /// database can be read.
    #[error(
        "the state database toolcrib.db cannot be written, and nothing can be kept: make the file and the state folder \
         writable for the user who runs toolcrib, see whether the disk is mounted for reading only, or set another \
         state.dir"
    )]
    Unwritable(#[source] Met),
    /// The file is no database of ours, or the disk spoilt it.
    #[error(
        "the state database toolcrib.db is damaged; stop every toolcrib, move the file away and start again: \
         lost with it are the API keys (nobody is let in over HTTP until there are new ones), the kept secrets (which \
         are struck out of nothing until they are set again), the sign-ins to servers, approvals and grants, and what \
         the tools of servers were when they were accepted; if you have a copy of the file, put that back instead"
    )]
    Damaged,
    /// It was removed, moved away or replaced while it was in use. The next use takes what is there then, or begins it anew.
    #[error(
        "the state database toolcrib.db was removed or replaced while it was in use, and what was in it is not there any \
         more: jobs, approvals and grants, API keys, kept secrets and sign-ins; try again, or stop every toolcrib and put \
         the file back"
    )]
    Gone,
    /// Another version of the program wrote it, most likely a newer one. This one must not guess at its tables.
    #[error(
        "the state database toolcrib.db has version {found}, this program knows {known}; \
         use the newer toolcrib, or another state.dir"
    )]
    OtherVersion {
        /// The version it has.
        found: i64,
        /// The version this program can use.
        known: i64,
    },
    /// Other processes held the database for longer than we wait.
    #[error("the state database toolcrib.db was locked by another process for too long; try again")]
    Busy,
    /// The disk is full. What is in the database can be read, and nothing can be kept.
    #[error(
        "the disk is full: the state database toolcrib.db takes nothing new until there is space below the state folder"
    )]
    NoSpace,
    /// What was to be kept is beyond a limit.
    #[error("{what} of {bytes} bytes is too large to keep; the limit is {max}")]
    TooLarge {
        /// What it is.
        what: &'static str,
        /// Its size.
        bytes: usize,
        /// The limit, in bytes.
        max: usize,
    },
    /// There are as many records of a kind as there may be.
    #[error("{of} {max} records of the kind `{kind}` already; remove some that are over")]
    Full {
        /// The kind.
        kind: &'static str,
        /// The limit.
        max: usize,
        /// Whose records were counted.
        of: Whose,
        /// When the first of them ends, in milliseconds since 1970, if one does.
        ends_at_ms: Option<i64>,
    },
    /// Who holds the key that seals secrets, or the file with it, does not give one that can be trusted.
    #[error("{holder} {why}")]
    Key {
        /// Who that is, as the beginning of a sentence.
        holder: String,
        /// What is wrong, and what to do.
        why: String,
    },
    /// There is no key at the place where one was said to be.
    #[error("there is no key at {0}")]
    NoKey(String),
    /// A record does not open.
    #[error(
        "the kept secret {} cannot be opened: it was changed, or {key} is not the key that it was sealed with; put \
         the right key back, or {}",
        shown(name),
        anew(name)
    )]
    Sealed {
        /// The record's name, of which nothing is secret.
        name: String,
        /// Where the key comes from.
        key: String,
    },
    /// Everything has been sealed with another key since this process took its own from there.
    #[error(
        "what is kept was sealed anew by `toolcrib secrets rekey`, and {0} is not the key that it was sealed with; \
         `toolcrib mcp reload` has a running Toolcrib take the key that its configuration names, and one whose key is in \
         a variable must be started again"
    )]
    Resealed(String),
    /// A person's secret is kept, but there is no key any more.
    #[error(
        "the kept secret {} cannot be opened, since {key} is gone; put it back, or name in [secrets] where the key is \
         now, or {}",
        shown(name),
        anew(name)
    )]
    KeyLost {
        /// The record's name, of which nothing is secret.
        name: String,
        /// Where the key came from.
        key: String,
    },
    /// Anything else the database reports.
    #[error("the state database did not answer")]
    Database(#[source] Box<dyn Error + Send + Sync>),
}

/// What was met where. It is the cause of an error and none itself: a caller elsewhere is not told where our files are, and
/// whoever owns the machine reads it behind the error, and in the log.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}: {what}", path.display())]
pub struct Met {
    /// The file or folder.
    pub path: PathBuf,
    /// What the system or the database said.
    pub what: String,
}

/// Whose records a limit counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whose {
    /// Those of one owner.
    Owner,
    /// All of a kind.
    All,
}

impl fmt::Display for Whose {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Whose::Owner => "one owner has",
            Whose::All => "there are",
        })
    }
}

impl StoreError {
    /// What the system says of a state folder.
    pub(crate) fn folder(dir: &Path) -> impl Fn(io::Error) -> StoreError + Copy + '_ {
        move |error| StoreError::Folder(Met { path: dir.to_owned(), what: error.to_string() })
    }

    /// What the system says of what could not be written there.
    pub(crate) fn unwritten(path: &Path) -> impl Fn(io::Error) -> StoreError + Copy + '_ {
        move |error| match error.kind() {
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge => {
                StoreError::NoSpace
            }
            ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
                StoreError::Unwritable(Met { path: path.to_owned(), what: error.to_string() })
            }
            _ => StoreError::folder(path)(error),
        }
    }
}

/// What it means is told where the database is known.
impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> StoreError {
        StoreError::Database(Box::new(error))
    }
}

/// A record's name as a person knows it.
fn shown(name: &str) -> &str {
    name.strip_prefix(NAMED_PREFIX).unwrap_or(name)
}

/// How one does without a record.
fn anew(name: &str) -> String {
    match name.strip_prefix(NAMED_PREFIX) {
        Some(name) => format!(
            "if you have the old key in a file, run `toolcrib secrets rekey --from FILE`, or give it up with \
             `toolcrib secrets remove {name}` and set it again"
        ),
        None => "forget the record with `toolcrib mcp logout` and sign in again".to_owned(),
    }
}
