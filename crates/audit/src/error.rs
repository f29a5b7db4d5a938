//! What can go wrong with the audit log. Names files and limits, never what was to be noted.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use crate::limits::RECORDS_WAITING_MAX;
use crate::segments::FILE;

/// Why a call cannot be noted, and therefore must not run. Cheap to clone: every refused call gets one.
#[derive(Debug, Clone, thiserror::Error)]
pub enum AuditError {
    /// the audit log or its folder could not be created, opened, locked or written.
    #[error("the audit log {FILE} cannot be written; calls are refused until it can: check the state folder")]
    Unwritable(#[source] Arc<io::Error>),
    /// There is no space for another record. Calls that only read go on for a while.
    #[error(
        "the disk is full: the audit log {FILE} takes no record; calls that change something are refused until there is space below the state folder"
    )]
    NoSpace(#[source] Arc<io::Error>),
    /// The key that signs the audit log could not be read or made.
    #[error("the key that signs the audit log cannot be used: {0}")]
    Key(Arc<io::Error>),
    /// The intent log could not be written.
    #[error(
        "the log of running calls cannot be written; calls that change something are refused until it can"
    )]
    Intents(#[source] Arc<io::Error>),
    /// Records come faster than the disk takes them.
    #[error(
        "{RECORDS_WAITING_MAX} records wait for the audit log; calls are refused until the disk catches up"
    )]
    Full,
    /// Somebody cut, moved or removed the audit log while it was in use.
    #[error("the audit log {FILE} was cut short, moved or removed while in use; put it back, or start anew")]
    Removed,
    /// No whole line in the end of the audit log: it is not ours, or somebody overwrote it.
    #[error("the end of the audit log {FILE} holds no record; verify it, move it away and start anew")]
    Damaged,
    /// The disk did not take the records in time.
    #[error("the audit log was not written within {limit:?}")]
    Slow {
        /// How long was waited.
        limit: Duration,
    },
    /// The thread that writes the audit log ended by a defect of ours.
    #[error("the audit log's writer stopped; start anew")]
    Stopped,
}

/// What fails is the audit log itself unless it is said otherwise.
impl From<io::Error> for AuditError {
    fn from(error: io::Error) -> Self {
        Self::of(error, Self::Unwritable)
    }
}

impl AuditError {
    pub(crate) fn key(error: io::Error) -> Self {
        Self::of(error, Self::Key)
    }

    pub(crate) fn intents(error: io::Error) -> Self {
        Self::of(error, Self::Intents)
    }

    fn of(error: io::Error, other: fn(Arc<io::Error>) -> Self) -> Self {
        // Space comes back by itself, or by somebody's hand; other faults of a disk do not.
        use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
        let is_full = matches!(error.kind(), StorageFull | QuotaExceeded | FileTooLarge);
        if is_full { Self::NoSpace(Arc::new(error)) } else { other(Arc::new(error)) }
    }

    /// Whether calls that change nothing may go on while their records wait in memory.
    pub(crate) fn lets_reads_go_on(&self) -> bool {
        matches!(self, Self::NoSpace(_))
    }
}
