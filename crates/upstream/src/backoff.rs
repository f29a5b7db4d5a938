//! How long a server that keeps failing is left alone before a call tries it again.

use std::time::Duration;

use tokio::time::Instant;

use crate::error::ConnectError;

/// The first failure may be an accident: the next call tries again at once. After the second, this long.
const WAIT_FIRST: Duration = Duration::from_secs(1);

/// Every further failure doubles the wait up to this.
const WAIT_MAX: Duration = Duration::from_secs(60);

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

    pub(crate) fn failed(&mut self, error: &ConnectError, now: Instant) {
        self.failures = self.failures.saturating_add(1);
        self.last = Some((error.clone(), now + self.wait()));
    }

    pub(crate) fn succeeded(&mut self) {
        *self = Backoff::default();
    }

    fn wait(&self) -> Duration {
        match self.failures {
            0 | 1 => Duration::ZERO,
            failures => WAIT_FIRST.saturating_mul(1 << (failures - 2).min(16)).min(WAIT_MAX),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_a_minute_and_a_success_ends_them() {
        let now = Instant::now();
        let mut backoff = Backoff::default();
        let mut waits = Vec::new();
        for _ in 0..10 {
            backoff.failed(&ConnectError::Access(401), now);
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
    fn the_refusal_says_why() {
        let now = Instant::now();
        let mut backoff = Backoff::default();
        backoff.failed(&ConnectError::Access(401), now);
        backoff.failed(&ConnectError::Access(403), now);
        let error = backoff.check(now).expect_err("left alone");
        let expected = "it failed 2 times in a row and is tried again in 1 s: \
                        it refuses access (HTTP status 403); give credentials with `headers`";
        assert_eq!(error.to_string(), expected);
    }
}
