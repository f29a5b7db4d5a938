//! Versioned cells.

use std::sync::atomic::Ordering;

use rusqlite::{Connection, OptionalExtension, Row, ToSql, params};

use super::database::{changes, durably};
use super::sqlite_store::{SqliteStore, within};
use crate::cell::{CELLS_PER_KIND_MAX, Cell, Change, Content, KEY_BYTES_MAX, Kind, PAGE_MAX, Query};
use crate::error::{StoreError, Whose};
use crate::reply::Reply;
use crate::sentinel::Sentinel;
use crate::store::CellStore;

/// Where the losses stand in a count of changes, in bits: above more changes than a disk takes.
const LOSS_SHIFT: u32 = 40;

impl CellStore for SqliteStore {
    fn cell(&self, kind: Kind, key: &str) -> Reply<'_, Option<Cell>> {
        let key = key.to_owned();
        self.read(move |connection| {
            let sql = "SELECT version, key, value FROM cells WHERE kind = ?1 AND key = ?2";
            Ok(connection.prepare(sql)?.query_row([kind.as_str(), &key], stored).optional()?)
        })
    }

    fn cells(&self, query: &Query) -> Reply<'_, Vec<Cell>> {
        let query = query.clone();
        self.read(move |connection| {
            let kind = query.kind.as_str();
            let (conditions, mut values) = conditions(&query, &kind);
            let sql =
                format!("SELECT version, key, value{conditions} AND version > ? ORDER BY version LIMIT ?");
            let (after, limit) = (query.after.cast_signed(), query.limit.min(PAGE_MAX) as i64);
            values.extend([&after as &dyn ToSql, &limit]);
            let cells = connection.prepare(&sql)?.query_map(&values[..], stored)?.collect::<Result<_, _>>();
            Ok(cells?)
        })
    }

    fn count(&self, query: &Query) -> Reply<'_, u64> {
        let query = query.clone();
        self.read(move |connection| count(connection, &query))
    }

    fn keys(&self, kind: Kind, prefix: &str) -> Reply<'_, Vec<String>> {
        let prefix = prefix.to_owned();
        self.read(move |connection| {
            // `LIKE` would take letters for their capitals, and some of the prefix for wildcards.
            let sql =
                "SELECT key FROM cells WHERE kind = ?1 AND substr(key, 1, length(?2)) = ?2 ORDER BY key";
            let mut statement = connection.prepare(sql)?;
            let keys = statement.query_map([kind.as_str(), &prefix], |row| row.get(0))?;
            Ok(keys.collect::<Result<_, _>>()?)
        })
    }

    fn changes(&self, kind: Kind) -> Reply<'_, u64> {
        let losses = self.losses.clone();
        // A database that was begun anew counts from the beginning: its count must not pass for one of before.
        self.read(move |connection| {
            let lost = losses.load(Ordering::Relaxed) << LOSS_SHIFT;
            Ok(lost | changes(connection, kind)?)
        })
    }

    fn losses(&self) -> u64 {
        self.losses.load(Ordering::Relaxed)
    }

    fn trouble(&self) -> Option<String> {
        self.last_write.trouble()
    }

    fn was_any(&self, kind: Kind) -> Reply<'_, bool> {
        Box::pin(async move {
            let has_kept = self.has_kept(kind).await?;
            let Some(sentinel) = Sentinel::of_kind(kind) else { return Ok(has_kept) };
            Ok(has_kept || sentinel.is_in(&self.dir).map_err(StoreError::folder(&self.dir))?)
        })
    }

    fn commit(&self, changes: Vec<Change>) -> Reply<'_, Option<Vec<u64>>> {
        let limits =
            changes.iter().try_for_each(|change| check(change.kind, &change.key, change.content.as_ref()));
        let dir = self.dir.clone();
        self.run_within(limits, move |connection| {
            // A key that was revoked, an approval that was used or a token that was rotated must not come back with the
            // power.
            durably(connection, |transaction| {
                let mut versions = Vec::with_capacity(changes.len());
                for Change { kind, key, expected, content } in &changes {
                    if let (Some(content), None) = (content, expected) {
                        check_room(&transaction, *kind, &content.owner)?;
                    }
                    let sql = "SELECT version FROM cells WHERE kind = ?1 AND key = ?2";
                    let found =
                        transaction.query_row(sql, [kind.as_str(), key], |row| row.get(0)).optional()?;
                    if found.map(i64::cast_unsigned) != *expected {
                        return Ok(None);
                    }
                    versions.push(put(&transaction, *kind, key, content.as_ref())?);
                    // Before the commit, so that no key or secret is kept without it; and not for one that the database does
                    // not take.
                    if let Some(sentinel) = Sentinel::of_cell(*kind, key) {
                        sentinel.make(&dir).map_err(StoreError::unwritten(&dir))?;
                    }
                }
                transaction.commit()?;
                Ok(Some(versions))
            })
        })
    }

    fn overwrite(&self, kind: Kind, key: &str, value: Vec<u8>) -> Reply<'_, ()> {
        let (key, content) = (key.to_owned(), Content::from(value));
        self.run_within(check(kind, &key, Some(&content)), move |connection| {
            let transaction = connection.unchecked_transaction()?;
            put(&transaction, kind, &key, Some(&content))?;
            Ok(transaction.commit()?)
        })
    }

    fn remove_ended(&self, kind: Kind, by_ms: i64) -> Reply<'_, u64> {
        self.read(move |connection| {
            let transaction = connection.unchecked_transaction()?;
            let sql = "DELETE FROM cells WHERE kind = ?1 AND ends_at_ms <= ?2";
            let removed = transaction.execute(sql, params![kind.as_str(), by_ms])?;
            if removed > 0 {
                count_changes(&transaction, kind.as_str(), removed)?;
            }
            transaction.commit()?;
            Ok(removed as u64)
        })
    }
}

