//! Connections beside the first, with `isolation`: one for each caller or session and each set of capabilities, which
//! a legacy server is told truthfully. For a program every such connection is a process of its own. The first
//! connection reads the lists and hears the news.
//!
//! Without `isolation` everybody shares the first. A legacy server learns once, at the handshake, what its client can
//! do. It is told that everything can be done, and a question that its client cannot answer is refused when it comes.
//! A server at an address that has been refused so is from then on told the truth: clients that cannot do everything
//! share sessions in which no more is declared than they can do. Not before, since most servers never ask, and some bear
//! only one session. A program stays one process for everybody.

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use tokio::time::Instant;

use super::starts::Attempt;
use crate::connection::{Connection, Exchange};
use crate::error::ConnectError;
use crate::profiles::Profile;

/// Connections with one server beside its first. Beyond it the one that was used least lately makes room.
pub(crate) const CONNECTIONS_MAX: usize = 16;

/// A server that has refused a further session is not asked for one again for so long.
const REFUSED_FOR: Duration = Duration::from_secs(60);

/// For whose calls a connection is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Key {
    pub(crate) whose: Whose,
    /// What the server was told that its clients can do.
    pub(crate) profile: Profile,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Whose {
    Everybody,
    Caller(Arc<str>),
    Conversation(u64),
}

/// One connection, or the start of one.
pub(crate) struct Slot {
    pub(crate) key: Key,
    pub(crate) opened: Opened,
    pub(crate) used: Instant,
}

#[derive(Clone)]
pub(crate) enum Opened {
    Soon(Attempt),
    Now(Arc<Connection>),
}

/// The connections beside the first.
#[derive(Default)]
pub(crate) struct Pool {
    slots: Mutex<Vec<Slot>>,
    /// From when on clients that cannot do everything share sessions of their own; nothing before the server has asked
    /// one of them for more than it can do.
    truthful_from: Mutex<Option<Instant>>,
}

impl Slot {
    pub(crate) fn connection(&self) -> Option<&Arc<Connection>> {
        match &self.opened {
            Opened::Now(connection) => Some(connection),
            Opened::Soon(_) => None,
        }
    }

    /// True if nobody uses it. Whoever has a call under way on a connection holds it until that is done.
    fn is_unused(&self) -> bool {
        self.connection().is_some_and(|open| Arc::strong_count(open) == 1 && !open.is_kept())
    }
}

impl Pool {
    pub(crate) fn slots(&self) -> MutexGuard<'_, Vec<Slot>> {
        self.slots.lock().expect("nothing panics while it holds the lock")
    }

    /// True if clients that cannot do everything get sessions in which no more is declared than they can do.
    pub(crate) fn is_truthful(&self) -> bool {
        self.truthful_from().is_some_and(|from| from <= Instant::now())
    }

    /// The server has asked a client for more than it can do.
    pub(crate) fn be_truthful(&self) {
        self.truthful_from().get_or_insert_with(Instant::now);
    }

    /// The server has refused a further session.
    pub(crate) fn refused(&self) {
        *self.truthful_from() = Some(Instant::now() + REFUSED_FOR);
    }

    fn truthful_from(&self) -> MutexGuard<'_, Option<Instant>> {
        self.truthful_from.lock().expect("nothing panics while it holds the lock")
    }

    /// The sound connection for this key, or the start of one that is under way.
    pub(crate) fn find(slots: &mut Vec<Slot>, key: &Key) -> Option<Opened> {
        slots.retain(|slot| {
            slot.connection().is_none_or(|open| !open.exchange().pending.closed.is_cancelled())
        });
        let slot = slots.iter_mut().find(|slot| slot.key == *key)?;
        slot.used = Instant::now();
        Some(slot.opened.clone())
    }

    /// Makes room for one more. If another one makes way for it, that is returned, to be ended.
    pub(crate) fn make_room(slots: &mut Vec<Slot>) -> Result<Option<Arc<Connection>>, ConnectError> {
        if slots.len() < CONNECTIONS_MAX {
            return Ok(None);
        }
        let mut unused: Vec<usize> = (0..slots.len()).filter(|&at| slots[at].is_unused()).collect();
        unused.sort_by_key(|&at| slots[at].used);
        let ends = |slot: &Slot| {
            let exchange = slot.connection().map(|open| open.exchange());
            exchange.is_some_and(|exchange| {
                exchange.pending.idle_after().is_some_and(|calls| exchange.pending.end_idle(calls))
            })
        };
        let at = unused.into_iter().find(|&at| ends(&slots[at])).ok_or(ConnectError::Crowded)?;
        Ok(slots.swap_remove(at).connection().cloned())
    }

    /// Takes out the connection with this exchange.
    pub(crate) fn take(&self, exchange: &Arc<Exchange>) -> Option<Arc<Connection>> {
        let has_exchange =
            |slot: &Slot| slot.connection().is_some_and(|open| Arc::ptr_eq(open.exchange(), exchange));
        let mut slots = self.slots();
        let at = slots.iter().position(has_exchange)?;
        slots.swap_remove(at).connection().cloned()
    }

    /// All that are open.
    pub(crate) fn open(&self) -> Vec<Arc<Connection>> {
        self.slots().iter().filter_map(Slot::connection).cloned().collect()
    }
}

#[cfg(test)]
mod tests;
