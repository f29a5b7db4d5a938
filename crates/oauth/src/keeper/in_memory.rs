//! A keeper that forgets everything at the end of the process: for tests, and for runs that must leave nothing.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::{self, BoxFuture};
use tokio::time::Instant;

use super::{KeepError, Keeper, Kept};
use crate::unfinished::Unfinished;

/// Keeps records in memory.
#[derive(Default)]
pub struct InMemory {
    state: Mutex<State>,
    unfinished: Unfinished,
}

#[derive(Default)]
struct State {
    last_version: u64,
    records: HashMap<String, Kept>,
    claims: HashMap<String, (String, Instant)>,
}

impl InMemory {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("nothing panics while it holds the lock")
    }
}

impl Keeper for InMemory {
    fn load<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<Option<Kept>, KeepError>> {
        future::ready(Ok(self.lock().records.get(key).cloned())).boxed()
    }

    fn replace<'a>(
        &'a self,
        key: &'a str,
        expected: Option<u64>,
        record: Option<&'a [u8]>,
    ) -> BoxFuture<'a, Result<Option<u64>, KeepError>> {
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
        state.records.insert(key.to_owned(), Kept { version, record: record.to_owned() });
        future::ready(Ok(Some(version))).boxed()
    }

    fn claim<'a>(
        &'a self,
        key: &'a str,
        holder: &'a str,
        time: Duration,
    ) -> BoxFuture<'a, Result<bool, KeepError>> {
        let mut state = self.lock();
        let now = Instant::now();
        let is_free = state.claims.get(key).is_none_or(|(other, until)| other == holder || *until <= now);
        if is_free {
            state.claims.insert(key.to_owned(), (holder.to_owned(), now + time));
        }
        future::ready(Ok(is_free)).boxed()
    }

    fn release<'a>(&'a self, key: &'a str, holder: &'a str) -> BoxFuture<'a, Result<(), KeepError>> {
        let mut state = self.lock();
        if state.claims.get(key).is_some_and(|(other, _)| other == holder) {
            state.claims.remove(key);
        }
        future::ready(Ok(())).boxed()
    }

    fn keys<'a>(&'a self, prefix: &'a str) -> BoxFuture<'a, Result<Vec<String>, KeepError>> {
        let state = self.lock();
        let mut keys: Vec<String> =
            state.records.keys().filter(|key| key.starts_with(prefix)).cloned().collect();
        keys.sort_unstable();
        future::ready(Ok(keys)).boxed()
    }

    fn remove<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<bool, KeepError>> {
        future::ready(Ok(self.lock().records.remove(key).is_some())).boxed()
    }

    fn unfinished(&self) -> &Unfinished {
        &self.unfinished
    }
}
