//! Counters.

use rusqlite::{OptionalExtension, params};

use super::database::durably;
use super::sqlite_store::{SqliteStore, within};
use crate::cell::KEY_BYTES_MAX;
use crate::error::{StoreError, Whose};
use crate::reply::Reply;
use crate::store::{COUNTERS_MAX, CounterStore, Period, Taken};

impl CounterStore for SqliteStore {
    fn take(&self, key: &str, wanted: u32, max: u32, period: Period) -> Reply<'_, Taken> {
        let limits = within("the key of a counter", key.len(), KEY_BYTES_MAX);
        let key = key.to_owned();
        // One transaction, so that processes together never count more than `max`. What was counted must not come back
        // with the power.
        let work = move |connection: &_| {
            durably(connection, |transaction| {
                let sql = "SELECT begun_at_ms, count FROM counters WHERE key = ?1";
                let found =
                    transaction.query_row(sql, [&key], |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
                let running = found.filter(|&(begun_at_ms, _)| !period.is_over(begun_at_ms));
                let (begun_at_ms, before): (i64, u32) = running.unwrap_or((period.now_ms, 0));
                if found.is_none() {
                    transaction.execute("DELETE FROM counters WHERE ends_at_ms <= ?1", [period.now_ms])?;
                    let sql = "SELECT count(*) FROM counters";
                    if transaction.query_row(sql, [], |row| row.get::<_, i64>(0))? >= COUNTERS_MAX as i64 {
                        let (kind, max) = ("counter", COUNTERS_MAX);
                        return Err(StoreError::Full { kind, max, of: Whose::All, ends_at_ms: None });
                    }
                }
                let taken = wanted.min(max.saturating_sub(before));
                let count = before.saturating_add(taken);
                let ends_at_ms = begun_at_ms.saturating_add(period.lasts_ms);
                transaction.execute(
                    "INSERT OR REPLACE INTO counters (key, begun_at_ms, ends_at_ms, count) VALUES (?1, ?2, ?3, ?4)",
                    params![key, begun_at_ms, ends_at_ms, count],
                )?;
                transaction.commit()?;
                Ok(Taken { begun_at_ms, taken, count })
            })
        };
        self.run_within(limits, work)
    }
}
