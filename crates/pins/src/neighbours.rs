//! `Neighbours`: who offers tools of which names, so that one that reads like another's is noticed.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, Weak};

use crate::scan::{Patterns, Scanner};

/// Most names that are held against a definition.
const NAMES_MAX: usize = 20_000;

/// The tools' own names, by whose they are. Shared by all upstreams of a run.
#[derive(Default)]
pub struct Neighbours {
    entries: Mutex<Entries>,
    /// What definitions are searched for, as long as somebody searches.
    patterns: Mutex<Weak<Patterns>>,
}

#[derive(Default)]
struct Entries {
    /// How many there have been.
    given: u64,
    /// What is offered at each, by owner and number: one that leaves may have a successor of its own name.
    names: BTreeMap<(Arc<str>, u64), Vec<String>>,
}

/// One server among the others, until it leaves or this is dropped.
pub(crate) struct Neighbour {
    neighbours: Arc<Neighbours>,
    owner: Arc<str>,
    /// Nothing once it has left.
    number: Mutex<Option<u64>>,
}

impl Neighbours {
    /// `owner`, who never leaves, offers tools of these names.
    pub fn say(&self, owner: &str, names: Vec<String>) {
        let mut entries = self.entries();
        let number = entries.next();
        entries.names.insert((owner.into(), number), names);
    }

    /// A server joins, which offers nothing yet.
    pub(crate) fn join(self: &Arc<Neighbours>, owner: &Arc<str>) -> Neighbour {
        let number = self.entries().next();
        Neighbour { neighbours: self.clone(), owner: owner.clone(), number: Mutex::new(Some(number)) }
    }

    /// The owners other than `one`, and their names.
    pub fn beside(&self, one: &str) -> Vec<(String, String)> {
        let entries = self.entries();
        let others = entries.names.iter().filter(|((owner, _), _)| **owner != *one);
        let pairs =
            others.flat_map(|((owner, _), names)| names.iter().map(|name| (owner.to_string(), name.clone())));
        pairs.take(NAMES_MAX).collect()
    }

    /// What searches the definitions of `one`. Several that are made at once share what is costly about it.
    pub(crate) fn scanner(&self, one: &str) -> Scanner {
        let mut shared = self.patterns.lock().expect("nothing panics while it holds the lock");
        let patterns = shared.upgrade().unwrap_or_else(|| Arc::new(Patterns::compile()));
        *shared = Arc::downgrade(&patterns);
        drop(shared);
        Scanner::with(patterns, self.beside(one))
    }

    fn entries(&self) -> MutexGuard<'_, Entries> {
        self.entries.lock().expect("nothing panics while it holds the lock")
    }
}

impl Entries {
    fn next(&mut self) -> u64 {
        self.given += 1;
        self.given
    }
}

impl Neighbour {
    /// The server offers tools of these names, and no others. One that has left offers nothing.
    pub(crate) fn say(&self, names: Vec<String>) {
        let number = self.number();
        let Some(number) = *number else { return };
        self.neighbours.entries().names.insert((self.owner.clone(), number), names);
    }

    /// The server offers nothing any more, whatever is still read of it.
    pub(crate) fn leave(&self) {
        let Some(number) = self.number().take() else { return };
        self.neighbours.entries().names.remove(&(self.owner.clone(), number));
    }

    fn number(&self) -> MutexGuard<'_, Option<u64>> {
        self.number.lock().expect("nothing panics while it holds the lock")
    }
}

impl Drop for Neighbour {
    fn drop(&mut self) {
        self.leave();
    }
}