fn stored(row: &Row<'_>) -> rusqlite::Result<Cell> {
    Ok(Cell { version: row.get::<_, i64>(0)?.cast_unsigned(), key: row.get(1)?, value: row.get(2)? })
}

/// The conditions of a query in SQL, with their parameters; `kind` is the query's.
fn conditions<'q>(query: &'q Query, kind: &'q &'static str) -> (String, Vec<&'q dyn ToSql>) {
    let mut sql = " FROM cells WHERE kind = ?".to_owned();
    let mut values: Vec<&dyn ToSql> = vec![kind];
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

fn count(connection: &Connection, query: &Query) -> Result<u64, StoreError> {
    let kind = query.kind.as_str();
    let (conditions, values) = conditions(query, &kind);
    let mut statement = connection.prepare(&format!("SELECT count(*){conditions}"))?;
    Ok(statement.query_row(&values[..], |row| row.get::<_, i64>(0)).map(i64::cast_unsigned)?)
}

/// Refuses what is beyond a limit.
fn check(kind: Kind, key: &str, content: Option<&Content>) -> Result<(), StoreError> {
    within("the key of a record", key.len(), KEY_BYTES_MAX)?;
    let Some(Content { value, owner, topic, state, ends_at_ms: _ }) = content else { return Ok(()) };
    for label in [owner, topic, state] {
        within("the label of a record", label.len(), KEY_BYTES_MAX)?;
    }
    within("a record", value.len(), kind.bytes_max())
}

/// Refuses one more cell of a kind of which there are, or of which its owner has, as many as there may be. Looks at a few rows,
/// however many that is.
fn check_room(connection: &Connection, kind: Kind, owner: &str) -> Result<(), StoreError> {
    let counted = |sql: &str, values: &[&dyn ToSql]| -> rusqlite::Result<Option<i64>> {
        Ok(connection.prepare_cached(sql)?.query_row(values, |row| row.get(0)).optional()?.flatten())
    };
    let (word, of_owner_max) = (kind.as_str(), kind.of_owner_max());
    let of_owner = "SELECT count FROM cells_of_owner WHERE kind = ?1 AND owner = ?2";
    if counted(of_owner, &[&word, &owner])?.unwrap_or(0) >= of_owner_max as i64 {
        // The one that has been there for longest.
        let oldest = "SELECT ends_at_ms FROM cells WHERE kind = ?1 AND owner = ?2 AND owner <> '' ORDER BY version LIMIT 1";
        let ends_at_ms = counted(oldest, &[&word, &owner])?;
        return Err(StoreError::Full { kind: word, max: of_owner_max, of: Whose::Owner, ends_at_ms });
    }
    let of_kind = "SELECT count FROM cells_of_kind WHERE kind = ?1";
    if counted(of_kind, &[&word])?.unwrap_or(0) >= CELLS_PER_KIND_MAX as i64 {
        let first = "SELECT min(ends_at_ms) FROM cells WHERE kind = ?1 AND ends_at_ms IS NOT NULL";
        let ends_at_ms = counted(first, &[&word])?;
        return Err(StoreError::Full { kind: word, max: CELLS_PER_KIND_MAX, of: Whose::All, ends_at_ms });
    }
    Ok(())
}

/// Puts this in place of whatever is there, and counts the change.
fn put(connection: &Connection, kind: Kind, key: &str, content: Option<&Content>) -> rusqlite::Result<u64> {
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
