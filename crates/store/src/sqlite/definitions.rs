//! The statements about definitions.

use rusqlite::{Connection, OptionalExtension, params};

use crate::definitions::{Definitions, FINGERPRINTS_PER_UPSTREAM_MAX};

pub(super) fn definitions(
    connection: &Connection,
    upstream: &str,
    fingerprint: &str,
) -> rusqlite::Result<Option<Definitions>> {
    let sql = "SELECT upstream, fingerprint, tools_json, fetched_at_ms FROM definitions \
               WHERE upstream = ?1 AND fingerprint = ?2";
    let found = connection.query_row(sql, [upstream, fingerprint], |row| {
        let (upstream, fingerprint) = (row.get(0)?, row.get(1)?);
        Ok(Definitions { upstream, fingerprint, tools_json: row.get(2)?, fetched_at_ms: row.get(3)? })
    });
    found.optional()
}

pub(super) fn keep(connection: &Connection, definitions: &Definitions) -> rusqlite::Result<()> {
    let Definitions { upstream, fingerprint, tools_json, fetched_at_ms } = definitions;
    let transaction = connection.unchecked_transaction()?;
    transaction.execute(
        "INSERT OR REPLACE INTO definitions (upstream, fingerprint, tools_json, fetched_at_ms) \
         VALUES (?1, ?2, ?3, ?4)",
        params![upstream, fingerprint, tools_json, fetched_at_ms],
    )?;
    // What was just kept stays even if the clock went back.
    transaction.execute(
        "DELETE FROM definitions WHERE upstream = ?1 AND fingerprint IN ( \
             SELECT fingerprint FROM definitions WHERE upstream = ?1 AND fingerprint <> ?2 \
             ORDER BY fetched_at_ms DESC LIMIT -1 OFFSET ?3)",
        params![upstream, fingerprint, FINGERPRINTS_PER_UPSTREAM_MAX as i64 - 1],
    )?;
    transaction.commit()
}

pub(super) fn forget(connection: &Connection, upstream: &str) -> rusqlite::Result<()> {
    connection.execute("DELETE FROM definitions WHERE upstream = ?1", [upstream])?;
    Ok(())
}
