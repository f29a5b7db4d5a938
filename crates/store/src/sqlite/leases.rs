//! Leases.

use rusqlite::params;

use super::sqlite_store::{SqliteStore, within};
use crate::cell::KEY_BYTES_MAX;
use crate::reply::Reply;
use crate::store::{LEASE_MS_MAX, LeaseStore};

impl LeaseStore for SqliteStore {
    fn acquire(&self, key: &str, holder: &str, now_ms: i64, until_ms: i64) -> Reply<'_, bool> {
        let limits = within("the key of a lease", key.len(), KEY_BYTES_MAX)
            .and_then(|()| within("the holder of a lease", holder.len(), KEY_BYTES_MAX));
        let (key, holder) = (key.to_owned(), holder.to_owned());
        let latest_ms = now_ms.saturating_add(LEASE_MS_MAX);
        self.run_within(limits, move |connection| {
            // One statement, so that of two who try at once one finds the other's lease. One beyond the limit was made by
            // a clock that has been put back since.
            let changed = connection.execute(
                "INSERT INTO leases (key, holder, until_ms) VALUES (?1, ?2, ?4) \
                 ON CONFLICT (key) DO UPDATE SET holder = ?2, until_ms = ?4 \
                 WHERE holder = ?2 OR until_ms <= ?3 OR until_ms > ?5",
                params![key, holder, now_ms, until_ms.min(latest_ms), latest_ms],
            )?;
            Ok(changed == 1)
        })
    }

    fn release(&self, key: &str, holder: &str) -> Reply<'_, ()> {
        let (key, holder) = (key.to_owned(), holder.to_owned());
        self.read(move |connection| {
            connection.execute("DELETE FROM leases WHERE key = ?1 AND holder = ?2", [key, holder])?;
            Ok(())
        })
    }
}
