//! `Breaker`: refuses the calls of a server that keeps failing, so that nobody waits for it and it can recover.
//!
//! It counts calls that the server did not answer: lost ones, timed-out ones and those answered with what is none. An
//! error that the server or its tool answers with is an answer. After a while one call is let through to see.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// Calls in a row that must fail.
pub(crate) const FAILURES_MAX: u32 = 5;

/// How long calls are refused at first; twice as long after each further failure.
const OPEN_FIRST: Duration = Duration::from_secs(30);

/// How long calls are refused at most.
const OPEN_MAX: Duration = Duration::from_secs(5 * 60);

/// The breaker of one server.
#[derive(Debug, Default)]
pub(crate) struct Breaker(Mutex<Circuit>);

#[derive(Debug, Clone, Copy)]
enum Circuit {
    /// Calls go through; so many have failed in a row.
    Closed { failures: u32 },
    /// Calls are refused for `wait`, until then; while it `is_tried`, but for one that went through to see.
    Open { until: Instant, wait: Duration, is_tried: bool },
}

impl Default for Circuit {
    fn default() -> Circuit {
        Circuit::Closed { failures: 0 }
    }
}

impl Breaker {
    /// Lets a call through, or refuses it for as long as this.
    pub(crate) fn admit(&self, now: Instant) -> Result<(), Duration> {
        let mut circuit = self.circuit();
        match *circuit {
            Circuit::Closed { .. } => Ok(()),
            Circuit::Open { until, .. } if now < until => Err(until - now),
            // One that went through before and hangs is this one's to replace.
            Circuit::Open { wait, .. } => {
                *circuit = Circuit::Open { until: now + wait, wait, is_tried: true };
                Ok(())
            }
        }
    }

    /// The server has answered, or a person has connected to it.
    pub(crate) fn succeeded(&self) {
        *self.circuit() = Circuit::default();
    }

    /// The server has not answered a call.
    pub(crate) fn failed(&self, now: Instant) {
        let mut circuit = self.circuit();
        *circuit = match *circuit {
            Circuit::Closed { failures } if failures + 1 < FAILURES_MAX => {
                Circuit::Closed { failures: failures + 1 }
            }
            Circuit::Closed { .. } => {
                Circuit::Open { until: now + OPEN_FIRST, wait: OPEN_FIRST, is_tried: false }
            }
            // A call from before.
            Circuit::Open { is_tried: false, .. } => return,
            Circuit::Open { wait, .. } => {
                let wait = (wait * 2).min(OPEN_MAX);
                Circuit::Open { until: now + wait, wait, is_tried: false }
            }
        };
    }

    /// A call was given up, or says nothing of the server: another one may be let through in its place.
    pub(crate) fn undecided(&self, now: Instant) {
        let mut circuit = self.circuit();
        if let Circuit::Open { is_tried: true, wait, .. } = *circuit {
            *circuit = Circuit::Open { until: now, wait, is_tried: false };
        }
    }

    /// How long calls are still refused, if they are.
    pub(crate) fn open_for(&self, now: Instant) -> Option<Duration> {
        match *self.circuit() {
            Circuit::Closed { .. } => None,
            Circuit::Open { until, .. } => Some(until.saturating_duration_since(now)),
        }
    }

    fn circuit(&self) -> MutexGuard<'_, Circuit> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What becomes of these: `f`, a call that fails; `s`, one that succeeds; `u`, one that says nothing; `a`, one that
    /// goes on for ever; a number, so many seconds that pass. A refused call is shown with its wait.
    #[track_caller]
    fn check(events: &str, expected: &str) {
        let (breaker, mut now) = (Breaker::default(), Instant::now());
        let mut shown = Vec::new();
        for event in events.split(' ') {
            if let Ok(seconds) = event.parse() {
                now += Duration::from_secs(seconds);
                continue;
            }
            match (breaker.admit(now), event) {
                (Err(open), _) => shown.push(open.as_secs().to_string()),
                (Ok(()), "f") => breaker.failed(now),
                (Ok(()), "s") => breaker.succeeded(),
                (Ok(()), "u") => breaker.undecided(now),
                (Ok(()), _) => {}
            }
        }
        assert_eq!(shown.join(" "), expected, "{events}");
    }

    #[test]
    fn five_failures_in_a_row_refuse_calls_and_waits_double_until_one_succeeds() {
        check("f f f f s f f f f s", "");
        check("f f f f f s 10 s", "30 20");
        check("f f f f f 30 f s", "60");
        check("f f f f f 30 f 60 f 120 f 240 f 299 s 1 f s", "1 300");
        check("f f f f f 30 s f f f f s", "");
    }

    #[test]
    fn one_call_alone_is_let_through_to_see() {
        check("f f f f f 30 a s 29 s 1 s s", "30 1");
        check("f f f f f 30 u s s", "");
        check("u f u f u f f f s", "30");
    }

    #[test]
    fn a_call_from_before_changes_nothing_once_calls_are_refused() {
        let (breaker, now) = (Breaker::default(), Instant::now());
        (0..FAILURES_MAX + 3).for_each(|_| breaker.failed(now));
        assert_eq!(breaker.open_for(now), Some(OPEN_FIRST));
        breaker.succeeded();
        assert_eq!(breaker.open_for(now), None);
    }
}
