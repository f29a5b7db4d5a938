//! The statements about sealed records and claims.

use rusqlite::{Connection, OptionalExtension, Row, Transaction, params};

use super::durably;
use crate::{CLAIM_MS_MAX, StoredSecret};

pub(super) fn secret(connection: &Connection, name: &str) -> rusqlite::Result<Option<StoredSecret>> {
    connection
        .query_row("SELECT version, sealed FROM secrets WHERE name = ?1", [name], |row| {
            Ok(StoredSecret { version: version(row)?, sealed: row.get(1)? })
        })
        .optional()
}

/// Whether there has ever been one.
pub(super) fn was_any(connection: &Connection) -> rusqlite::Result<bool> {
    let last = connection
        .query_row("SELECT seq FROM sqlite_sequence WHERE name = 'secrets'", [], |row| row.get::<_, i64>(0))
        .optional()?;
    Ok(last.is_some_and(|last| last > 0))
}

fn version(row: &Row<'_>) -> rusqlite::Result<u64> {
    row.get(0).map(i64::cast_unsigned)
}

/// The version that is kept now; nothing if another one than `expected` was.
pub(super) fn replace(
    connection: &Connection,
    name: &str,
    expected: Option<u64>,
    sealed: Option<&[u8]>,
) -> rusqlite::Result<Option<u64>> {
    // Whoever rotates a token loses the old one by it: what replaces it must survive a crash of the machine, too.
    durably(connection, |transaction| replace_in(transaction, name, expected, sealed))
}

fn replace_in(
    transaction: &Transaction<'_>,
    name: &str,
    expected: Option<u64>,
    sealed: Option<&[u8]>,
) -> rusqlite::Result<Option<u64>> {
    let found: Option<u64> =
        transaction.query_row("SELECT version FROM secrets WHERE name = ?1", [name], version).optional()?;
    if found != expected {
        return Ok(None);
    }
    transaction.execute("DELETE FROM secrets WHERE name = ?1", [name])?;
    let version = match sealed {
        Some(sealed) => {
            // A new row has a number that no row had before.
            transaction
                .execute("INSERT INTO secrets (name, sealed) VALUES (?1, ?2)", params![name, sealed])?;
            transaction.last_insert_rowid().cast_unsigned()
        }
        None => 0,
    };
    Ok(Some(version))
}

pub(super) fn names(connection: &Connection, prefix: &str) -> rusqlite::Result<Vec<String>> {
    let mut statement = connection.prepare("SELECT name FROM secrets ORDER BY name")?;
    let names = statement.query_map([], |row| row.get::<_, String>(0))?;
    names.filter(|name| name.as_ref().map_or(true, |name| name.starts_with(prefix))).collect()
}

pub(super) fn claim(
    connection: &Connection,
    key: &str,
    holder: &str,
    now_ms: i64,
    until_ms: i64,
) -> rusqlite::Result<bool> {
    let latest_ms = now_ms.saturating_add(CLAIM_MS_MAX);
    // One statement, so that of two who try at once one finds the other's claim. One beyond the limit was made by a
    // clock that has been put back since.
    let changed = connection.execute(
        "INSERT INTO claims (key, holder, until_ms) VALUES (?1, ?2, ?4) \
         ON CONFLICT (key) DO UPDATE SET holder = ?2, until_ms = ?4 \
         WHERE holder = ?2 OR until_ms <= ?3 OR until_ms > ?5",
        params![key, holder, now_ms, until_ms.min(latest_ms), latest_ms],
    )?;
    Ok(changed == 1)
}

pub(super) fn release(connection: &Connection, key: &str, holder: &str) -> rusqlite::Result<()> {
    connection.execute("DELETE FROM claims WHERE key = ?1 AND holder = ?2", [key, holder])?;
    Ok(())
}
