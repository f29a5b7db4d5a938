//! Does somebody ask too often? One bucket for each caller, and for each tool and upstream that has a limit of its own.
//!
//! The buckets are those of the generic cell rate algorithm (ITU-T I.371): one number each, the time at which the
//! bucket is full again. How many calls of a day are left is asked of [`quotas`].

mod limits;
mod quotas;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use smallvec::SmallVec;
use tool_api::Action;

use limits::Limit;
pub use limits::{LimitConfig, RateConfig, RateProblem, Rates};
pub(crate) use quotas::Quotas;
use quotas::{Key, Share};

use crate::candidate::Candidate;
use crate::failure::Refusal;

/// Most buckets kept. Beyond it, those that are full are forgotten, which are as good as new; if none is, newcomers
/// share one bucket for each limit.
const BUCKETS_MAX: usize = 10_000;

/// How often full buckets are looked for at most; there are [`BUCKETS_MAX`] to look at.
const SWEEP_EVERY_NS: u64 = 1_000_000_000;

/// How often a call asks for shares of its days that others spend before it.
const SHARES_PER_CALL_MAX: usize = 64;

/// The check's name in records.
pub(crate) const NAME: &str = "rate";

/// The check. What it remembers outlives a change of the limits.
pub(crate) struct Rate {
    begun: Instant,
    buckets: Mutex<Buckets>,
    quotas: Arc<Quotas>,
}

#[derive(Default)]
struct Buckets {
    kept: HashMap<Key, Bucket>,
    sweep_at_ns: u64,
}

/// Times are nanoseconds since the check was made.
#[derive(Debug, Clone, Copy, Default)]
struct Bucket {
    /// When it is full again.
    full_at_ns: u64,
    /// What may be spent of its day.
    day: Share,
}

/// One limit that a call has to meet, and what of.
type Want<'r> = (&'r Limit, Arc<str>);

/// Which limit is not met, and for how long.
#[derive(Debug, PartialEq, Eq)]
struct TooOften {
    wait: Duration,
    limit: Arc<str>,
}

impl Rate {
    /// A check that counts days so.
    pub(crate) fn counting(quotas: Quotas) -> Rate {
        Rate { begun: Instant::now(), buckets: Mutex::default(), quotas: Arc::new(quotas) }
    }

