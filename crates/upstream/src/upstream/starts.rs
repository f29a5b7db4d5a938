//! `Starts`: the phase of one server, and every change of it.

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Shared};
use tokio::time::Instant;

use crate::backoff::{Backoff, chance};
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

/// Begins a start in a task of its own: a caller that gives up must not end it for the others. If it panics, `panicked`
/// lets the next one who asks begin anew.
pub(crate) fn attempt(
    start: impl Future<Output = Result<Arc<Connection>, ConnectError>> + Send + 'static,
    panicked: impl FnOnce() + Send + 'static,
) -> Attempt {
    // Owned by the attempt; bounded by its own limits.
    let task = tokio::spawn(start);
    let attempt = async move {
        task.await.unwrap_or_else(|_| {
            panicked();
            Err(ConnectError::Ended)
        })
    };
    attempt.boxed().shared()
}

/// What one server is doing, as far as that decides who may connect to it.
#[derive(Default)]
pub(crate) enum Phase {
    /// Not connected: whoever wants it connects.
    #[default]
    Stopped,
    /// A start is under way.
    Connecting(Attempt),
    /// Connected.
    Ready,
    /// A person has to sign in first.
    AwaitingSignIn(ConnectError),
    /// It has ended like this, and is not to be started again by itself.
    Failed(String),
    /// It takes no more calls; the start that was under way ends.
    Draining(Option<Attempt>),
    /// It has ended for good.
    Closed,
}

impl Phase {
    /// Refuses what must not connect.
    fn check(&self, demand: Demand) -> Result<(), ConnectError> {
        match (self, demand) {
            (Phase::Draining(_) | Phase::Closed, _) => Err(ConnectError::Ended),
            (_, Demand::Person) | (Phase::Stopped | Phase::Connecting(_) | Phase::Ready, _) => Ok(()),
            (Phase::AwaitingSignIn(error), Demand::Call | Demand::Background) => Err(error.clone()),
            (Phase::Failed(last), Demand::Call | Demand::Background) => {
                Err(ConnectError::NotRestarted { last: last.clone() })
            }
        }
    }
}

/// The phase of one server, and how its starts went. Every change of phase is a method here.
#[derive(Default)]
pub(crate) struct Starts {
    phase: Phase,
    backoff: Backoff,
    /// What the last start failed with, if it did.
    failure: Option<String>,
    /// How many connections in a row were over too soon.
    short_lives: u32,
}

impl Starts {
    pub(crate) fn phase(&self) -> &Phase {
        &self.phase
    }

    /// Refuses a start that must not be, or not yet.
    pub(crate) fn check(&self, demand: Demand, now: Instant) -> Result<(), ConnectError> {
        self.phase.check(demand)?;
        if demand == Demand::Call { self.backoff.check(now) } else { Ok(()) }
    }

    /// A start has begun.
    pub(crate) fn connecting(&mut self, attempt: Attempt) {
        self.phase = Phase::Connecting(attempt);
    }

    /// The start has succeeded. False if nobody wants it any more.
    pub(crate) fn ready(&mut self) -> bool {
        if matches!(self.phase, Phase::Draining(_) | Phase::Closed) {
            return false;
        }
        *self = Starts { phase: Phase::Ready, short_lives: self.short_lives, ..Starts::default() };
        true
    }

    /// The start has failed, which makes calls wait if it `counts`. `then` follows. False if the last one failed alike.
    pub(crate) fn failed(&mut self, error: &ConnectError, counts: bool, shown: &str, then: Phase) -> bool {
        if counts {
            self.backoff.failed(error, Instant::now(), chance());
        }
        let is_news = self.failure.as_deref() != Some(shown);
        self.failure = Some(shown.to_owned());
        self.given_up(then);
        is_news
    }

    /// A connection beside the first was opened, or could not be: then calls wait for both.
    pub(crate) fn pooled(&mut self, failure: Option<&ConnectError>) {
        match failure {
            Some(error) => self.backoff.failed(error, Instant::now(), chance()),
            None => self.backoff.succeeded(),
        }
    }

    /// The start is over without a result.
    pub(crate) fn given_up(&mut self, then: Phase) {
        if matches!(self.phase, Phase::Connecting(_)) {
            self.phase = then;
        }
    }

