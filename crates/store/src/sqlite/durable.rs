//! Transactions that survive a crash of the machine.

use rusqlite::{Connection, Transaction, TransactionBehavior};

/// Does `work` in a transaction that survives a crash of the machine once this returns. Work without a result changes
/// nothing.
pub(super) fn durably<T>(
    connection: &Connection,
    work: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<Option<T>>,
) -> rusqlite::Result<Option<T>> {
    connection.pragma_update(None, "synchronous", "full")?;
    let done =
        Transaction::new_unchecked(connection, TransactionBehavior::Immediate).and_then(|transaction| {
            let done = work(&transaction)?;
            if done.is_some() {
                transaction.commit()?;
            }
            Ok(done)
        });
    connection.pragma_update(None, "synchronous", "normal")?;
    done
}
