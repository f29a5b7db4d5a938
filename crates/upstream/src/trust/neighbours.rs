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
    places: Mutex<Places>,
    /// What definitions are searched for, as long as somebody searches.
    patterns: Mutex<Weak<Patterns>>,
}

#[derive(Default)]
struct Places {
    /// How many there have been.
    given: u64,
    /// What is offered at each, by owner and number: one that leaves may have a successor of its own name.
    names: BTreeMap<(Arc<str>, u64), Vec<String>>,
}

/// Where one server stands among its neighbours, until it leaves or this is dropped.
pub(super) struct Place {
    neighbours: Arc<Neighbours>,
    owner: Arc<str>,
    /// Nothing once it has left.
    number: Mutex<Option<u64>>,
}

impl Neighbours {
    /// `owner`, who never leaves, offers tools of these names.
    pub fn say(&self, owner: &str, names: Vec<String>) {
        let mut places = self.places();
        let number = places.next();
        places.names.insert((owner.into(), number), names);
    }

    /// A place for a server, which offers nothing yet.
    pub(super) fn place(self: &Arc<Neighbours>, owner: &Arc<str>) -> Place {
        let number = self.places().next();
        Place { neighbours: self.clone(), owner: owner.clone(), number: Mutex::new(Some(number)) }
    }

    /// The owners other than `one`, and their names.
    pub fn beside(&self, one: &str) -> Vec<(String, String)> {
        let places = self.places();
        let others = places.names.iter().filter(|((owner, _), _)| **owner != *one);
        let pairs =
            others.flat_map(|((owner, _), names)| names.iter().map(|name| (owner.to_string(), name.clone())));
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

    fn places(&self) -> MutexGuard<'_, Places> {
        self.places.lock().expect("nothing panics while it holds the lock")
    }
}

impl Places {
    fn next(&mut self) -> u64 {
        self.given += 1;
        self.given
    }
}

impl Place {
    /// The server offers tools of these names, and no others. One that has left offers nothing.
    pub(super) fn say(&self, names: Vec<String>) {
        let number = self.number();
        let Some(number) = *number else { return };
        self.neighbours.places().names.insert((self.owner.clone(), number), names);
    }

    /// The server offers nothing any more, whatever is still read of it.
    pub(super) fn leave(&self) {
        let Some(number) = self.number().take() else { return };
        self.neighbours.places().names.remove(&(self.owner.clone(), number));
    }

    fn number(&self) -> MutexGuard<'_, Option<u64>> {
        self.number.lock().expect("nothing panics while it holds the lock")
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.leave();
    }
}
