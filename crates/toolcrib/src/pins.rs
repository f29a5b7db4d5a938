//! `StatePins`: what was accepted of upstreams, kept in the state folder and shared by all processes of its owner.

use std::sync::Arc;

use data_encoding::HEXLOWER;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use gate::Catalog;
use redact::Redactor;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};
use store::{RECORD_BYTES_MAX, Store, StoreError, StoredRecord};
use tokio::task::spawn_blocking;
use upstream::trust::{KeepError, Keeper, Kept, Neighbours, Pins};

use crate::error_chain::chain;

/// The kind of these records.
const KIND: &str = "pin";

/// Who our own tools belong to, in sentences.
pub(crate) const OURSELVES: &str = "Toolcrib";

/// How often a record is read anew that another process has changed while its parts were read.
const TRIES_MAX: usize = 8;

/// Most parts of one record.
const PARTS_MAX: usize = 128;

/// Keeps ledgers in the state folder. Nothing touches the disk until something is asked or kept.
pub(crate) struct StatePins {
    store: Arc<dyn Store>,
    redactor: Redactor,
}

/// What stands in place of a record that is too long for one: where its parts are.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Parts {
    parts: usize,
    /// The SHA-256 of the whole.
    whole: String,
}

/// What it takes to hold definitions back, beside the tools that are in the catalogue.
pub(crate) fn all(store: Arc<dyn Store>, redactor: &Redactor, catalog: &Catalog) -> Pins {
    let neighbours = Neighbours::default();
    let offer = catalog.offer();
    neighbours.say(OURSELVES, offer.tools().iter().map(|tool| tool.definition().name.to_string()).collect());
    let keeper = Arc::new(StatePins::new(store, redactor));
    let redactor = redactor.clone();
    let conceal = Arc::new(move |name: &str| redactor.strike(name).map(|(struck, _)| struck));
    Pins { keeper, neighbours: Arc::new(neighbours), conceal }
}

/// Forgets what is kept under `key`.
pub(crate) fn forget(store: &dyn Store, key: &str) -> Result<(), StoreError> {
    while let Some(head) = store.record(KIND, key)? {
        if replace(store, key, Some(head.version), None)?.is_some() {
            break;
        }
    }
    Ok(())
}

impl StatePins {
    /// Keeps in `store`, without the secrets that `redactor` knows.
    pub(crate) fn new(store: Arc<dyn Store>, redactor: &Redactor) -> StatePins {
        StatePins { store, redactor: redactor.clone() }
    }

    /// Forgets what is kept under `key`, readable or not.
    pub(crate) async fn forget(&self, key: &str) -> Result<(), KeepError> {
        let key = key.to_owned();
        self.run(move |store| forget(store, &key)).await
    }

    /// Runs `work` where the disk may be waited for.
    fn run<'a, T: Send + 'static>(
        &self,
        work: impl FnOnce(&dyn Store) -> Result<T, StoreError> + Send + 'static,
    ) -> BoxFuture<'a, Result<T, KeepError>> {
        let store = self.store.clone();
        let running = spawn_blocking(move || work(&*store));
        let lost = |_| KeepError("the program is ending".to_owned());
        async move { running.await.map_err(lost)?.map_err(|error| KeepError(chain(&error))) }.boxed()
    }
}

impl Keeper for StatePins {
    fn load<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<Option<Kept>, KeepError>> {
        let key = key.to_owned();
        let loaded = self.run(move |store| load(store, &key));
        async move {
            let damaged = || {
                KeepError(
                    "a part of the record is missing; `toolcrib mcp trust NAME --reset` forgets it"
                        .to_owned(),
                )
            };
            loaded.await?.map_or(Ok(None), |found| found.ok_or_else(damaged).map(Some))
        }
        .boxed()
    }

    fn replace<'a>(
        &'a self,
        key: &'a str,
        expected: Option<u64>,
        record: Option<&'a str>,
    ) -> BoxFuture<'a, Result<Option<u64>, KeepError>> {
        let (key, record) = (key.to_owned(), record.map(|record| without_secrets(record, &self.redactor)));
        self.run(move |store| replace(store, &key, expected, record.as_deref()))
    }
}

/// The record without secrets in what it shows of definitions. Their hashes, by which they are known, stay.
fn without_secrets(record: &str, redactor: &Redactor) -> String {
    let value = redactor.json(record.as_bytes()).and_then(|_| serde_json::from_str(record).ok());
    let Some(mut value) = value else { return record.to_owned() };
    strike(&mut value, redactor);
    value.to_string()
}

fn strike(value: &mut Value, redactor: &Redactor) {
    let Value::Object(members) = value else { return };
    for (name, member) in members {
        match member {
            // A definition is a JSON text.
            Value::String(text) if name == "text" => {
                if let Some(struck) = redactor.json(text.as_bytes()) {
                    *text = String::from_utf8_lossy(&struck.bytes).into_owned();
                }
            }
            Value::String(text) if name == "finding" => *text = redactor.text(text).into_owned(),
            inner => strike(inner, redactor),
        }
    }
}

/// What is kept; `Some(None)` if a part of it is missing.
fn load(store: &dyn Store, key: &str) -> Result<Option<Option<Kept>>, StoreError> {
    for _ in 0..TRIES_MAX {
        let Some(head) = store.record(KIND, key)? else { return Ok(None) };
        let Some(parts) = parts_of(&head) else {
            return Ok(Some(Some(Kept { version: head.version, record: head.value })));
        };
        let mut record = String::new();
        for index in 0..parts.parts.min(PARTS_MAX) {
            let part = store.record(KIND, &part_key(key, &parts.whole, index))?;
            record.push_str(&part.map(|part| part.value).unwrap_or_default());
        }
        if digest(&record) == parts.whole {
            return Ok(Some(Some(Kept { version: head.version, record })));
        }
    }
    Ok(Some(None))
}

