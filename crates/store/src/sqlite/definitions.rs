//! The definitions of upstreams.

use rusqlite::{OptionalExtension, params};

use super::sqlite_store::{SqliteStore, within};
use crate::definitions::{DEFINITIONS_BYTES_MAX, Definitions, FINGERPRINTS_PER_UPSTREAM_MAX};
use crate::reply::Reply;
use crate::store::DefinitionStore;

impl DefinitionStore for SqliteStore {
    fn definitions(&self, upstream: &str, fingerprint: &str) -> Reply<'_, Option<Definitions>> {
        let (upstream, fingerprint) = (upstream.to_owned(), fingerprint.to_owned());
        self.read(move |connection| {
            let sql = "SELECT upstream, fingerprint, tools_json, fetched_at_ms FROM definitions \
                       WHERE upstream = ?1 AND fingerprint = ?2";
            let found = connection.query_row(sql, [upstream, fingerprint], |row| {
                let (upstream, fingerprint) = (row.get(0)?, row.get(1)?);
                Ok(Definitions { upstream, fingerprint, tools_json: row.get(2)?, fetched_at_ms: row.get(3)? })
            });
            Ok(found.optional()?)
        })
    }

    fn keep_definitions(&self, definitions: Definitions) -> Reply<'_, ()> {
        let Definitions { upstream, fingerprint, tools_json, fetched_at_ms } = definitions;
        let limits = within("a list of tools", tools_json.len(), DEFINITIONS_BYTES_MAX);
        self.run_within(limits, move |connection| {
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
            Ok(transaction.commit()?)
        })
    }

    fn forget_definitions(&self, upstream: &str) -> Reply<'_, ()> {
        let upstream = upstream.to_owned();
        self.read(move |connection| {
            connection.execute("DELETE FROM definitions WHERE upstream = ?1", [upstream])?;
            Ok(())
        })
    }
}
