//! A store that stops to work at a chosen moment.

use std::sync::atomic::{AtomicU64, Ordering};

use store::{Definitions, SqliteStore, Store, StoreError, StoredRecord, StoredSecret};

/// The uses from the `first` (counted from 1) to the `last` fail.
pub(crate) struct Failing {
    pub(crate) kept: SqliteStore,
    pub(crate) first: u64,
    pub(crate) last: AtomicU64,
    /// True if what is said to have failed was done.
    pub(crate) is_done: bool,
    pub(crate) made: AtomicU64,
}

impl Failing {
    fn pass<T>(&self, work: impl FnOnce(&SqliteStore) -> Result<T, StoreError>) -> Result<T, StoreError> {
        let nth = self.made.fetch_add(1, Ordering::SeqCst) + 1;
        if !(self.first..=self.last.load(Ordering::SeqCst)).contains(&nth) {
            return work(&self.kept);
        }
        if self.is_done {
            work(&self.kept)?;
        }
        Err(StoreError::Busy { file: "toolcrib.db" })
    }
}

impl Store for Failing {
    fn definitions(&self, upstream: &str, fingerprint: &str) -> Result<Option<Definitions>, StoreError> {
        self.pass(|kept| kept.definitions(upstream, fingerprint))
    }

    fn keep_definitions(&self, definitions: &Definitions) -> Result<(), StoreError> {
        self.pass(|kept| kept.keep_definitions(definitions))
    }

    fn forget_definitions(&self, upstream: &str) -> Result<(), StoreError> {
        self.pass(|kept| kept.forget_definitions(upstream))
    }

    fn anchor(&self, key: &str) -> Result<Option<String>, StoreError> {
        self.pass(|kept| kept.anchor(key))
    }

    fn keep_anchor(&self, key: &str, value: &str) -> Result<(), StoreError> {
        self.pass(|kept| kept.keep_anchor(key, value))
    }

    fn secret(&self, name: &str) -> Result<Option<StoredSecret>, StoreError> {
        self.pass(|kept| kept.secret(name))
    }

    fn replace_secret(
        &self,
        name: &str,
        expected: Option<u64>,
        sealed: Option<&[u8]>,
    ) -> Result<Option<u64>, StoreError> {
        self.pass(|kept| kept.replace_secret(name, expected, sealed))
    }

    fn secret_names(&self, prefix: &str) -> Result<Vec<String>, StoreError> {
        self.pass(|kept| kept.secret_names(prefix))
    }

    fn record(&self, kind: &str, key: &str) -> Result<Option<StoredRecord>, StoreError> {
        self.pass(|kept| kept.record(kind, key))
    }

    fn records(&self, kind: &str) -> Result<Vec<StoredRecord>, StoreError> {
        self.pass(|kept| kept.records(kind))
    }

    fn record_changes(&self, kind: &str) -> Result<u64, StoreError> {
        self.pass(|kept| kept.record_changes(kind))
    }

    fn replace_record(
        &self,
        kind: &str,
        key: &str,
        expected: Option<u64>,
        value: Option<&str>,
    ) -> Result<Option<u64>, StoreError> {
        self.pass(|kept| kept.replace_record(kind, key, expected, value))
    }

    fn claim(&self, key: &str, holder: &str, now_ms: i64, until_ms: i64) -> Result<bool, StoreError> {
        self.pass(|kept| kept.claim(key, holder, now_ms, until_ms))
    }

    fn release(&self, key: &str, holder: &str) -> Result<(), StoreError> {
        self.pass(|kept| kept.release(key, holder))
    }
}
