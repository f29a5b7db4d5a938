//! Connections beside the first: for clients that can do different things, for each caller, or for each session.
//!
//! The first connection reads the lists and hears the news. With `isolation` its own calls go over others: one for
//! each caller or session and each set of capabilities, which a legacy server is told truthfully. For a program every
//! such connection is a process of its own.
//!
//! Without `isolation` everybody shares the first. A legacy server learns once, at the handshake, what its client can
//! do, and acts on it from then on. The first session declares everything, and a question that its client cannot
//! answer is refused when it comes. A server at an address that has been refused so is from then on told the truth:
//! clients that cannot do everything share sessions in which no more is declared than they can do. Not before, since
//! most servers never ask, and some bear only one session. A program is then one process for everybody.

mod ended;
mod holders;
mod key;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use futures_util::FutureExt;
use tokio::time::Instant;

use super::starts::Attempt;
use crate::backoff::Backoff;
use crate::connection::Connection;
use crate::error::ConnectError;
use ended::Ended;
use holders::Holders;
pub(crate) use key::{Key, Whose};

/// Connections with one server beside its first. Beyond it the one that was used least lately makes room.
pub(crate) const CONNECTIONS_MAX: usize = 16;

/// A server that has refused to open one is not asked again for so long.
const REFUSED_FOR: Duration = Duration::from_secs(60);

/// One connection, or the start of one.
pub(crate) struct Slot {
    pub(crate) key: Key,
    pub(crate) opened: Opened,
    pub(crate) used: Instant,
}

pub(crate) enum Opened {
    Soon(Attempt),
    Now(Arc<Connection>),
}

/// The connections beside the first.
#[derive(Default)]
pub(crate) struct Pool {
    pub(crate) slots: Mutex<Vec<Slot>>,
    /// True once the server has asked a client for more than it can do.
    pub(crate) wanted: AtomicBool,
    /// When the server has refused to open one that was not asked for.
    pub(crate) refused: Mutex<Option<Instant>>,
    /// How the starts went that were asked for.
    pub(crate) backoff: Mutex<Backoff>,
    pub(crate) holders: Holders,
    /// Those whose connections have ended and are not opened again by themselves.
    pub(crate) ended: Ended,
}

impl Slot {
    pub(crate) fn connection(&self) -> Option<&Arc<Connection>> {
        match &self.opened {
            Opened::Now(connection) => Some(connection),
            Opened::Soon(_) => None,
        }
    }

    /// True if nobody uses it. Whoever has a call under way on a connection holds it until that is done.
    pub(crate) fn is_unused(&self) -> bool {
        self.connection().is_some_and(|open| Arc::strong_count(open) == 1 && !open.is_kept())
    }
}

impl Pool {
    pub(crate) fn slots(&self) -> MutexGuard<'_, Vec<Slot>> {
        self.slots.lock().expect("nothing panics while it holds the lock")
    }

    pub(crate) fn backoff(&self) -> MutexGuard<'_, Backoff> {
        self.backoff.lock().expect("nothing panics while it holds the lock")
    }

    pub(crate) fn refused(&self) -> MutexGuard<'_, Option<Instant>> {
        self.refused.lock().expect("nothing panics while it holds the lock")
    }

    /// The server has asked a client for more than it can do.
    pub(crate) fn want(&self) {
        self.wanted.store(true, Ordering::Relaxed);
    }

    /// The server was met anew: what it refused before it may not refuse again.
    pub(crate) fn welcome(&self) {
        *self.refused() = None;
        self.backoff().succeeded();
    }

    /// True if the server bears more than one session, as far as is known.
    pub(crate) fn may_open(&self) -> bool {
        self.refused().is_none_or(|refused| refused.elapsed() >= REFUSED_FOR)
    }

    /// How many are open.
    pub(crate) fn len(&self) -> usize {
        self.slots().iter().filter(|slot| slot.connection().is_some()).count()
    }

    /// True if there is none, nor will be one soon.
    pub(crate) fn is_empty(&self) -> bool {
        self.slots().is_empty()
    }

    /// The sound connection for this key, or the start of one that is under way.
    pub(crate) fn find(slots: &mut Vec<Slot>, key: &Key) -> Option<Attempt> {
        slots.retain(|slot| slot.connection().is_none_or(|open| !open.exchange().closed().is_cancelled()));
        let slot = slots.iter_mut().find(|slot| slot.key == *key)?;
        slot.used = Instant::now();
        Some(match &slot.opened {
            Opened::Soon(attempt) => attempt.clone(),
            Opened::Now(open) => {
                let open = open.clone();
                async { Ok(open) }.boxed().shared()
            }
        })
    }

    /// The sound connection for this key.
    pub(crate) fn open(&self, key: &Key) -> Option<Arc<Connection>> {
        let mut slots = self.slots();
        let is_it = |slot: &&mut Slot| {
            slot.key == *key && slot.connection().is_some_and(|open| !open.exchange().closed().is_cancelled())
        };
        let slot = slots.iter_mut().find(is_it)?;
        slot.used = Instant::now();
        slot.connection().cloned()
    }

    /// Makes room for one more. If another one makes way for it, that is returned, to be ended.
    pub(crate) fn make_room(slots: &mut Vec<Slot>) -> Result<Option<Arc<Connection>>, ConnectError> {
        if slots.len() < CONNECTIONS_MAX {
            return Ok(None);
        }
        let mut unused: Vec<usize> = (0..slots.len()).filter(|&at| slots[at].is_unused()).collect();
        unused.sort_by_key(|&at| slots[at].used);
        let rests = |slot: &Slot| {
            let exchange = slot.connection().map(|open| open.exchange());
            exchange.is_some_and(|exchange| exchange.idle_after().is_some_and(|calls| exchange.rest(calls)))
        };
        let at = unused.into_iter().find(|&at| rests(&slots[at])).ok_or(ConnectError::Crowded)?;
        Ok(slots.swap_remove(at).connection().cloned())
    }

    /// The connection on which a call waits that is named so.
    pub(crate) fn suspended_at(&self, state: &str) -> Option<Arc<Connection>> {
        let slots = self.slots();
        let mut open = slots.iter().filter_map(Slot::connection);
        open.find(|open| open.has_suspended(state)).cloned()
    }

    /// True if some connection has ended and is not opened again before a person says so.
    pub(crate) fn has_ended(&self) -> bool {
        !self.ended.is_empty()
    }

    /// All that are open.
    pub(crate) fn all(&self) -> Vec<Arc<Connection>> {
        self.slots().iter().filter_map(Slot::connection).cloned().collect()
    }

    /// All that are open, which are then no longer kept, and those that are being opened, which fail.
    pub(crate) fn take(&self) -> (Vec<Arc<Connection>>, Vec<Attempt>) {
        let (mut open, mut soon) = (Vec::new(), Vec::new());
        for slot in self.slots().drain(..) {
            match slot.opened {
                Opened::Now(connection) => open.push(connection),
                Opened::Soon(attempt) => soon.push(attempt),
            }
        }
        (open, soon)
    }

    pub(crate) fn forget(&self, key: &Key) {
        self.slots().retain(|slot| slot.key != *key || slot.connection().is_some());
    }
}

#[cfg(test)]
mod tests;
