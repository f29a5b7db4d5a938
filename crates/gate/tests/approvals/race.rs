//! Two processes that have both seen one permission: one of them uses it.

use std::sync::Barrier;
use std::sync::atomic::AtomicBool;

use store::{
    Cell, CellStore, Change, CounterStore, DefinitionStore, Definitions, Kind, LeaseStore, Period, Query,
    Reply, Taken,
};

use crate::scene::*;

/// A store whose first look at the approvals, once it is armed, ends together with the other process's.
struct Meeting {
    store: SqliteStore,
    is_armed: Arc<AtomicBool>,
    met: AtomicBool,
    barrier: Arc<Barrier>,
}

impl CellStore for Meeting {
    fn cells(&self, query: &Query) -> Reply<'_, Vec<Cell>> {
        let is_met = query.kind == Kind::Approval && self.is_armed.load(Ordering::SeqCst);
        let found = self.store.cells(query);
        Box::pin(async move {
            let found = found.await;
            if is_met && !self.met.swap(true, Ordering::SeqCst) {
                self.barrier.wait();
            }
            found
        })
    }

    fn cell(&self, kind: Kind, key: &str) -> Reply<'_, Option<Cell>> {
        self.store.cell(kind, key)
    }
    fn count(&self, query: &Query) -> Reply<'_, u64> {
        self.store.count(query)
    }
    fn keys(&self, kind: Kind, prefix: &str) -> Reply<'_, Vec<String>> {
        self.store.keys(kind, prefix)
    }
    fn changes(&self, kind: Kind) -> Reply<'_, u64> {
        self.store.changes(kind)
    }
    fn losses(&self) -> u64 {
        self.store.losses()
    }
    fn trouble(&self) -> Option<String> {
        self.store.trouble()
    }
    fn was_any(&self, kind: Kind) -> Reply<'_, bool> {
        self.store.was_any(kind)
    }
    fn commit(&self, changes: Vec<Change>) -> Reply<'_, Option<Vec<u64>>> {
        self.store.commit(changes)
    }
    fn overwrite(&self, kind: Kind, key: &str, value: Vec<u8>) -> Reply<'_, ()> {
        self.store.overwrite(kind, key, value)
    }
    fn remove_ended(&self, kind: Kind, by_ms: i64) -> Reply<'_, u64> {
        self.store.remove_ended(kind, by_ms)
    }
}

impl LeaseStore for Meeting {
    fn acquire(&self, key: &str, holder: &str, now_ms: i64, until_ms: i64) -> Reply<'_, bool> {
        self.store.acquire(key, holder, now_ms, until_ms)
    }
    fn release(&self, key: &str, holder: &str) -> Reply<'_, ()> {
        self.store.release(key, holder)
    }
}

impl DefinitionStore for Meeting {
    fn definitions(&self, upstream: &str, fingerprint: &str) -> Reply<'_, Option<Definitions>> {
        self.store.definitions(upstream, fingerprint)
    }
    fn keep_definitions(&self, definitions: Definitions) -> Reply<'_, ()> {
        self.store.keep_definitions(definitions)
    }
    fn forget_definitions(&self, upstream: &str) -> Reply<'_, ()> {
        self.store.forget_definitions(upstream)
    }
}

impl CounterStore for Meeting {
    fn take(&self, key: &str, wanted: u32, max: u32, period: Period) -> Reply<'_, Taken> {
        self.store.take(key, wanted, max, period)
    }
}

#[tokio::test]
async fn of_two_that_have_seen_a_permission_one_uses_it() {
    let scene = Scene::new();
    let (is_armed, barrier) = (Arc::new(AtomicBool::new(false)), Arc::new(Barrier::new(2)));
    let process = || {
        let store = SqliteStore::at(&scene.folder.path().join("state"));
        let met = AtomicBool::new(false);
        scene.process_over(Arc::new(Meeting {
            store,
            is_armed: is_armed.clone(),
            met,
            barrier: barrier.clone(),
        }))
    };
    let (one, two) = (process(), process());
    let id = one.ask(&local(), "{}").await;
    assert_eq!(one.answer(&id, &once(), &terminal()), "approved");
    is_armed.store(true, Ordering::SeqCst);
    let caller = local();
    let (first, second) = tokio::join!(one.call(&caller, "{}"), two.call(&caller, "{}"));
    let mut ended = [first, second];
    ended.sort();
    assert_eq!(ended, ["approval_required", "ran"]);
    assert_eq!(scene.ran(), 1);
}
