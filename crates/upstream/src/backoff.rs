//! How long a server that keeps failing is left alone before a call tries it again.

use std::time::Duration;

use tokio::time::Instant;

use crate::error::ConnectError;

/// The first failure may be an accident: the next call tries again at once. After the second, this long.
const WAIT_FIRST: Duration = Duration::from_secs(1);

/// Every further failure doubles the wait up to this.
const WAIT_MAX: Duration = Duration::from_secs(60);

/// A number by chance, from 0 to 1. Without randomness waits are simply the longest.
pub(crate) fn chance() -> f64 {
    getrandom::u32().map_or(1.0, |random| f64::from(random) / f64::from(u32::MAX))
}

/// A wait shortened by `chance`, to no less than its half, so that those who wait together do not come back together.
pub(crate) fn shortened(wait: Duration, chance: f64) -> Duration {
    wait.mul_f64(0.5 + chance / 2.0)
}

/// How long a server is left alone after so many failures in a row.
pub(crate) fn wait(failures: u32, chance: f64) -> Duration {
    let wait = match failures {
        0 | 1 => Duration::ZERO,
        failures => WAIT_FIRST.saturating_mul(1 << (failures - 2).min(16)).min(WAIT_MAX),
    };
    shortened(wait, chance)
}

/// The failures since the last success.
#[derive(Debug, Default)]
pub(crate) struct Backoff {
    failures: u32,
    last: Option<(ConnectError, Instant)>,
}

impl Backoff {
    /// Refuses while the server is to be left alone.
    pub(crate) fn check(&self, now: Instant) -> Result<(), ConnectError> {
        let Some((last, until)) = &self.last else { return Ok(()) };
        if now >= *until {
            return Ok(());
        }
        let wait = *until - now;
        Err(ConnectError::BackingOff { failures: self.failures, wait, last: Box::new(last.clone()) })
    }

    /// Counts a failure.
    pub(crate) fn failed(&mut self, error: &ConnectError, now: Instant, chance: f64) {
        self.failures = self.failures.saturating_add(1);
        self.last = Some((error.clone(), now + wait(self.failures, chance)));
    }

    pub(crate) fn succeeded(&mut self) {
        *self = Backoff::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::Fault;

    #[test]
    fn waits_double_up_to_a_minute_and_a_success_ends_them() {
        let now = Instant::now();
        let mut backoff = Backoff::default();
        let mut waits = Vec::new();
        for _ in 0..10 {
            backoff.failed(&ConnectError::Request(Fault::Access(401)), now, 1.0);
            waits.push(match backoff.check(now) {
                Ok(()) => 0,
                Err(ConnectError::BackingOff { wait, .. }) => wait.as_secs(),
                Err(other) => panic!("{other}"),
            });
        }
        assert_eq!(waits, [0, 1, 2, 4, 8, 16, 32, 60, 60, 60]);
        assert_eq!(backoff.check(now + WAIT_MAX), Ok(()));
        backoff.succeeded();
        assert_eq!(backoff.check(now), Ok(()));
    }

    #[test]
    fn chance_shortens_a_wait_to_no_less_than_its_half() {
        let now = Instant::now();
        for (chance, expected_ms) in [(0.0, 2_000), (0.5, 3_000), (1.0, 4_000)] {
            let mut backoff = Backoff::default();
            for _ in 0..4 {
                backoff.failed(&ConnectError::Request(Fault::Access(401)), now, chance);
            }
            let Err(ConnectError::BackingOff { wait, .. }) = backoff.check(now) else {
                panic!("not left alone")
            };
            assert_eq!(wait.as_millis(), expected_ms);
        }
        let drawn: Vec<f64> = (0..20).map(|_| chance()).collect();
        assert!(drawn.iter().all(|chance| (0.0..=1.0).contains(chance)));
        assert!(drawn.windows(2).any(|pair| pair[0] != pair[1]), "{drawn:?}");
    }

    #[test]
    fn the_refusal_says_why() {
        let now = Instant::now();
        let mut backoff = Backoff::default();
        backoff.failed(&ConnectError::Request(Fault::Access(401)), now, 1.0);
        backoff.failed(&ConnectError::Request(Fault::Access(403)), now, 1.0);
        let error = backoff.check(now).expect_err("left alone");
        let expected = "it failed 2 times in a row and is tried again in 1 s: \
                        it refuses access (HTTP status 403); give credentials with `headers`";
        assert_eq!(error.to_string(), expected);
    }
}
