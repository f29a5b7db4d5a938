//! Does the caller ask too often? A token bucket for each caller.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use schemars::JsonSchema;
use serde::Deserialize;
use tool_api::Action;

use super::Stage;
use crate::failure::Refusal;
use crate::pending::Pending;

/// Most callers remembered. Beyond it, full buckets are forgotten first; they are as good as new ones.
const CALLERS_MAX: usize = 10_000;

/// How often one caller may call tools.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RateConfig {
    /// Calls a second that a caller may keep up; 0 switches the limit off.
    #[schemars(range(min = 0, max = 1_000_000))]
    pub per_second: u32,
    /// Calls that may come at once before the limit applies.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub burst: u32,
}

impl Default for RateConfig {
    fn default() -> RateConfig {
        RateConfig { per_second: 10, burst: 20 }
    }
}

/// The stage.
pub(super) struct Rate {
    per_second: f64,
    burst: f64,
    buckets: Mutex<HashMap<Arc<str>, Bucket>>,
}

struct Bucket {
    tokens: f64,
    filled_at: Instant,
}

impl Rate {
    pub(super) fn new(config: &RateConfig) -> Rate {
        let burst = f64::from(config.burst.max(1));
        Rate { per_second: f64::from(config.per_second), burst, buckets: Mutex::default() }
    }

    /// Takes one token at `now`, or says how long until there is one.
    fn take(&self, caller: &Arc<str>, now: Instant) -> Result<(), Duration> {
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        if buckets.len() >= CALLERS_MAX && !buckets.contains_key(caller) {
            buckets.retain(|_, bucket| self.level(bucket, now) < self.burst);
        }
        let fresh = Bucket { tokens: self.burst, filled_at: now };
        let bucket = buckets.entry(caller.clone()).or_insert(fresh);
        let tokens = self.level(bucket, now);
        if tokens < 1.0 {
            return Err(Duration::from_secs_f64((1.0 - tokens) / self.per_second));
        }
        *bucket = Bucket { tokens: tokens - 1.0, filled_at: now };
        Ok(())
    }

    fn level(&self, bucket: &Bucket, now: Instant) -> f64 {
        let passed = now.saturating_duration_since(bucket.filled_at).as_secs_f64();
        (bucket.tokens + passed * self.per_second).min(self.burst)
    }
}

impl Stage for Rate {
    fn name(&self) -> &'static str {
        "rate"
    }

    fn check(&self, pending: &Pending<'_>) -> Result<(), Refusal> {
        // A client watches many things at once, in numbers that the doors bound; and who is refused to stop would be
        // told of changes for ever. A further round has been paid for by the first, and its state is good only once:
        // to refuse it would throw away what a person has answered.
        let is_watch = matches!(pending.action, Some(Action::Subscribe | Action::Unsubscribe));
        if self.per_second == 0.0 || is_watch || pending.goes_on {
            return Ok(());
        }
        self.take(pending.caller.id(), Instant::now()).map_err(|wait| {
            let retry_after_ms = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX).saturating_add(1);
            Refusal::RateLimited { retry_after_ms }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_passes_then_the_rate_holds_for_each_caller_alone() {
        let rate = Rate::new(&RateConfig { per_second: 10, burst: 3 });
        let start = Instant::now();
        let at = |ms: u64| start + Duration::from_millis(ms);
        let (alice, bob): (Arc<str>, Arc<str>) = ("alice".into(), "bob".into());
        // caller, when, whether it passes
        let cases = [
            (&alice, 0, true),
            (&alice, 0, true),
            (&alice, 0, true),
            (&alice, 0, false),
            (&bob, 0, true),
            (&alice, 99, false),
            (&alice, 101, true),
            (&alice, 102, false),
            (&alice, 10_000, true),
        ];
        for (caller, ms, passes) in cases {
            assert_eq!(rate.take(caller, at(ms)).is_ok(), passes, "{caller} at {ms} ms");
        }
    }

    #[test]
    fn the_refusal_says_when_to_come_back() {
        let rate = Rate::new(&RateConfig { per_second: 4, burst: 1 });
        let now = Instant::now();
        let caller: Arc<str> = "a".into();
        assert!(rate.take(&caller, now).is_ok());
        assert_eq!(rate.take(&caller, now), Err(Duration::from_millis(250)));
    }

    #[test]
    fn callers_are_forgotten_once_they_have_rested() {
        let rate = Rate::new(&RateConfig { per_second: 1000, burst: 1 });
        let start = Instant::now();
        for number in 0..CALLERS_MAX + 10 {
            let now = start + Duration::from_secs(number as u64);
            assert!(rate.take(&format!("caller {number}").into(), now).is_ok());
        }
        assert!(rate.buckets.lock().expect("not poisoned").len() <= CALLERS_MAX);
    }
}
