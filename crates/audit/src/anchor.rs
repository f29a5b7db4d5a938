//! The head of the audit log, kept outside the audit log: without it nobody could tell that its end is missing.

use store::{Kind, Store, wait};

use crate::{audit_log::AuditLog, error::AnchorError, line::Head};

/// Where the store keeps it.
const KEY: &str = "audit.head";

/// The head that was last kept; `None` before the first time. Blocks on the store.
pub fn anchored(store: &dyn Store) -> Result<Option<Head>, AnchorError> {
    match wait(store.cell(Kind::Anchor, KEY))? {
        Some(kept) => {
            Head::parse(&String::from_utf8_lossy(&kept.value)).map(Some).ok_or(AnchorError::Unreadable)
        }
        None => Ok(None),
    }
}

/// Keeps a head that is in the audit log, or behind a line that says why the kept one is not. Blocks on the store.
pub(crate) fn keep(store: &dyn Store, head: Head) -> Result<(), AnchorError> {
    Ok(wait(store.overwrite(Kind::Anchor, KEY, head.to_string().into()))?)
}

impl AuditLog {
    /// Flushes, signs the end of the audit log, then keeps its head in the store. Does nothing for a process that wrote
    /// nothing. If the head that the store has is not in the audit log, that is written down there first.
    /// Blocks on the disk; meant for the shutdown, and now and then before.
    pub fn anchor(&self, store: &dyn Store) -> Result<(), AnchorError> {
        self.flush()?;
        if self.is_unused() {
            return Ok(());
        }
        // One that cannot be read stays as it is: perhaps somebody can.
        anchored(store)?;
        self.shared.compare(Some(store))?;
        let head = self.sign_end()?;
        keep(store, head)
    }
}
