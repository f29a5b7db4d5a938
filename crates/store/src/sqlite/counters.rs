//! The statements about counters.

use rusqlite::{Connection, OptionalExtension, params};

use super::durable::durably;
use crate::store::{COUNTERS_MAX, Period, Taken};

/// Counts in one transaction, so that processes together never count more than `max`. Nothing if there are too many
/// counters.
pub(super) fn take(
    connection: &Connection,
    key: &str,
    wanted: u32,
    max: u32,
    period: Period,
) -> rusqlite::Result<Option<Taken>> {
    // What was counted must not come back with the power.
    durably(connection, |transaction| {
        let sql = "SELECT begun_at_ms, count FROM counters WHERE key = ?1";
        let found = transaction.query_row(sql, [key], |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
        let running = found.filter(|&(begun_at_ms, _)| !period.is_over(begun_at_ms));
        let (begun_at_ms, before): (i64, u32) = running.unwrap_or((period.now_ms, 0));
        if found.is_none() {
            transaction.execute("DELETE FROM counters WHERE ends_at_ms <= ?1", [period.now_ms])?;
            let sql = "SELECT count(*) FROM counters";
            if transaction.query_row(sql, [], |row| row.get::<_, i64>(0))? >= COUNTERS_MAX as i64 {
                return Ok(None);
            }
        }
        let taken = wanted.min(max.saturating_sub(before));
        let count = before.saturating_add(taken);
        transaction.execute(
            "INSERT OR REPLACE INTO counters (key, begun_at_ms, ends_at_ms, count) VALUES (?1, ?2, ?3, ?4)",
            params![key, begun_at_ms, begun_at_ms.saturating_add(period.lasts_ms), count],
        )?;
        Ok(Some(Taken { begun_at_ms, taken, count }))
    })
}
