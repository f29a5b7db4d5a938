//! `Neighbours`: who offers tools of which names, so that one that reads like another's is noticed.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, Weak};

use crate::scan::{Patterns, Scanner};

/// Most names that are held against a definition.
const NAMES_MAX: usize = 20_000;

/// The tools' own names, by whose they are. Shared by all upstreams of a run.
#[derive(Default)]
pub struct Neighbours {
    /// Who never leaves.
    own: Option<Own>,
    entries: Mutex<Entries>,
    /// What definitions are searched for, as long as somebody searches.
    patterns: Mutex<Weak<Patterns>>,
}

struct Own {
    owner: Arc<str>,
    /// Makes the names that they offer tools of.
    names: fn() -> Vec<String>,
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
    number: u64,
}

impl Neighbours {
    /// Those of `owner`, who never leaves and offers tools of these names. They are made once something is held against them:
    /// who has no servers needs none.
    pub fn of(owner: &str, names: fn() -> Vec<String>) -> Neighbours {
        Neighbours { own: Some(Own { owner: owner.into(), names }), ..Neighbours::default() }
    }

    /// A server joins, which offers nothing yet.
    pub(crate) fn join(self: &Arc<Neighbours>, owner: &Arc<str>) -> Neighbour {
        Neighbour { neighbours: self.clone(), owner: owner.clone(), number: self.add(owner) }
    }

    fn add(&self, owner: &Arc<str>) -> u64 {
        let mut entries = self.entries();
        entries.given += 1;
        let number = entries.given;
        entries.names.insert((owner.clone(), number), Vec::new());
        number
    }

    /// The owners other than `one`, and their names.
    pub fn beside(&self, one: &str) -> Vec<(String, String)> {
        let entries = self.entries();
        let own = self.own.iter().flat_map(|own| (own.names)().into_iter().map(|name| (&own.owner, name)));
        let servers = entries
            .names
            .iter()
            .flat_map(|((owner, _), names)| names.iter().map(move |name| (owner, name.clone())));
        let others = own.chain(servers).filter(|(owner, _)| ***owner != *one);
        let pairs = others.map(|(owner, name)| (owner.to_string(), name));
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

impl Neighbour {
    /// The server offers tools of these names, and no others. One that has left offers nothing.
    pub(crate) fn say(&self, names: Vec<String>) {
        let key = (self.owner.clone(), self.number);
        self.neighbours.entries().names.entry(key).and_modify(|known| *known = names);
    }

    /// The server offers nothing any more, whatever is still read of it.
    pub(crate) fn leave(&self) {
        self.neighbours.entries().names.remove(&(self.owner.clone(), self.number));
    }
}

impl Drop for Neighbour {
    fn drop(&mut self) {
        self.leave();
    }
}
