//! Connections beside the first, with `isolation`: one for each caller or session and each set of capabilities, which
//! a legacy server is told truthfully. For a program every such connection is a process of its own. The first
//! connection reads the lists and hears the news.
//!
//! Without `isolation` everybody shares the first. A legacy server learns once, at the handshake, what its client can
//! do. It is told that everything can be done, and a question that its client cannot answer is refused when it comes.
//! A server that has been refused so is from then on told the truth: clients that cannot do everything share sessions,
//! or processes, in which no more is declared than they can do. Not before, since most servers never ask, and some bear
//! only one session.
//!
//! Further ones of the same key are opened while a person thinks about what a server on a pipe has asked; see
//! `actor/turns.rs`.

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
    /// Which one it is of several for the same; 0 is the one that is used first.
    pub(crate) number: u8,
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

    /// The server has asked a client for more than it can do. True for the first time.
    pub(crate) fn be_truthful(&self) -> bool {
        let mut from = self.truthful_from();
        let is_first = from.is_none();
        from.get_or_insert_with(Instant::now);
        is_first
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

    /// The sound connections beside that of `key` which are for the same, and the lowest number that none has, open or
    /// under way.
    pub(crate) fn further(&self, key: &Key) -> (Vec<Arc<Connection>>, u8) {
        let slots = self.slots();
        let is_same = |slot: &&Slot| slot.key.whose == key.whose && slot.key.profile == key.profile;
        let same: Vec<_> = slots.iter().filter(is_same).collect();
        let is_free = |number: &u8| !same.iter().any(|slot| slot.key.number == *number);
        let number = (1..=u8::MAX).find(is_free).unwrap_or(u8::MAX);
        let others = same.iter().filter(|slot| slot.key.number != key.number);
        let is_sound = |open: &&Arc<Connection>| !open.exchange().pending.closed.is_cancelled();
        (others.filter_map(|slot| slot.connection()).filter(is_sound).cloned().collect(), number)
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
