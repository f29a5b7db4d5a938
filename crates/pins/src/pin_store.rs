//! `PinStore`: where pins are kept, shared by all processes of a user.

use std::iter::successors;
use std::sync::Arc;

use redact::Redactor;
use store::{CellStore, Change, Kind, StoreError, remove, replace};

use crate::pins::Pins;

/// The pins of every server, by [`Kind::Pin`], without the secrets that definitions hold.
#[derive(Clone)]
pub struct PinStore {
    cells: Arc<dyn CellStore>,
    redactor: Redactor,
}

/// The pin store failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("what was accepted of servers cannot be read or kept: {0}")]
pub struct PinStoreError(String);

impl PinStore {
    /// In these cells, without the secrets that `redactor` knows. Asks nothing of them yet.
    pub fn new(cells: Arc<dyn CellStore>, redactor: &Redactor) -> PinStore {
        PinStore { cells, redactor: redactor.clone() }
    }

    /// The record that is kept under `key`, for [`Pins::read`], and its version.
    ///
    /// # Errors
    /// The store fails.
    pub async fn load(&self, key: &str) -> Result<Option<(u64, Vec<u8>)>, PinStoreError> {
        let cell = self.cells.cell(Kind::Pin, key).await?;
        Ok(cell.map(|cell| (cell.version, cell.value)))
    }

    /// The record of these pins. Their hashes, by which definitions are known, stay as they are; what is shown of
    /// definitions loses its secrets. Takes its time for long ones.
    pub fn record(&self, pins: &Pins) -> Vec<u8> {
        let mut pins = pins.clone();
        for pinned in pins.every_mut() {
            for definition in pinned.accepted.iter_mut().chain(&mut pinned.shown) {
                // The text of a definition is JSON.
                let struck = definition.text.as_ref().and_then(|text| self.redactor.json(text.as_bytes()));
                if let Some(struck) = struck {
                    definition.text = Some(String::from_utf8_lossy(&struck.bytes).into_owned());
                }
            }
            if let Some(finding) = &mut pinned.finding {
                *finding = self.redactor.text(finding).into_owned();
            }
        }
        pins.written().into()
    }

    /// Puts `record` in place of the one with version `expected` (`None`: where nothing is kept). False, and no change,
    /// if something else is kept by now.
    ///
    /// # Errors
    /// The store fails.
    pub async fn replace(
        &self,
        key: &str,
        expected: Option<u64>,
        record: Vec<u8>,
    ) -> Result<bool, PinStoreError> {
        let change = Change::put(Kind::Pin, key, expected, record);
        Ok(replace(&*self.cells, change).await?.is_some())
    }

    /// Removes what is kept under `key`, readable or not.
    ///
    /// # Errors
    /// The store fails.
    pub async fn remove(&self, key: &str) -> Result<(), PinStoreError> {
        remove(&*self.cells, Kind::Pin, key).await?;
        Ok(())
    }
}

impl From<StoreError> for PinStoreError {
    fn from(error: StoreError) -> PinStoreError {
        let error: &dyn std::error::Error = &error;
        let causes = successors(error.source(), |cause| cause.source());
        PinStoreError(causes.fold(error.to_string(), |message, cause| format!("{message}: {cause}")))
    }
}

#[cfg(test)]
mod tests {
    use redact::{Config, Known};
    use serde_json::{Value, json};
    use store::{SqliteStore, VALUE_BYTES_MAX, wait};

    use super::*;

    fn store(folder: &tempfile::TempDir) -> PinStore {
        PinStore::new(Arc::new(SqliteStore::at(folder.path())), &Redactor::new(&Config::default()))
    }

    /// Pins with one tool that reads so.
    fn pins(text: &str) -> Pins {
        let pinned =
            json!({ "shown": { "hash": "5b14", "at_ms": 1, "text": text }, "finding": "it says no" });
        let pins =
            json!({ "version": 1, "first_seen_ms": 0, "seen": [], "pins": { "tool": { "add": pinned } } });
        Pins::read(pins.to_string().as_bytes()).expect("pins")
    }

    #[test]
    fn records_of_any_length_are_kept_by_one_of_two_processes() {
        let folder = tempfile::tempdir().expect("a folder");
        let [first, second] = [(); 2].map(|()| store(&folder));
        let long = "ä".repeat(VALUE_BYTES_MAX) + "end";
        wait(async {
            let mut version = None;
            for text in ["short", &long, &long.replace("end", "END"), "short again", &long] {
                let record = first.record(&pins(text));
                assert!(!second.replace("k", Some(77), record.clone()).await.expect("a store"), "too late");
                assert!(first.replace("k", version, record).await.expect("a store"));
                let (kept, record) = second.load("k").await.expect("a store").expect("a record");
                assert_eq!(Pins::read(&record).expect("pins"), pins(text));
                version = Some(kept);
            }
            second.remove("k").await.expect("a store");
            assert!(first.load("k").await.expect("a store").is_none());
        });
    }

    #[test]
    fn what_is_kept_holds_no_secret_and_the_same_hashes() {
        let folder = tempfile::tempdir().expect("a folder");
        let store = store(&folder);
        let known = Known { name: "KEY".into(), value: "planted-s3cret\"x".into() };
        store.redactor.know("store", vec![known]);
        let shown =
            |text: &str| -> Value { serde_json::from_slice(&store.record(&pins(text))).expect("JSON") };
        let clean = r#"{"description":"Uses [REDACTED:KEY]."}"#;
        let expected: Value = serde_json::from_str(&pins(clean).written()).expect("JSON");
        assert_eq!(shown(r#"{"description":"Uses planted-s3cret\"x."}"#), expected);
        assert_eq!(shown(clean), expected);
    }
}
