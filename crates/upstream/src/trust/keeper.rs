//! `Keeper`: where ledgers are kept, shared by all processes of a user.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;

/// What is kept under a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    /// Another one each time the record changes; never one that was used before.
    pub version: u64,
    /// The record.
    pub record: String,
}

/// The keeper failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("what was accepted of servers cannot be read or kept: {0}")]
pub struct KeepError(
    /// Why.
    pub String,
);

/// Keeps one record for each server, for all processes of a user.
pub trait Keeper: Send + Sync {
    /// What is kept under `key`.
    fn load<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<Option<Kept>, KeepError>>;

    /// Puts `record` in place of the one with version `expected` (`None`: where nothing is kept); no record removes it.
    /// Returns the new version (0 after a removal), or nothing, and changes nothing, if something else is kept by now.
    fn replace<'a>(
        &'a self,
        key: &'a str,
        expected: Option<u64>,
        record: Option<&'a str>,
    ) -> BoxFuture<'a, Result<Option<u64>, KeepError>>;
}

/// Keeps records as long as it lives: for tests, and for a look at servers that leaves no trace.
#[derive(Default)]
pub struct InMemory {
    kept: Mutex<Records>,
}

#[derive(Default)]
struct Records {
    by_key: HashMap<String, Kept>,
    last: u64,
    broken: Option<String>,
}

impl InMemory {
    /// From now on it fails for this reason, or works again.
    pub fn break_down(&self, why: Option<&str>) {
        self.kept().broken = why.map(str::to_owned);
    }

    fn kept(&self) -> MutexGuard<'_, Records> {
        self.kept.lock().expect("nothing panics while it holds the lock")
    }

    fn sound(&self) -> Result<MutexGuard<'_, Records>, KeepError> {
        let kept = self.kept();
        match &kept.broken {
            Some(why) => Err(KeepError(why.clone())),
            None => Ok(kept),
        }
    }
}

impl Keeper for InMemory {
    fn load<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<Option<Kept>, KeepError>> {
        let loaded = self.sound().map(|kept| kept.by_key.get(key).cloned());
        async move { loaded }.boxed()
    }

    fn replace<'a>(
        &'a self,
        key: &'a str,
        expected: Option<u64>,
        record: Option<&'a str>,
    ) -> BoxFuture<'a, Result<Option<u64>, KeepError>> {
        let replaced = self.sound().map(|mut kept| {
            if kept.by_key.get(key).map(|kept| kept.version) != expected {
                return None;
            }
            let Some(record) = record else {
                kept.by_key.remove(key);
                return Some(0);
            };
            kept.last += 1;
            let version = kept.last;
            kept.by_key.insert(key.to_owned(), Kept { version, record: record.to_owned() });
            Some(version)
        });
        async move { replaced }.boxed()
    }
}
