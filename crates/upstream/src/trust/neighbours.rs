//! `Neighbours`: who offers tools of which names, so that one that reads like another's is noticed.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, Weak};

use super::Scanner;
use super::scan::Patterns;

/// Most names that are held against a definition.
const NAMES_MAX: usize = 20_000;

/// The tools' own names, by whose they are. Shared by all upstreams of a run.
#[derive(Default)]
pub struct Neighbours {
    names: Mutex<BTreeMap<String, Vec<String>>>,
    /// What definitions are searched for, as long as somebody searches.
    patterns: Mutex<Weak<Patterns>>,
}

impl Neighbours {
    /// `owner` offers tools of these names, and no others.
    pub fn say(&self, owner: &str, names: Vec<String>) {
        self.names().insert(owner.to_owned(), names);
    }

    /// The owners other than `one`, and their names.
    pub fn beside(&self, one: &str) -> Vec<(String, String)> {
        let names = self.names();
        let others = names.iter().filter(|(owner, _)| *owner != one);
        let pairs =
            others.flat_map(|(owner, names)| names.iter().map(move |name| (owner.clone(), name.clone())));
        pairs.take(NAMES_MAX).collect()
    }

    /// What searches the definitions of `one`. Several that are made at once share what is costly about it.
    pub(super) fn scanner(&self, one: &str) -> Scanner {
        let mut shared = self.patterns.lock().expect("nothing panics while it holds the lock");
        let patterns = shared.upgrade().unwrap_or_else(|| Arc::new(Patterns::compile()));
        *shared = Arc::downgrade(&patterns);
        drop(shared);
        Scanner::with(patterns, self.beside(one))
    }

    fn names(&self) -> MutexGuard<'_, BTreeMap<String, Vec<String>>> {
        self.names.lock().expect("nothing panics while it holds the lock")
    }
}
