//! `Holders`: which connection knows of a call's state or a task, by the words that the server gave them.

use std::collections::VecDeque;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::sync::{Arc, Mutex, MutexGuard, Weak};

use crate::connection::Connection;

/// Such words that are kept; older ones are forgotten.
const HELD_MAX: usize = 1_000;

/// What connections hold, newest last.
#[derive(Default)]
pub(crate) struct Holders {
    hasher: RandomState,
    held: Mutex<VecDeque<(u64, Weak<Connection>)>>,
}

impl Holders {
    /// The server behind this connection knows what `word` means.
    pub(crate) fn note(&self, word: &str, connection: &Arc<Connection>) {
        let hash = self.hasher.hash_one(word);
        let mut held = self.held();
        held.retain(|(known, connection)| *known != hash && connection.strong_count() > 0);
        if held.len() == HELD_MAX {
            held.pop_front();
        }
        held.push_back((hash, Arc::downgrade(connection)));
    }

    /// The sound connection whose server knows what `word` means.
    pub(crate) fn of(&self, word: &str) -> Option<Arc<Connection>> {
        let hash = self.hasher.hash_one(word);
        let connection = self.held().iter().find(|(known, _)| *known == hash)?.1.upgrade()?;
        (!connection.exchange().closed().is_cancelled()).then_some(connection)
    }

    fn held(&self) -> MutexGuard<'_, VecDeque<(u64, Weak<Connection>)>> {
        self.held.lock().expect("nothing panics while it holds the lock")
    }
}
