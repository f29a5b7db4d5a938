//! What can go wrong with the audit log. Names files and limits, never what was to be noted.

use std::{io, sync::Arc, time::Duration};

use store::StoreError;

use crate::audit_log::{FILE, RECORDS_WAITING_MAX};

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
    /// The journal of running calls could not be written.
    #[error(
        "the journal of running calls cannot be written; calls that change something are refused until it can"
    )]
    Journal(#[source] Arc<io::Error>),
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

/// Space comes back by itself, or by somebody's hand; other faults of a disk do not.
fn is_full(error: &io::Error) -> bool {
    use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
    matches!(error.kind(), StorageFull | QuotaExceeded | FileTooLarge)
}

/// Why the head of the audit log could not be kept or read.
#[derive(Debug, thiserror::Error)]
pub enum AnchorError {
    /// the audit log itself could not be written or read.
    #[error(transparent)]
    AuditLog(#[from] AuditError),
    /// The store could not be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The kept text is not a head.
    #[error("the kept head of the audit log cannot be read")]
    Unreadable,
}

impl AuditError {
    pub(crate) fn unwritable(error: io::Error) -> Self {
        if is_full(&error) { Self::NoSpace(Arc::new(error)) } else { Self::Unwritable(Arc::new(error)) }
    }

    pub(crate) fn key(error: io::Error) -> Self {
        if is_full(&error) { Self::NoSpace(Arc::new(error)) } else { Self::Key(Arc::new(error)) }
    }

    pub(crate) fn journal(error: io::Error) -> Self {
        if is_full(&error) { Self::NoSpace(Arc::new(error)) } else { Self::Journal(Arc::new(error)) }
    }

    /// Whether calls that change nothing may go on while their records wait in memory.
    pub(crate) fn lets_reads_go_on(&self) -> bool {
        matches!(self, Self::NoSpace(_))
    }
}
