//! For which servers that folders declare a kept secret may be used: a record beside it, of names of servers and hosts.
//! The user's own servers need none; who refers to a secret there has said so.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use store::Store;

use super::chain;

/// The kind of these records.
const KIND: &str = "secret-use";

/// Most servers and hosts of one secret.
const NAMES_MAX: usize = 1000;

/// How often a record is read anew that another process has changed meanwhile.
const TRIES_MAX: usize = 16;

/// The servers and hosts that one secret is for.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Bound(BTreeSet<String>);

impl Bound {
    /// What is kept of the secret of this name.
    ///
    /// # Errors
    /// A sentence, if it cannot be read.
    pub(crate) fn of(store: &dyn Store, secret: &str) -> Result<Bound, String> {
        found(store, secret).map(|(_, bound)| bound)
    }

    /// Whether it is for the server or host of this name.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.0.contains(name)
    }

    /// All of them, in order.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }
}

/// Lets a secret be used for these servers and hosts as well.
///
/// # Errors
/// A sentence, if that cannot be kept.
pub(crate) fn bind(store: &dyn Store, secret: &str, names: &[String]) -> Result<(), String> {
    change(store, secret, |bound| bound.0.extend(names.iter().map(|name| name.to_ascii_lowercase())))
}

/// Forgets what a secret was for.
///
/// # Errors
/// A sentence, if that cannot be kept.
pub(crate) fn unbind(store: &dyn Store, secret: &str) -> Result<(), String> {
    change(store, secret, |bound| bound.0.clear())
}

fn change(store: &dyn Store, secret: &str, apply: impl Fn(&mut Bound)) -> Result<(), String> {
    for _ in 0..TRIES_MAX {
        let (version, mut bound) = found(store, secret)?;
        apply(&mut bound);
        if bound.0.len() > NAMES_MAX {
            return Err(format!("a secret is for {NAMES_MAX} servers and hosts at most"));
        }
        let text = serde_json::to_string(&bound).expect("names are JSON");
        let value = (!bound.0.is_empty()).then_some(text.as_str());
        if version.is_none() && value.is_none() {
            return Ok(());
        }
        let kept = store.replace_record(KIND, secret, version, value);
        if kept.map_err(|error| format!("what {secret} is for cannot be kept: {}", chain(&error)))?.is_some()
        {
            return Ok(());
        }
    }
    Err(format!("what {secret} is for is being changed by other commands all the time; try again"))
}

fn found(store: &dyn Store, secret: &str) -> Result<(Option<u64>, Bound), String> {
    let unreadable = |why: String| format!("what the kept secret {secret} is for cannot be read: {why}");
    let record = store.record(KIND, secret).map_err(|error| unreadable(chain(&error)))?;
    let Some(record) = record else { return Ok((None, Bound::default())) };
    let bound = serde_json::from_str(&record.value).map_err(|error| unreadable(error.to_string()))?;
    Ok((Some(record.version), bound))
}

#[cfg(test)]
mod tests {
    use store::SqliteStore;

    use super::*;

    #[test]
    fn a_secret_is_for_whom_a_person_has_named() {
        let state = tempfile::tempdir().expect("a folder");
        let store = SqliteStore::at(state.path());
        let is_for = |name: &str| Bound::of(&store, "TOKEN").expect("readable").has(name);
        assert!(!is_for("git"));
        bind(&store, "TOKEN", &["git".to_owned(), "API.example".to_owned()]).expect("kept");
        bind(&store, "TOKEN", &["web".to_owned()]).expect("kept");
        assert!(is_for("git") && is_for("api.example") && is_for("web") && !is_for("gi"));
        assert!(!Bound::of(&store, "OTHER").expect("readable").has("git"));
        unbind(&store, "TOKEN").expect("forgotten");
        assert!(!is_for("git"));
        store.replace_record(KIND, "TOKEN", None, Some("5")).expect("kept");
        assert!(Bound::of(&store, "TOKEN").is_err());
    }
}
