//! For which servers that folders declare a kept secret may be used: a record beside it, of names of servers and hosts.
//! The user's own servers need none; who refers to a secret there has said so.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use store::{Kind, Store};

use crate::records::Record;

/// Most servers and hosts of one secret.
const NAMES_MAX: usize = 1000;

/// The servers and hosts that one secret is for.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Bound(BTreeSet<String>);

impl Bound {
    /// What is kept of the secret of this name.
    ///
    /// # Errors
    /// A sentence, if it cannot be read.
    pub(crate) fn of(store: &dyn Store, secret: &str) -> Result<Bound, String> {
        in_record(store, secret, |record| record.read())
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
    in_record(store, secret, |record| {
        record.change(|bound: &mut Bound| {
            apply(bound);
            match bound.0.len() > NAMES_MAX {
                true => Err(format!("a secret is for {NAMES_MAX} servers and hosts at most")),
                false => Ok(()),
            }
        })
    })
}

fn in_record<T>(store: &dyn Store, secret: &str, work: impl FnOnce(Record<'_>) -> T) -> T {
    let what = format!("what the kept secret {secret} is for");
    work(Record { store, kind: Kind::SecretUse, key: secret, what: &what })
}

#[cfg(test)]
mod tests {
    use store::{CellStore as _, SqliteStore, wait};

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
        wait(store.overwrite(Kind::SecretUse, "TOKEN", b"5".to_vec())).expect("kept");
        assert!(Bound::of(&store, "TOKEN").is_err());
    }
}
