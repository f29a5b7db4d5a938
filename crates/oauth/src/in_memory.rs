//! A token store that forgets everything at the end of the process: for tests, and for runs that must leave nothing.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::{self, BoxFuture};
use tokio::time::Instant;

use crate::token_store::{StoredRecord, TokenStore, TokenStoreError};
use crate::unfinished::Unfinished;

/// Keeps records in memory.
#[derive(Default)]
pub struct InMemory {
    state: Mutex<Records>,
    unfinished: Unfinished,
}

#[derive(Default)]
struct Records {
    last_version: u64,
    records: HashMap<String, StoredRecord>,
    leases: HashMap<String, (String, Instant)>,
}

impl InMemory {
    fn lock(&self) -> MutexGuard<'_, Records> {
        self.state.lock().expect("nothing panics while it holds the lock")
    }
}

impl TokenStore for InMemory {
    fn load<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<Option<StoredRecord>, TokenStoreError>> {
        future::ready(Ok(self.lock().records.get(key).cloned())).boxed()
    }

    fn replace<'a>(
        &'a self,
        key: &'a str,
        expected: Option<u64>,
        record: Option<&'a [u8]>,
    ) -> BoxFuture<'a, Result<Option<u64>, TokenStoreError>> {
        let mut state = self.lock();
        if state.records.get(key).map(|kept| kept.version) != expected {
            return future::ready(Ok(None)).boxed();
        }
        let Some(record) = record else {
            state.records.remove(key);
            return future::ready(Ok(Some(0))).boxed();
        };
        state.last_version += 1;
        let version = state.last_version;
        state.records.insert(key.to_owned(), StoredRecord { version, record: record.to_owned() });
        future::ready(Ok(Some(version))).boxed()
    }

    fn acquire<'a>(
        &'a self,
        key: &'a str,
        holder: &'a str,
        time: Duration,
    ) -> BoxFuture<'a, Result<bool, TokenStoreError>> {
        let mut state = self.lock();
        let now = Instant::now();
        let is_free = state.leases.get(key).is_none_or(|(other, until)| other == holder || *until <= now);
        if is_free {
            state.leases.insert(key.to_owned(), (holder.to_owned(), now + time));
        }
        future::ready(Ok(is_free)).boxed()
    }

    fn release<'a>(&'a self, key: &'a str, holder: &'a str) -> BoxFuture<'a, Result<(), TokenStoreError>> {
        let mut state = self.lock();
        if state.leases.get(key).is_some_and(|(other, _)| other == holder) {
            state.leases.remove(key);
        }
        future::ready(Ok(())).boxed()
    }

    fn keys<'a>(&'a self, prefix: &'a str) -> BoxFuture<'a, Result<Vec<String>, TokenStoreError>> {
        let state = self.lock();
        let mut keys: Vec<String> =
            state.records.keys().filter(|key| key.starts_with(prefix)).cloned().collect();
        keys.sort_unstable();
        future::ready(Ok(keys)).boxed()
    }

    fn remove<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<bool, TokenStoreError>> {
        future::ready(Ok(self.lock().records.remove(key).is_some())).boxed()
    }

    fn unfinished(&self) -> &Unfinished {
        &self.unfinished
    }
}