    /// Lets the call pass, or says for how long not.
    ///
    /// # Errors
    /// It comes too often, or the calls of its day cannot be counted.
    pub(crate) async fn check(&self, candidate: &Candidate, rates: &Rates) -> Result<(), Refusal> {
        // What ends a subscription was paid for by what began it, and who is refused to stop would be told of changes for
        // ever. A further round has been paid for by the first, and its state is good only once: to refuse it would throw
        // away what a person has answered.
        if candidate.action == Some(Action::Unsubscribe) || candidate.goes_on {
            return Ok(());
        }
        let caller = candidate.caller.id();
        let subscribing =
            (candidate.action == Some(Action::Subscribe)).then(|| rates.of_subscriptions(caller));
        let wanted = match &subscribing {
            // A bucket of its own, beside that of the caller's calls.
            Some(limit) => {
                limit.iter().map(|limit| (limit, format!("{caller} subscribing").into())).collect()
            }
            None => wanted(rates, candidate),
        };
        if wanted.is_empty() {
            return Ok(());
        }
        let now_ns = u64::try_from(self.begun.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.take(&wanted, now_ns).await
    }

    /// Takes one call out of every bucket at `now_ns`; out of none if one of them has none left.
    async fn take(&self, wanted: &[Want<'_>], now_ns: u64) -> Result<(), Refusal> {
        let counts_days = wanted.iter().any(|(limit, _)| limit.per_day.is_some());
        let now_ms = if counts_days { self.quotas.now_ms() } else { 0 };
        for _ in 0..SHARES_PER_CALL_MAX {
            let Some((key, per_day, before)) = self.take_at(wanted, now_ns, now_ms)? else { return Ok(()) };
            // Nobody waits for the disk but this call, and it only once for many calls.
            let share = self.quotas.share(&key, per_day, before, now_ms).await;
            self.buckets().kept.entry(key).or_default().day.add(share.map_err(Refusal::NoQuota)?);
        }
        Err(Refusal::NoQuota("too many calls at once".to_owned()))
    }

    /// The same with what there is: the bucket that needs another share of its day first, and what it has had.
    fn take_at(
        &self,
        wanted: &[Want<'_>],
        now_ns: u64,
        now_ms: i64,
    ) -> Result<Option<(Key, u32, Share)>, Refusal> {
        let mut buckets = self.buckets();
        let mut taken: SmallVec<[_; 3]> = SmallVec::new();
        let (mut refused, mut lacks): (Option<TooOften>, _) = (None, None);
        for (limit, of) in wanted {
            let key = buckets.key(limit, of, now_ns, &self.quotas);
            let bucket = buckets.kept.get(&key).copied().unwrap_or_default();
            match bucket.take(limit, now_ns, now_ms) {
                Ok(Some(left)) => taken.push((key, left)),
                Ok(None) => lacks = Some((key, limit.per_day.unwrap_or_default(), bucket.day)),
                // Who comes back must not be refused by the next one.
                Err(other) if refused.as_ref().is_none_or(|refused| refused.wait < other.wait) => {
                    refused = Some(other);
                }
                Err(_) => {}
            }
        }
        if let Some(TooOften { wait, limit }) = refused {
            let retry_after_ms = u64::try_from(wait.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX);
            return Err(Refusal::RateLimited { retry_after_ms, limit });
        }
        if lacks.is_none() {
            buckets.kept.extend(taken);
        }
        Ok(lacks)
    }

    fn buckets(&self) -> MutexGuard<'_, Buckets> {
        self.buckets.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Buckets {
    /// The key of a bucket: its own, or the shared one if there is no room.
    fn key(&mut self, limit: &Limit, of: &Arc<str>, now_ns: u64, quotas: &Quotas) -> Key {
        let key = (limit.name.clone(), of.clone());
        if self.kept.len() < BUCKETS_MAX || self.kept.contains_key(&key) {
            return key;
        }
        if now_ns >= self.sweep_at_ns {
            self.sweep_at_ns = now_ns.saturating_add(SWEEP_EVERY_NS);
            let now_ms = quotas.now_ms();
            self.kept.retain(|_, bucket| !bucket.is_as_new(now_ns, now_ms));
        }
        if self.kept.len() < BUCKETS_MAX { key } else { (key.0, Arc::default()) }
    }
}

impl Bucket {
    /// What is left after one call; nothing if it needs another share of its day.
    fn take(self, limit: &Limit, now_ns: u64, now_ms: i64) -> Result<Option<Bucket>, TooOften> {
        let mut left = self;
        if limit.every_ns > 0 {
            let full_at_ns = self.full_at_ns.max(now_ns);
            let lacking_ns = full_at_ns - now_ns;
            if lacking_ns > limit.lacking_max_ns {
                let wait = Duration::from_nanos(lacking_ns - limit.lacking_max_ns);
                return Err(TooOften { wait, limit: limit.name.clone() });
            }
            left.full_at_ns = full_at_ns.saturating_add(limit.every_ns);
        }
        if let Some(per_day) = limit.per_day {
            if left.day.is_over(now_ms) || (left.day.left == 0 && left.day.given < per_day) {
                return Ok(None);
            }
            let Some(rest) = left.day.left.checked_sub(1) else {
                let wait_ms = u64::try_from(left.day.end_ms() - now_ms).unwrap_or(0);
                let limit = format!("{}.per_day", limit.name).into();
                return Err(TooOften { wait: Duration::from_millis(wait_ms), limit });
            };
            left.day.left = rest;
        }
        Ok(Some(left))
    }

    fn is_as_new(self, now_ns: u64, now_ms: i64) -> bool {
        self.full_at_ns <= now_ns && self.day.is_over(now_ms)
    }
}

/// The limits that a call has to meet.
fn wanted<'r>(rates: &'r Rates, candidate: &Candidate) -> SmallVec<[Want<'r>; 3]> {
    let mut wanted = SmallVec::new();
    let caller = candidate.caller.id();
    wanted.extend(rates.of_caller(caller).map(|limit| (limit, caller.clone())));
    if rates.are_plain() {
        return wanted;
    }
    let definition = candidate.offered.definition();
    wanted.extend(rates.of_tool(definition.name.as_str()).map(|limit| (limit, definition.name.shared())));
    if let Some(upstream) = definition.origin.upstream() {
        wanted.extend(rates.of_upstream(upstream).map(|limit| (limit, upstream.clone())));
    }
    wanted
}

#[cfg(test)]
mod tests;
