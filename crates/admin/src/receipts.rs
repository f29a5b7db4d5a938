//! Receipts: what a person has agreed to of what folders declare, one record for each folder in the user's state. They
//! hold hashes, and what is shown when something changes: names of variables, headers and secrets, and no values.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::{Cell, Kind, Query, Store, every, wait};

use crate::chain;
use crate::record::Record;

/// What they hold, for errors.
const WHAT: &str = "what you have agreed to";

/// What a person has agreed to of one folder, by the keys of its declarations.
pub type Receipts = BTreeMap<String, Receipt>;

/// One agreement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Receipt {
    /// The hash of what was agreed to.
    pub sha256: String,
    /// What it does, without values.
    pub lines: Vec<String>,
    /// The kept secrets that it may use.
    #[serde(default)]
    pub secrets: Vec<String>,
    /// When, in milliseconds since 1970.
    pub agreed_at_ms: i64,
}

/// The receipts of a folder, a path without links.
///
/// # Errors
/// A sentence, if they cannot be read.
pub fn receipts(store: &dyn Store, folder: &Path) -> Result<Receipts, String> {
    record(store, &key(folder)).read()
}

/// Every folder of which something was agreed to.
///
/// # Errors
/// A sentence, if they cannot be read.
pub fn all(store: &dyn Store) -> Result<BTreeMap<PathBuf, Receipts>, String> {
    let unreadable = |why: String| format!("{WHAT} cannot be read: {why}");
    let records = wait(every(store, Query::all(Kind::Trust))).map_err(|error| unreadable(chain(&error)))?;
    let folder = |found: Cell| {
        let receipts = serde_json::from_slice(&found.value).map_err(|error| unreadable(error.to_string()))?;
        Ok((PathBuf::from(found.key), receipts))
    };
    records.into_iter().map(folder).collect()
}

/// Keeps agreements to declarations of a folder.
///
/// # Errors
/// A sentence, if they cannot be kept.
pub fn agree(store: &dyn Store, folder: &Path, new: &[(String, Receipt)]) -> Result<(), String> {
    change(store, folder, |receipts| receipts.extend(new.iter().cloned()))
}

/// Takes every agreement back that concerns the folder. False if there was none.
///
/// # Errors
/// A sentence, if that cannot be kept.
pub fn revoke(store: &dyn Store, folder: &Path) -> Result<bool, String> {
    let mut was_any = false;
    change(store, folder, |receipts| {
        was_any = !receipts.is_empty();
        receipts.clear();
    })?;
    Ok(was_any)
}

fn change(store: &dyn Store, folder: &Path, mut apply: impl FnMut(&mut Receipts)) -> Result<(), String> {
    record(store, &key(folder)).change(|receipts| {
        apply(receipts);
        Ok(())
    })
}

fn record<'a>(store: &'a dyn Store, key: &'a str) -> Record<'a> {
    Record { store, kind: Kind::Trust, key, what: WHAT }
}

/// A folder whose name is no text has one of its own that no other folder has.
fn key(folder: &Path) -> String {
    match folder.to_str() {
        Some(text) => text.to_owned(),
        None => format!("{:?}", folder.as_os_str()),
    }
}

#[cfg(test)]
mod tests {
    use store::{CellStore as _, SqliteStore};

    use super::*;

    fn receipt(sha256: &str) -> Receipt {
        Receipt {
            sha256: sha256.to_owned(),
            lines: vec!["starts x".into()],
            secrets: vec![],
            agreed_at_ms: 1,
        }
    }

    #[test]
    fn an_agreement_is_kept_replaced_and_taken_back() {
        let state = tempfile::tempdir().expect("a folder");
        let store = SqliteStore::at(state.path());
        let (one, other) = (Path::new("/one"), Path::new("/other"));
        assert_eq!(receipts(&store, one), Ok(Receipts::default()));
        assert_eq!(revoke(&store, one), Ok(false));
        for sha256 in ["a", "b"] {
            agree(&store, one, &[("toolcrib.toml mcp.x".to_owned(), receipt(sha256))]).expect("kept");
            let kept = receipts(&store, one).expect("readable");
            assert_eq!(kept.get("toolcrib.toml mcp.x"), Some(&receipt(sha256)));
        }
        agree(&store, other, &[("toolcrib.toml mcp.x".to_owned(), receipt("c"))]).expect("kept");
        let folders: Vec<_> = all(&store).expect("readable").into_keys().collect();
        assert_eq!(folders, [one, other]);
        assert_eq!(revoke(&store, one), Ok(true));
        assert_eq!(receipts(&store, one), Ok(Receipts::default()));
        assert!(!receipts(&store, other).expect("readable").is_empty());
    }

    #[test]
    fn what_cannot_be_read_is_no_agreement() {
        let state = tempfile::tempdir().expect("a folder");
        let store = SqliteStore::at(state.path());
        wait(store.overwrite(Kind::Trust, "/one", b"{\"x\":1}".to_vec())).expect("kept");
        let why = receipts(&store, Path::new("/one")).expect_err("no receipts");
        assert!(why.starts_with("what you have agreed to cannot be read: "), "{why}");
        assert!(agree(&store, Path::new("/one"), &[]).is_err());
    }
}
