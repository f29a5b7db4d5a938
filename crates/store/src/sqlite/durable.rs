//! Transactions that survive a crash of the machine.

use rusqlite::{Connection, Transaction, TransactionBehavior};

use crate::error::StoreError;

/// Does `work` in a transaction that survives a crash of the machine once `work` has committed it.
pub(super) fn durably<T>(
    connection: &Connection,
    work: impl FnOnce(Transaction<'_>) -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    connection.pragma_update(None, "synchronous", "full")?;
    let done = Transaction::new_unchecked(connection, TransactionBehavior::Immediate)
        .map_err(StoreError::from)
        .and_then(work);
    connection.pragma_update(None, "synchronous", "normal")?;
    done
}
