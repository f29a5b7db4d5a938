//! The statements about records.

use rusqlite::{Connection, OptionalExtension, Row, Transaction, params};

use super::durably;
use crate::{RECORDS_PER_KIND_MAX, StoredRecord};

fn stored(row: &Row<'_>) -> rusqlite::Result<StoredRecord> {
    let version = row.get::<_, i64>(0)?.cast_unsigned();
    Ok(StoredRecord { version, key: row.get(1)?, value: row.get(2)? })
}

pub(super) fn record(
    connection: &Connection,
    kind: &str,
    key: &str,
) -> rusqlite::Result<Option<StoredRecord>> {
    let mut statement =
        connection.prepare("SELECT version, key, value FROM records WHERE kind = ?1 AND key = ?2")?;
    statement.query_row([kind, key], stored).optional()
}

pub(super) fn records(connection: &Connection, kind: &str) -> rusqlite::Result<Vec<StoredRecord>> {
    let mut statement =
        connection.prepare("SELECT version, key, value FROM records WHERE kind = ?1 ORDER BY version")?;
    statement.query_map([kind], stored)?.collect()
}

pub(super) fn changes(connection: &Connection, kind: &str) -> rusqlite::Result<u64> {
    let mut statement = connection.prepare("SELECT count FROM changes WHERE kind = ?1")?;
    let count: Option<i64> = statement.query_row([kind], |row| row.get(0)).optional()?;
    Ok(count.unwrap_or(0).cast_unsigned())
}

/// What became of a change.
pub(super) enum Replaced {
    /// This version is kept now.
    By(u64),
    /// Another version than the expected one was there.
    Raced,
    /// There are as many of this kind as there may be.
    Full,
}

/// Puts the record there and counts the change.
pub(super) fn replace(
    connection: &Connection,
    kind: &str,
    key: &str,
    expected: Option<u64>,
    value: Option<&str>,
) -> rusqlite::Result<Replaced> {
    // A key that was revoked, or an approval that was used, must not come back with the power.
    durably(connection, |transaction| replace_in(transaction, kind, key, expected, value))
}

fn replace_in(
    transaction: &Transaction<'_>,
    kind: &str,
    key: &str,
    expected: Option<u64>,
    value: Option<&str>,
) -> rusqlite::Result<Replaced> {
    let found = record(transaction, kind, key)?.map(|found| found.version);
    if found != expected {
        return Ok(Replaced::Raced);
    }
    if found.is_none() && value.is_some() {
        let count: i64 =
            transaction
                .query_row("SELECT count(*) FROM records WHERE kind = ?1", [kind], |row| row.get(0))?;
        if count >= RECORDS_PER_KIND_MAX as i64 {
            return Ok(Replaced::Full);
        }
    }
    transaction.execute("DELETE FROM records WHERE kind = ?1 AND key = ?2", [kind, key])?;
    let version = match value {
        Some(value) => {
            // A new row has a number that no row had before.
            transaction.execute(
                "INSERT INTO records (kind, key, value) VALUES (?1, ?2, ?3)",
                params![kind, key, value],
            )?;
            transaction.last_insert_rowid().cast_unsigned()
        }
        None => 0,
    };
    transaction.execute(
        "INSERT INTO changes (kind, count) VALUES (?1, 1) ON CONFLICT (kind) DO UPDATE SET count = count + 1",
        [kind],
    )?;
    Ok(Replaced::By(version))
}
