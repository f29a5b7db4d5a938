//! A store that stops to work at a chosen moment.

use std::sync::atomic::{AtomicU64, Ordering};

use store::{
    Cell, CellStore, Change, CounterStore, DefinitionStore, Definitions, Kind, LeaseStore, Period, Query,
    Reply, SqliteStore, StoreError, Taken,
};

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
    fn pass<'a, T: Send + 'a>(&'a self, work: impl FnOnce(&'a SqliteStore) -> Reply<'a, T>) -> Reply<'a, T> {
        let nth = self.made.fetch_add(1, Ordering::SeqCst) + 1;
        let fails = (self.first..=self.last.load(Ordering::SeqCst)).contains(&nth);
        let done = (!fails || self.is_done).then(|| work(&self.kept));
        Box::pin(async move {
            let done = match done {
                Some(done) => Some(done.await?),
                None => None,
            };
            done.filter(|_| !fails).ok_or(StoreError::Busy)
        })
    }
}

impl CellStore for Failing {
    fn cell(&self, kind: Kind, key: &str) -> Reply<'_, Option<Cell>> {
        self.pass(|kept| kept.cell(kind, key))
    }

    fn cells(&self, query: &Query) -> Reply<'_, Vec<Cell>> {
        self.pass(|kept| kept.cells(query))
    }

    fn count(&self, query: &Query) -> Reply<'_, u64> {
        self.pass(|kept| kept.count(query))
    }

    fn keys(&self, kind: Kind, prefix: &str) -> Reply<'_, Vec<String>> {
        self.pass(|kept| kept.keys(kind, prefix))
    }

    fn changes(&self, kind: Kind) -> Reply<'_, u64> {
        self.pass(|kept| kept.changes(kind))
    }

    fn losses(&self) -> u64 {
        self.kept.losses()
    }

    fn trouble(&self) -> Option<String> {
        self.kept.trouble()
    }

    fn was_any(&self, kind: Kind) -> Reply<'_, bool> {
        self.pass(|kept| kept.was_any(kind))
    }

    fn commit(&self, changes: Vec<Change>) -> Reply<'_, Option<Vec<u64>>> {
        self.pass(|kept| kept.commit(changes))
    }

    fn overwrite(&self, kind: Kind, key: &str, value: Vec<u8>) -> Reply<'_, ()> {
        self.pass(|kept| kept.overwrite(kind, key, value))
    }

    fn remove_ended(&self, kind: Kind, by_ms: i64) -> Reply<'_, u64> {
        self.pass(|kept| kept.remove_ended(kind, by_ms))
    }
}

impl LeaseStore for Failing {
    fn acquire(&self, key: &str, holder: &str, now_ms: i64, until_ms: i64) -> Reply<'_, bool> {
        self.pass(|kept| kept.acquire(key, holder, now_ms, until_ms))
    }

    fn release(&self, key: &str, holder: &str) -> Reply<'_, ()> {
        self.pass(|kept| kept.release(key, holder))
    }
}

impl DefinitionStore for Failing {
    fn definitions(&self, upstream: &str, fingerprint: &str) -> Reply<'_, Option<Definitions>> {
        self.pass(|kept| kept.definitions(upstream, fingerprint))
    }

    fn keep_definitions(&self, definitions: Definitions) -> Reply<'_, ()> {
        self.pass(|kept| kept.keep_definitions(definitions))
    }

    fn forget_definitions(&self, upstream: &str) -> Reply<'_, ()> {
        self.pass(|kept| kept.forget_definitions(upstream))
    }
}

impl CounterStore for Failing {
    fn take(&self, key: &str, wanted: u32, max: u32, period: Period) -> Reply<'_, Taken> {
        self.pass(|kept| kept.take(key, wanted, max, period))
    }
}
