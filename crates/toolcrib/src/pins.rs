//! `StatePins`: what was accepted of upstreams, kept in the state folder and shared by all processes of its owner.

use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use gate::Catalog;
use redact::Redactor;
use serde_json::Value;
use store::{Change, Kind, Store, StoreError, remove, replace};
use upstream::trust::{KeepError, Keeper, Kept, Neighbours, Pins};

use crate::error_chain::chain;

/// Who our own tools belong to, in sentences.
pub(crate) const OURSELVES: &str = "Toolcrib";

/// Pins in the state folder. Nothing touches the disk until something is asked or kept.
pub(crate) struct StatePins {
    store: Arc<dyn Store>,
    redactor: Redactor,
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

impl StatePins {
    /// Keeps in `store`, without the secrets that `redactor` knows.
    pub(crate) fn new(store: Arc<dyn Store>, redactor: &Redactor) -> StatePins {
        StatePins { store, redactor: redactor.clone() }
    }

    /// Forgets what is kept under `key`, readable or not.
    pub(crate) async fn forget(&self, key: &str) -> Result<(), KeepError> {
        remove(&*self.store, Kind::Pin, key).await.map(drop).map_err(cannot)
    }
}

fn cannot(error: StoreError) -> KeepError {
    KeepError(chain(&error))
}

impl Keeper for StatePins {
    fn load<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<Option<Kept>, KeepError>> {
        async move {
            let Some(found) = self.store.cell(Kind::Pin, key).await.map_err(cannot)? else { return Ok(None) };
            let unreadable = |_| {
                let why = "the record is no text; `toolcrib mcp trust NAME --reset` forgets it";
                KeepError(why.to_owned())
            };
            let record = String::from_utf8(found.value).map_err(unreadable)?;
            Ok(Some(Kept { version: found.version, record }))
        }
        .boxed()
    }

    fn replace<'a>(
        &'a self,
        key: &'a str,
        expected: Option<u64>,
        record: Option<&'a str>,
    ) -> BoxFuture<'a, Result<Option<u64>, KeepError>> {
        async move {
            let content = record.map(|record| without_secrets(record, &self.redactor).into());
            let change = Change { kind: Kind::Pin, key: key.to_owned(), expected, content };
            replace(&*self.store, change).await.map_err(cannot)
        }
        .boxed()
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

#[cfg(test)]
mod tests {
    use store::{CellStore as _, SqliteStore, VALUE_BYTES_MAX};

    use super::*;

    #[test]
    fn records_of_any_length_are_kept_by_one_of_two_processes() {
        let folder = tempfile::tempdir().expect("a folder");
        let redactor = Redactor::new(&redact::Config::default());
        let [first, second] =
            [(); 2].map(|()| StatePins::new(Arc::new(SqliteStore::at(folder.path())), &redactor));
        let long = "ä".repeat(VALUE_BYTES_MAX) + "end";
        crate::runtime::run(async {
            let mut version = None;
            for record in ["short", &long, &long.replace("end", "END"), "short again", &long] {
                assert_eq!(
                    second.replace("k", Some(77), Some(&long)).await.expect("a store"),
                    None,
                    "too late"
                );
                version = first.replace("k", version, Some(record)).await.expect("a store");
                let kept = second.load("k").await.expect("a store").expect("a record");
                assert_eq!((Some(kept.version), kept.record.as_str()), (version, record));
            }
            second.forget("k").await.expect("a store");
            assert!(first.load("k").await.expect("a store").is_none());
        })
        .expect("a runtime");
    }

    #[test]
    fn a_record_that_is_no_text_says_how_it_is_forgotten() {
        let folder = tempfile::tempdir().expect("a folder");
        let store = Arc::new(SqliteStore::at(folder.path()));
        let pins = StatePins::new(store.clone(), &Redactor::new(&redact::Config::default()));
        let why = crate::runtime::run(async {
            store.overwrite(Kind::Pin, "k", vec![0xff]).await.expect("a store");
            pins.load("k").await.map(drop)
        });
        let why = why.expect("a runtime").expect_err("no text").to_string();
        assert!(why.contains("--reset"), "{why}");
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
}
