//! The statements about versioned cells.

use rusqlite::{Connection, OptionalExtension, Row, ToSql, Transaction, params};

use super::durable::durably;
use crate::cell::{CELLS_PER_KIND_MAX, Cell, Change, Content, Kind, PAGE_MAX, Query};

fn stored(row: &Row<'_>) -> rusqlite::Result<Cell> {
    Ok(Cell { version: row.get::<_, i64>(0)?.cast_unsigned(), key: row.get(1)?, value: row.get(2)? })
}

pub(super) fn cell(connection: &Connection, kind: Kind, key: &str) -> rusqlite::Result<Option<Cell>> {
    let mut statement =
        connection.prepare("SELECT version, key, value FROM cells WHERE kind = ?1 AND key = ?2")?;
    statement.query_row([kind.as_str(), key], stored).optional()
}

/// The conditions of a query in SQL, with their parameters.
fn conditions(query: &Query) -> (String, Vec<&dyn ToSql>) {
    let mut sql = " FROM cells WHERE kind = ?".to_owned();
    let mut values: Vec<&dyn ToSql> = Vec::new();
    for (condition, value) in [(" AND owner = ?", &query.owner), (" AND topic = ?", &query.topic)] {
        if let Some(value) = value {
            sql.push_str(condition);
            values.push(value);
        }
    }
    if !query.states.is_empty() {
        sql.push_str(&format!(" AND state IN (?{})", ", ?".repeat(query.states.len() - 1)));
        values.extend(query.states.iter().map(|state| state as &dyn ToSql));
    }
    if let Some(after_ms) = &query.ends_after_ms {
        sql.push_str(" AND (ends_at_ms IS NULL OR ends_at_ms > ?)");
        values.push(after_ms);
    }
    if let Some(by_ms) = &query.ended_by_ms {
        sql.push_str(" AND ends_at_ms <= ?");
        values.push(by_ms);
    }
    (sql, values)
}

pub(super) fn cells(connection: &Connection, query: &Query) -> rusqlite::Result<Vec<Cell>> {
    let (conditions, values) = conditions(query);
    let sql = format!("SELECT version, key, value{conditions} AND version > ? ORDER BY version LIMIT ?");
    let (kind, after) = (query.kind.as_str(), query.after.cast_signed());
    let limit = query.limit.min(PAGE_MAX) as i64;
    let mut all: Vec<&dyn ToSql> = vec![&kind];
    all.extend(values);
    all.extend([&after as &dyn ToSql, &limit]);
    connection.prepare(&sql)?.query_map(&all[..], stored)?.collect()
}

pub(super) fn count(connection: &Connection, query: &Query) -> rusqlite::Result<u64> {
    let (conditions, values) = conditions(query);
    let kind = query.kind.as_str();
    let mut all: Vec<&dyn ToSql> = vec![&kind];
    all.extend(values);
    let mut statement = connection.prepare(&format!("SELECT count(*){conditions}"))?;
    statement.query_row(&all[..], |row| row.get::<_, i64>(0)).map(i64::cast_unsigned)
}

pub(super) fn keys(connection: &Connection, kind: Kind, prefix: &str) -> rusqlite::Result<Vec<String>> {
    // `LIKE` would take letters for their capitals, and some of the prefix for wildcards.
    let sql = "SELECT key FROM cells WHERE kind = ?1 AND substr(key, 1, length(?2)) = ?2 ORDER BY key";
    connection.prepare(sql)?.query_map([kind.as_str(), prefix], |row| row.get(0))?.collect()
}

pub(super) fn changes(connection: &Connection, kind: Kind) -> rusqlite::Result<u64> {
    let mut statement = connection.prepare("SELECT count FROM changes WHERE kind = ?1")?;
    let count: Option<i64> = statement.query_row([kind.as_str()], |row| row.get(0)).optional()?;
    Ok(count.unwrap_or(0).cast_unsigned())
}

/// What became of changes.
pub(super) enum Committed {
    /// These versions are kept now.
    As(Vec<u64>),
    /// There are as many of this kind as there may be.
    Full(Kind),
}

/// Makes all changes, or none if one of them comes too late.
pub(super) fn commit(connection: &Connection, changes: &[Change]) -> rusqlite::Result<Option<Committed>> {
    // A key that was revoked, an approval that was used or a token that was rotated must not come back with the power.
    let mut full = None;
    let versions = durably(connection, |transaction| {
        let mut versions = Vec::with_capacity(changes.len());
        for change in changes {
            if change.content.is_some() && change.expected.is_none() && is_full(transaction, change.kind)? {
                full = Some(change.kind);
                return Ok(None);
            }
            let Some(version) = change_one(transaction, change)? else { return Ok(None) };
            versions.push(version);
        }
        Ok(Some(versions))
    })?;
    Ok(match (versions, full) {
        (Some(versions), _) => Some(Committed::As(versions)),
        (None, Some(kind)) => Some(Committed::Full(kind)),
        (None, None) => None,
    })
}

fn is_full(connection: &Connection, kind: Kind) -> rusqlite::Result<bool> {
    Ok(count(connection, &Query::all(kind))? >= CELLS_PER_KIND_MAX as u64)
}

fn change_one(transaction: &Transaction<'_>, change: &Change) -> rusqlite::Result<Option<u64>> {
    let Change { kind, key, expected, content } = change;
    let sql = "SELECT version FROM cells WHERE kind = ?1 AND key = ?2";
    let mut statement = transaction.prepare(sql)?;
    let found = statement.query_row([kind.as_str(), key], |row| row.get(0)).optional()?;
    if found.map(i64::cast_unsigned) != *expected {
        return Ok(None);
    }
    let version = put(transaction, *kind, key, content.as_ref())?;
    Ok(Some(version))
}

/// Puts this in place of whatever is there, and counts the change.
pub(super) fn put(
    connection: &Connection,
    kind: Kind,
    key: &str,
    content: Option<&Content>,
) -> rusqlite::Result<u64> {
    let kind = kind.as_str();
    connection.prepare("DELETE FROM cells WHERE kind = ?1 AND key = ?2")?.execute([kind, key])?;
    let version = match content {
        Some(Content { value, owner, topic, state, ends_at_ms }) => {
            // A new row has a number that no row had before.
            let sql = "INSERT INTO cells (kind, key, value, owner, topic, state, ends_at_ms) \
                       VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
            let values = params![kind, key, value, owner, topic, state, ends_at_ms];
            connection.prepare(sql)?.execute(values)?;
            connection.last_insert_rowid().cast_unsigned()
        }
        None => 0,
    };
    count_changes(connection, kind, 1)?;
    Ok(version)
}

fn count_changes(connection: &Connection, kind: &str, more: usize) -> rusqlite::Result<()> {
    let sql = "INSERT INTO changes (kind, count) VALUES (?1, ?2) \
               ON CONFLICT (kind) DO UPDATE SET count = count + ?2";
    connection.prepare(sql)?.execute(params![kind, more as i64])?;
    Ok(())
}

pub(super) fn remove_ended(connection: &Connection, kind: Kind, by_ms: i64) -> rusqlite::Result<u64> {
    let sql = "DELETE FROM cells WHERE kind = ?1 AND ends_at_ms <= ?2";
    let removed = connection.prepare(sql)?.execute(params![kind.as_str(), by_ms])?;
    if removed > 0 {
        count_changes(connection, kind.as_str(), removed)?;
    }
    Ok(removed as u64)
}
