//! `GivenUp`: the calls that a server may still be busy with although nobody waits for them.

use std::collections::HashMap;
use std::time::Duration;

use tokio::time::Instant;

/// A server may go on for this long with a call that was given up. Longer would keep everybody else from being
/// asked after each cancelled call; most servers stop as soon as they are told.
pub(super) const GIVEN_UP_MEMORY: Duration = Duration::from_secs(3);

/// Such calls that are told apart.
pub(super) const GIVEN_UP_MAX: usize = 1_000;

/// Calls that were given up lately: the server may still be busy with them, and ask.
#[derive(Debug, Default)]
pub(super) struct GivenUp {
    /// By the request's number: whose it was, and until when it counts.
    calls: HashMap<u64, (u64, Instant)>,
    /// Until then there were too many to be told apart.
    too_many_until: Option<Instant>,
}

impl GivenUp {
    /// The call was given up by its conversation.
    pub(super) fn note(&mut self, id: u64, conversation: u64, now: Instant) {
        if self.calls.len() >= GIVEN_UP_MAX {
            self.calls.retain(|_, (_, until)| *until > now);
        }
        let until = now + GIVEN_UP_MEMORY;
        if self.calls.len() < GIVEN_UP_MAX {
            self.calls.insert(id, (conversation, until));
        } else {
            self.too_many_until = Some(until);
        }
    }

    /// The server has answered the call after all: it is done with it.
    pub(super) fn answered(&mut self, id: u64) {
        self.calls.remove(&id);
    }

    /// True if a message could be about a call that another conversation has given up.
    pub(super) fn may_be_of_another(&self, conversation: u64, now: Instant) -> bool {
        let mut calls = self.calls.values();
        calls.any(|(one, until)| *until > now && (*one != conversation || *one == 0))
            || self.too_many_until.is_some_and(|until| until > now)
    }

    /// How many calls are told apart.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.calls.len()
    }
}
