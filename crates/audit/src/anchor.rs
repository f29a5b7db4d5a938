//! The head of the book, kept outside the book: without it nobody could tell that its end is missing.

use store::Store;

use crate::{book::Book, error::AnchorError, line::Head};

/// Where the store keeps it.
const KEY: &str = "audit.head";

/// The head that was last kept; `None` before the first time. Blocks on the store.
pub fn anchored(store: &dyn Store) -> Result<Option<Head>, AnchorError> {
    match store.anchor(KEY)? {
        Some(text) => Head::parse(&text).map(Some).ok_or(AnchorError::Unreadable),
        None => Ok(None),
    }
}

impl Book {
    /// Flushes, then keeps the head of the book in the store. Does nothing for a process that wrote
    /// nothing. Refuses to replace a later head by an earlier one: that would hide what was cut off.
    /// Blocks on the disk; meant for the shutdown, and now and then before.
    pub fn anchor(&self, store: &dyn Store) -> Result<(), AnchorError> {
        self.flush()?;
        if self.is_unused() {
            return Ok(());
        }
        // Before the head: another process may write and keep a later one in between.
        let kept = anchored(store)?;
        let head = self.head()?;
        match kept {
            Some(kept) if kept.seq > head.seq => {
                Err(AnchorError::EndMissing { found: head.seq, anchored: kept.seq })
            }
            _ => Ok(store.keep_anchor(KEY, &head.to_string())?),
        }
    }
}
