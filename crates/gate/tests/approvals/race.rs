//! Two processes that have both seen one permission: one of them uses it.

use std::sync::Barrier;
use std::sync::atomic::AtomicBool;

use store::{Definitions, Store, StoreError, StoredRecord, StoredSecret};

use crate::scene::*;

/// A store whose first look at the approvals, once it is armed, ends together with the other process's.
struct Meeting {
    store: SqliteStore,
    is_armed: Arc<AtomicBool>,
    met: AtomicBool,
    barrier: Arc<Barrier>,
}

impl Store for Meeting {
    fn records(&self, kind: &str) -> Result<Vec<StoredRecord>, StoreError> {
        let found = self.store.records(kind)?;
        if kind == "approval"
            && self.is_armed.load(Ordering::SeqCst)
            && !self.met.swap(true, Ordering::SeqCst)
        {
            self.barrier.wait();
        }
        Ok(found)
    }

    fn definitions(&self, upstream: &str, fingerprint: &str) -> Result<Option<Definitions>, StoreError> {
        self.store.definitions(upstream, fingerprint)
    }
    fn keep_definitions(&self, definitions: &Definitions) -> Result<(), StoreError> {
        self.store.keep_definitions(definitions)
    }
    fn forget_definitions(&self, upstream: &str) -> Result<(), StoreError> {
        self.store.forget_definitions(upstream)
    }
    fn anchor(&self, key: &str) -> Result<Option<String>, StoreError> {
        self.store.anchor(key)
    }
    fn keep_anchor(&self, key: &str, value: &str) -> Result<(), StoreError> {
        self.store.keep_anchor(key, value)
    }
    fn secret(&self, name: &str) -> Result<Option<StoredSecret>, StoreError> {
        self.store.secret(name)
    }
    fn replace_secret(
        &self,
        name: &str,
        expected: Option<u64>,
        sealed: Option<&[u8]>,
    ) -> Result<Option<u64>, StoreError> {
        self.store.replace_secret(name, expected, sealed)
    }
    fn secret_names(&self, prefix: &str) -> Result<Vec<String>, StoreError> {
        self.store.secret_names(prefix)
    }
    fn record(&self, kind: &str, key: &str) -> Result<Option<StoredRecord>, StoreError> {
        self.store.record(kind, key)
    }
    fn record_changes(&self, kind: &str) -> Result<u64, StoreError> {
        self.store.record_changes(kind)
    }
    fn replace_record(
        &self,
        kind: &str,
        key: &str,
        expected: Option<u64>,
        value: Option<&str>,
    ) -> Result<Option<u64>, StoreError> {
        self.store.replace_record(kind, key, expected, value)
    }
    fn claim(&self, key: &str, holder: &str, now_ms: i64, until_ms: i64) -> Result<bool, StoreError> {
        self.store.claim(key, holder, now_ms, until_ms)
    }
    fn release(&self, key: &str, holder: &str) -> Result<(), StoreError> {
        self.store.release(key, holder)
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