/// Puts a record in place of another; see [`Keeper::replace`]. A long one is written in parts first, under names of
/// their own, so that the change of the head changes everything at once.
fn replace(
    store: &dyn Store,
    key: &str,
    expected: Option<u64>,
    record: Option<&str>,
) -> Result<Option<u64>, StoreError> {
    let before = store.record(KIND, key)?;
    let old = before.as_ref().and_then(parts_of);
    let mut new = None;
    let head = match record {
        Some(record) if record.len() > RECORD_BYTES_MAX => {
            let parts = write_parts(store, key, record)?;
            let head = serde_json::to_string(&parts).expect("a number and digits can be written");
            new = Some(parts);
            Some(head)
        }
        record => record.map(str::to_owned),
    };
    let replaced = store.replace_record(KIND, key, expected, head.as_deref())?;
    // What is of no use any more: what was there before, or what has come too late, unless somebody else wrote the same.
    let (unused, used) = match replaced {
        Some(_) => (old, new),
        None => (new, store.record(KIND, key)?.as_ref().and_then(parts_of)),
    };
    if let Some(unused) = unused.filter(|unused| used.as_ref().is_none_or(|used| used.whole != unused.whole))
    {
        remove_parts(store, key, &unused)?;
    }
    Ok(replaced)
}

fn write_parts(store: &dyn Store, key: &str, record: &str) -> Result<Parts, StoreError> {
    let whole = digest(record);
    let (mut left, mut parts) = (record, 0);
    while !left.is_empty() {
        let (part, rest) = left.split_at(left.floor_char_boundary(RECORD_BYTES_MAX));
        let part_key = part_key(key, &whole, parts);
        if store.record(KIND, &part_key)?.is_none() {
            // Another process may be writing the same.
            store.replace_record(KIND, &part_key, None, Some(part))?;
        }
        left = rest;
        parts += 1;
    }
    Ok(Parts { parts, whole })
}

fn remove_parts(store: &dyn Store, key: &str, parts: &Parts) -> Result<(), StoreError> {
    for index in 0..parts.parts.min(PARTS_MAX) {
        let key = part_key(key, &parts.whole, index);
        if let Some(part) = store.record(KIND, &key)? {
            // Whoever was faster has removed it, too.
            store.replace_record(KIND, &key, Some(part.version), None)?;
        }
    }
    Ok(())
}

fn parts_of(head: &StoredRecord) -> Option<Parts> {
    serde_json::from_str(&head.value).ok()
}

fn part_key(key: &str, whole: &str, index: usize) -> String {
    format!("{key}#{whole}#{index}")
}

fn digest(record: &str) -> String {
    HEXLOWER.encode(&Sha256::digest(record.as_bytes()))
}

#[cfg(test)]
mod tests {
    use store::SqliteStore;

    use super::*;

    fn stores() -> (tempfile::TempDir, SqliteStore, SqliteStore) {
        let folder = tempfile::tempdir().expect("a folder");
        let state = folder.path().join("state");
        (folder, SqliteStore::at(&state), SqliteStore::at(&state))
    }

    #[track_caller]
    fn kept(store: &SqliteStore, key: &str) -> Kept {
        load(store, key).expect("a store").expect("a record").expect("all parts")
    }

    #[test]
    fn records_of_any_length_are_kept_by_one_of_two_processes() {
        let (_folder, first, second) = stores();
        let long = "ä".repeat(RECORD_BYTES_MAX) + "end";
        let mut version = None;
        for record in ["short", &long, &long.replace("end", "END"), "short again", &long] {
            assert_eq!(
                replace(&second, "k", Some(77), Some(&long)).expect("a store"),
                None,
                "it is too late"
            );
            version = replace(&first, "k", version, Some(record)).expect("a store");
            let kept = kept(&second, "k");
            assert_eq!((Some(kept.version), kept.record.as_str()), (version, record));
            let count = first.records(KIND).expect("a store").len();
            assert_eq!(count, if record.len() > RECORD_BYTES_MAX { 4 } else { 1 }, "nothing is left behind");
        }
        forget(&second, "k").expect("a store");
        assert!(load(&first, "k").expect("a store").is_none());
        assert_eq!(first.records(KIND).expect("a store"), []);
    }

    #[test]
    fn what_is_kept_holds_no_secret_and_the_same_hashes() {
        let redactor = Redactor::new(&redact::Config::default());
        redactor.know("store", vec![crate::secrets::known("KEY", "planted-s3cret\"x")]);
        let definition = r#"{\"description\":\"Uses planted-s3cret\\\"x.\"}"#;
        let record = |definition: &str| {
            format!(
                r#"{{"pins":{{"tool":{{"add":{{"finding":"it says no","shown":{{"at_ms":1,"hash":"5b14","text":"{definition}"}}}}}}}},"version":1}}"#
            )
        };
        let clean = r#"{\"description\":\"Uses [REDACTED:KEY].\"}"#;
        assert_eq!(without_secrets(&record(definition), &redactor), record(clean));
        assert_eq!(without_secrets(&record(clean), &redactor), record(clean));
    }

    #[test]
    fn a_record_without_a_part_is_none() {
        let (_folder, store, _) = stores();
        let long = "x".repeat(RECORD_BYTES_MAX + 1);
        replace(&store, "k", None, Some(&long)).expect("a store");
        let part = part_key("k", &digest(&long), 1);
        let version = store.record(KIND, &part).expect("a store").expect("a part").version;
        store.replace_record(KIND, &part, Some(version), Some("y")).expect("a store");
        assert!(load(&store, "k").expect("a store").expect("a head").is_none());
    }
}
