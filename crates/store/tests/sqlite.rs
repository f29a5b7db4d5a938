//! The suite that every backend must pass, over SQLite.
#![expect(clippy::unwrap_used, reason = "a helper of a test stops the test")]

#[path = "suite/suite.rs"]
mod suite;

use store::SqliteStore;

#[test]
fn keeps_what_every_store_must_keep() {
    suite::check(|| {
        let dir = tempfile::tempdir().unwrap();
        (SqliteStore::at(dir.path()), SqliteStore::at(dir.path()), dir)
    });
}
