//! The statements about leases.

use rusqlite::{Connection, params};

use crate::store::LEASE_MS_MAX;

pub(super) fn acquire(
    connection: &Connection,
    key: &str,
    holder: &str,
    now_ms: i64,
    until_ms: i64,
) -> rusqlite::Result<bool> {
    let latest_ms = now_ms.saturating_add(LEASE_MS_MAX);
    // One statement, so that of two who try at once one finds the other's lease. One beyond the limit was made by a
    // clock that has been put back since.
    let changed = connection.execute(
        "INSERT INTO leases (key, holder, until_ms) VALUES (?1, ?2, ?4) \
         ON CONFLICT (key) DO UPDATE SET holder = ?2, until_ms = ?4 \
         WHERE holder = ?2 OR until_ms <= ?3 OR until_ms > ?5",
        params![key, holder, now_ms, until_ms.min(latest_ms), latest_ms],
    )?;
    Ok(changed == 1)
}

pub(super) fn release(connection: &Connection, key: &str, holder: &str) -> rusqlite::Result<()> {
    connection.execute("DELETE FROM leases WHERE key = ?1 AND holder = ?2", [key, holder])?;
    Ok(())
}
