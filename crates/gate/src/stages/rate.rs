//! Does somebody ask too often? One bucket for each caller, and for each tool and upstream that has a limit of its own.
//!
//! The buckets are those of the generic cell rate algorithm (ITU-T I.371): one number each, the time at which the
//! bucket is full again.

mod limits;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use smallvec::SmallVec;
use tool_api::Action;

use limits::Limit;
pub use limits::{LimitConfig, RateConfig, RateProblem, Rates};

use super::Stage;
use crate::bylaws::Bylaws;
use crate::failure::Refusal;
use crate::pending::Pending;

/// Most buckets kept. Beyond it, those that are full are forgotten, which are as good as new; if none is, newcomers
/// share one bucket for each limit.
const BUCKETS_MAX: usize = 10_000;

/// How often full buckets are looked for at most; there are [`BUCKETS_MAX`] to look at.
const SWEEP_EVERY_NS: u64 = 1_000_000_000;

/// The time that `per_day` is about, from the first call on.
const DAY_NS: u64 = 24 * 60 * 60 * 1_000_000_000;

/// The stage's name in records.
pub(crate) const NAME: &str = "rate";

/// The stage. What it remembers outlives a change of the limits.
pub(super) struct Rate {
    begun: Instant,
    buckets: Mutex<Buckets>,
}

#[derive(Default)]
struct Buckets {
    /// By the limit's name and what it limits.
    kept: HashMap<(Arc<str>, Arc<str>), Bucket>,
    sweep_at_ns: u64,
}

/// Times are nanoseconds since the stage was made.
#[derive(Debug, Clone, Copy, Default)]
struct Bucket {
    /// When it is full again.
    full_at_ns: u64,
    /// When its day began.
    day_at_ns: u64,
    /// The calls of that day.
    of_day: u32,
}

/// One limit that a call has to meet, and what of.
type Want<'r> = (&'r Limit, Arc<str>);

/// Which limit is not met, and for how long.
#[derive(Debug, PartialEq, Eq)]
struct TooOften {
    wait: Duration,
    limit: Arc<str>,
}

impl Default for Rate {
    fn default() -> Rate {
        Rate { begun: Instant::now(), buckets: Mutex::default() }
    }
}

impl Rate {
    /// Takes one call out of every bucket at `now_ns`; out of none if one of them has none left.
    fn take(&self, wanted: &[Want<'_>], now_ns: u64) -> Result<(), TooOften> {
        let mut buckets = self.buckets();
        let mut taken: SmallVec<[_; 3]> = SmallVec::new();
        let mut refused: Option<TooOften> = None;
        for (limit, of) in wanted {
            let key = buckets.key(limit, of, now_ns);
            let bucket = buckets.kept.get(&key).copied().unwrap_or_default();
            match bucket.take(limit, now_ns) {
                Ok(left) => taken.push((key, left)),
                Err(too_often) => {
                    // Who comes back must not be refused by the next one.
                    if refused.as_ref().is_none_or(|refused| refused.wait < too_often.wait) {
                        refused = Some(too_often);
                    }
                }
            }
        }
        match refused {
            Some(too_often) => Err(too_often),
            None => {
                buckets.kept.extend(taken);
                Ok(())
            }
        }
    }

    fn buckets(&self) -> MutexGuard<'_, Buckets> {
        self.buckets.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Buckets {
    /// The key of a bucket: its own, or the shared one if there is no room.
    fn key(&mut self, limit: &Limit, of: &Arc<str>, now_ns: u64) -> (Arc<str>, Arc<str>) {
        let key = (limit.name.clone(), of.clone());
        if self.kept.len() < BUCKETS_MAX || self.kept.contains_key(&key) {
            return key;
        }
        if now_ns >= self.sweep_at_ns {
            self.sweep_at_ns = now_ns.saturating_add(SWEEP_EVERY_NS);
            self.kept.retain(|_, bucket| !bucket.is_as_new(now_ns));
        }
        if self.kept.len() < BUCKETS_MAX { key } else { (key.0, Arc::default()) }
    }
}

impl Bucket {
    /// What is left after one call.
    fn take(self, limit: &Limit, now_ns: u64) -> Result<Bucket, TooOften> {
        let mut left = self;
        if limit.every_ns > 0 {
            let full_at_ns = self.full_at_ns.max(now_ns);
            let lacking_ns = full_at_ns - now_ns;
            if lacking_ns > limit.lacking_max_ns {
                return Err(limit.refusal(lacking_ns - limit.lacking_max_ns, false));
            }
            left.full_at_ns = full_at_ns.saturating_add(limit.every_ns);
        }
        if let Some(per_day) = limit.per_day {
            if self.of_day == 0 || now_ns >= self.day_end_ns() {
                (left.day_at_ns, left.of_day) = (now_ns, 0);
            }
            if left.of_day >= per_day {
                return Err(limit.refusal(left.day_end_ns() - now_ns, true));
            }
            left.of_day += 1;
        }
        Ok(left)
    }

    fn day_end_ns(self) -> u64 {
        self.day_at_ns.saturating_add(DAY_NS)
    }

    fn is_as_new(self, now_ns: u64) -> bool {
        self.full_at_ns <= now_ns && (self.of_day == 0 || self.day_end_ns() <= now_ns)
    }
}

impl Limit {
    fn refusal(&self, wait_ns: u64, is_quota: bool) -> TooOften {
        let limit = if is_quota { format!("{}.per_day", self.name).into() } else { self.name.clone() };
        TooOften { wait: Duration::from_nanos(wait_ns), limit }
    }
}

impl Stage for Rate {
    fn name(&self) -> &'static str {
        NAME
    }

    fn check(&self, pending: &mut Pending<'_>, bylaws: &Bylaws) -> Result<(), Refusal> {
        // A client watches many things at once, in numbers that the doors bound; and who is refused to stop would be
        // told of changes for ever. A further round has been paid for by the first, and its state is good only once:
        // to refuse it would throw away what a person has answered.
        let is_watch = matches!(pending.action, Some(Action::Subscribe | Action::Unsubscribe));
        if is_watch || pending.goes_on {
            return Ok(());
        }
        let wanted = wanted(&bylaws.rates, pending);
        if wanted.is_empty() {
            return Ok(());
        }
        let now_ns = u64::try_from(self.begun.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.take(&wanted, now_ns).map_err(|TooOften { wait, limit }| {
            let retry_after_ms = u64::try_from(wait.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX);
            Refusal::RateLimited { retry_after_ms, limit }
        })
    }
}

/// The limits that a call has to meet.
fn wanted<'r>(rates: &'r Rates, pending: &Pending<'_>) -> SmallVec<[Want<'r>; 3]> {
    let mut wanted = SmallVec::new();
    let caller = pending.caller.id();
    wanted.extend(rates.of_caller(caller).map(|limit| (limit, caller.clone())));
    if rates.are_plain() {
        return wanted;
    }
    let definition = pending.offered.definition();
    wanted.extend(rates.of_tool(definition.name.as_str()).map(|limit| (limit, definition.name.shared())));
    if let Some(upstream) = &definition.upstream {
        wanted.extend(rates.of_upstream(upstream).map(|limit| (limit, upstream.clone())));
    }
    wanted
}

#[cfg(test)]
mod tests;
