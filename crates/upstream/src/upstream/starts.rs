//! `Starts`: the start under way, and how the earlier ones went.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{BoxFuture, Shared};

use crate::backoff::Backoff;
use crate::connection::Connection;
use crate::error::ConnectError;

/// Who wants a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Demand {
    /// A call: refused while a failing server is left alone.
    Call,
    /// A person or the program's start: tries at once.
    Person,
    /// Nobody in particular: tries at once, and makes no call wait if it fails.
    Background,
}

/// A start under way, to be awaited by any number of tasks.
pub(crate) type Attempt = Shared<BoxFuture<'static, Result<Arc<Connection>, ConnectError>>>;

/// The start under way, if there is one, and how the earlier ones went.
#[derive(Default)]
pub(crate) struct Starts {
    pub(crate) attempt: Option<Attempt>,
    pub(crate) backoff: Backoff,
    /// What the last one failed with, if it did.
    pub(crate) failure: Option<String>,
    pub(crate) lives: Lives,
    pub(crate) rest: Rest,
}

/// Whether a server that is not connected is to be left so.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) enum Rest {
    /// Whoever wants it connects.
    #[default]
    Awake,
    /// Nobody needs it just now: the next call connects.
    UntilCalled,
    /// A person has to sign in first.
    UntilSignedIn(ConnectError),
    /// It is not to be started again by itself. The text says how it ended.
    UntilAsked(String),
}

impl Rest {
    /// Refuses what must not connect.
    pub(crate) fn check(&self, demand: Demand) -> Result<(), ConnectError> {
        match (self, demand) {
            (_, Demand::Person) | (Rest::Awake | Rest::UntilCalled, Demand::Call | Demand::Background) => {
                Ok(())
            }
            (Rest::UntilSignedIn(error), Demand::Call | Demand::Background) => Err(error.clone()),
            (Rest::UntilAsked(last), Demand::Call | Demand::Background) => {
                Err(ConnectError::NotRestarted { last: last.clone() })
            }
        }
    }
}

impl Starts {
    pub(crate) fn take_attempt(&mut self) -> Option<Attempt> {
        self.attempt.take()
    }

    /// True if the last one failed.
    pub(crate) fn has_failed(&self) -> bool {
        self.failure.is_some()
    }
}

/// A connection that held for less counts as a failure: a server that dies of its first request would else be
/// started without end.
const GOOD_LIFE: Duration = Duration::from_secs(60);

/// How many connections in a row were over too soon.
#[derive(Debug, Default)]
pub(crate) struct Lives {
    short: u32,
}

impl Lives {
    /// Counts a connection that held for `life`.
    pub(crate) fn ended(&mut self, life: Duration) {
        self.short = if life < GOOD_LIFE { self.short.saturating_add(1) } else { 0 };
    }
}

impl Starts {
    /// How often it has failed in a row, for whoever comes back.
    pub(crate) fn failures(&self) -> u32 {
        let failures = self.lives.short;
        if self.has_failed() { after_failure(failures) } else { failures }
    }
}

/// One more. After a connection that is over the next is tried at once, but not after one that was never made.
pub(crate) fn after_failure(failures: u32) -> u32 {
    failures.max(1).saturating_add(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backoff::{self, Chance};

    #[test]
    fn short_lives_wait_longer_and_longer_until_a_good_one() {
        let mut lives = Lives::default();
        let wait_after = |(life_s, expected_s): (u64, u64)| {
            lives.ended(Duration::from_secs(life_s));
            let waits = backoff::wait(lives.short, Chance::longest());
            assert_eq!(waits.as_secs(), expected_s, "{life_s}");
        };
        [(0, 0), (1, 1), (59, 2), (0, 4), (60, 0), (0, 0), (0, 1)].into_iter().for_each(wait_after);
    }
}
