//! The tables, as the ordered list of steps that lead to them.

use rusqlite::{Connection, Error, TransactionBehavior};

/// Each step takes the database from the version equal to its place in the list to the next one. A step
/// that was released never changes; a change is a new step at the end.
const STEPS: &[&str] = &[
    "
    CREATE TABLE definitions (
        upstream      TEXT    NOT NULL,
        fingerprint   TEXT    NOT NULL,
        tools_json    TEXT    NOT NULL,
        fetched_at_ms INTEGER NOT NULL,
        PRIMARY KEY (upstream, fingerprint)
    ) STRICT;
    CREATE TABLE anchors (
        key   TEXT NOT NULL PRIMARY KEY,
        value TEXT NOT NULL
    ) STRICT, WITHOUT ROWID;
",
    // AUTOINCREMENT: the version of a record that was removed never comes again.
    "
    CREATE TABLE secrets (
        version INTEGER PRIMARY KEY AUTOINCREMENT,
        name    TEXT NOT NULL UNIQUE,
        sealed  BLOB NOT NULL
    ) STRICT;
    CREATE TABLE claims (
        key      TEXT    NOT NULL PRIMARY KEY,
        holder   TEXT    NOT NULL,
        until_ms INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
",
    // AUTOINCREMENT: the latest version of a kind tells whether anything in it has changed.
    "
    CREATE TABLE records (
        version INTEGER PRIMARY KEY AUTOINCREMENT,
        kind    TEXT NOT NULL,
        key     TEXT NOT NULL,
        value   TEXT NOT NULL,
        UNIQUE (kind, key)
    ) STRICT;
    CREATE TABLE changes (
        kind  TEXT    NOT NULL PRIMARY KEY,
        count INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
",
];

/// The first of them, for tests that begin with an old database.
#[cfg(test)]
pub(crate) const FIRST: &str = STEPS[0];

/// The version this program brings a database to, and the latest it can use.
pub(crate) const VERSION: i64 = STEPS.len() as i64;

/// The version of a database; 0 for one that was just created.
pub(crate) fn version(connection: &Connection) -> Result<i64, Error> {
    connection.query_row("PRAGMA user_version", [], |row| row.get(0))
}

/// Takes the steps that are missing, all or none. Another process may be doing the same at this moment:
/// whoever gets the write lock second finds nothing left to do.
pub(crate) fn migrate(connection: &mut Connection) -> Result<(), Error> {
    if version(connection)? == VERSION {
        return Ok(());
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let from = usize::try_from(version(&transaction)?).unwrap_or(0);
    for step in STEPS.iter().skip(from) {
        transaction.execute_batch(step)?;
    }
    if from < STEPS.len() {
        transaction.pragma_update(None, "user_version", VERSION)?;
    }
    transaction.commit()
}