    /// The connection is over, or not to be used. A start under way, or the end, counts for more.
    pub(crate) fn settle(&mut self, phase: Phase) {
        if !matches!(self.phase, Phase::Connecting(_) | Phase::Draining(_) | Phase::Closed) {
            self.phase = phase;
        }
    }

    /// Takes no more calls from now on.
    pub(crate) fn drain(&mut self) {
        self.phase = match std::mem::take(&mut self.phase) {
            Phase::Connecting(attempt) => Phase::Draining(Some(attempt)),
            phase @ (Phase::Draining(_) | Phase::Closed) => phase,
            _ => Phase::Draining(None),
        };
    }

    /// Ends it for good. Returns the start that was under way.
    pub(crate) fn close(&mut self) -> Option<Attempt> {
        self.drain();
        match std::mem::replace(&mut self.phase, Phase::Closed) {
            Phase::Draining(attempt) => attempt,
            _ => None,
        }
    }

    /// A connection that held for `life` is over.
    pub(crate) fn lived(&mut self, life: Duration) {
        self.short_lives = if life < GOOD_LIFE { self.short_lives.saturating_add(1) } else { 0 };
    }

    /// How often it has failed in a row, for whoever comes back.
    pub(crate) fn failures(&self) -> u32 {
        if self.failure.is_some() { after_failure(self.short_lives) } else { self.short_lives }
    }
}

/// A connection that held for less counts as a failure: a server that dies of its first request would else be
/// started without end.
const GOOD_LIFE: Duration = Duration::from_secs(60);

/// One more. After a connection that is over the next is tried at once, but not after one that was never made.
pub(crate) fn after_failure(failures: u32) -> u32 {
    failures.max(1).saturating_add(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backoff;
    use crate::fault::Fault;

    #[test]
    fn short_lives_wait_longer_and_longer_until_a_good_one() {
        let mut starts = Starts::default();
        let wait_after = |(life_s, expected_s): (u64, u64)| {
            starts.lived(Duration::from_secs(life_s));
            let waits = backoff::wait(starts.failures(), 1.0);
            assert_eq!(waits.as_secs(), expected_s, "{life_s}");
        };
        [(0, 0), (1, 1), (59, 2), (0, 4), (60, 0), (0, 0), (0, 1)].into_iter().for_each(wait_after);
    }

    fn attempt() -> Attempt {
        async { Err(ConnectError::Ended) }.boxed().shared()
    }

    /// Who is refused after these transitions: `C`alls, the `B`ackground, `P`ersons.
    #[track_caller]
    fn check(transitions: &[fn(&mut Starts)], expected: &str) {
        let mut starts = Starts::default();
        transitions.iter().for_each(|transition| transition(&mut starts));
        let all = [('C', Demand::Call), ('B', Demand::Background), ('P', Demand::Person)];
        let refused = all.into_iter().filter(|(_, demand)| starts.check(*demand, Instant::now()).is_err());
        assert_eq!(refused.map(|(name, _)| name).collect::<String>(), expected);
    }

    #[test]
    fn each_phase_refuses_whom_it_must() {
        let begin: fn(&mut Starts) = |starts| starts.connecting(attempt());
        let ready: fn(&mut Starts) = |starts| assert!(starts.ready());
        let stays_ended: fn(&mut Starts) = |starts| starts.settle(Phase::Failed("it ended".to_owned()));
        let sign_in: fn(&mut Starts) =
            |starts| starts.settle(Phase::AwaitingSignIn(ConnectError::Request(Fault::Access(401))));
        let drain: fn(&mut Starts) = |starts| starts.drain();
        check(&[], "");
        check(&[begin, ready], "");
        check(&[stays_ended], "CB");
        check(&[sign_in], "CB");
        check(&[begin, stays_ended], "");
        check(&[begin, |starts| starts.given_up(Phase::Failed("it ended".to_owned()))], "CB");
        check(&[stays_ended, begin, ready], "");
        check(&[begin, drain, sign_in, |starts| assert!(!starts.ready())], "CBP");
        check(&[begin, drain, |starts| assert!(starts.close().is_some()), stays_ended], "CBP");
        check(&[|starts| assert!(starts.close().is_none()), drain], "CBP");
    }
}
