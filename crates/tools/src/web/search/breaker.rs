//! `Breaker`: leaves a service alone for a while that fails again and again, or asks for it.

use std::time::Duration;

use tokio::time::Instant;

/// Failures in a row after which a service is left alone.
const FAILURES_MAX: u32 = 3;

/// For how long. A service that is away for a moment is back by then.
const REST: Duration = Duration::from_secs(60);

/// The longest that a service can ask for.
const REST_MAX: Duration = Duration::from_secs(600);

/// Of one service.
#[derive(Debug, Default)]
pub(super) struct Breaker {
    failures: u32,
    until: Option<Instant>,
}

impl Breaker {
    /// How much longer the service is left alone; nothing if it may be asked.
    pub(super) fn rests(&self) -> Option<Duration> {
        let left = self.until?.saturating_duration_since(Instant::now());
        (!left.is_zero()).then_some(left)
    }

    /// It answered.
    pub(super) fn answered(&mut self) {
        *self = Breaker::default();
    }

    /// It failed. After a rest one more failure is enough.
    pub(super) fn failed(&mut self) {
        self.failures = (self.failures + 1).min(FAILURES_MAX);
        if self.failures == FAILURES_MAX {
            self.until = Some(Instant::now() + REST);
        }
    }

    /// It wants not to be asked for a while.
    pub(super) fn refused(&mut self, asked_for: Option<Duration>) {
        self.until = Some(Instant::now() + asked_for.unwrap_or(REST).min(REST_MAX));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_service_rests_for_as_long_as_it_asks_but_not_for_ever() {
        for (asked_for, expected) in [(None, 60), (Some(7), 7), (Some(600), 600), (Some(u64::MAX), 600)] {
            let mut breaker = Breaker::default();
            breaker.refused(asked_for.map(Duration::from_secs));
            assert_eq!(breaker.rests(), Some(Duration::from_secs(expected)), "{asked_for:?}");
        }
    }
}
