//! Calls a day: counted for all processes that share a state folder, and beyond their ends.
//!
//! A process takes a share of a day's calls out of the store and spends it in memory. The first share is one call, each
//! further one twice as much up to a hundredth of the day's, so a command takes what it needs, a server writes seldom, and
//! what a process leaves unspent when it ends is little. Together they never get more than there is.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use serde::{Deserialize, Serialize};
use store::{SECRET_NAME_BYTES_MAX, Store, StoreError};

use super::Key;
use crate::clock::Clock;

/// Under which kind the counts are kept.
const KIND: &str = "quota";

/// The time that `per_day` is about, from the first call on, in milliseconds.
pub(super) const DAY_MS: i64 = 24 * 60 * 60 * 1_000;

/// How many shares a day has at least, if it has so many calls.
const SHARES_MIN: u32 = 100;

/// How often a share is tried to be taken that somebody else came before.
const RACES_MAX: usize = 64;

/// How often counts of days that are over are looked for at most, in milliseconds.
const SWEEP_EVERY_MS: i64 = 10 * 60 * 1_000;

/// Most counts that are removed at once: each is a write of its own.
const SWEPT_AT_ONCE_MAX: usize = 64;

/// Where days are counted.
pub(crate) struct Quotas {
    /// Nothing: by this process alone, as long as it runs.
    store: Option<Arc<dyn Store>>,
    clock: Clock,
    sweep_at_ms: AtomicI64,
}

/// What is known of a day, and what may still be spent of it here.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Share {
    /// When the day began, in milliseconds since 1970.
    pub(super) day_at_ms: i64,
    /// Calls that may be made without asking.
    pub(super) left: u32,
    /// Calls of the day that are spent, or somebody's share.
    pub(super) given: u32,
    /// How many calls the last share had.
    size: u32,
}

/// A count as it is kept.
#[derive(Serialize, Deserialize)]
struct Day {
    begun_at_ms: i64,
    calls: u32,
}

impl Share {
    /// Whether the day is over, or has never begun. One that begins later than a day from now was begun by a clock that was
    /// wrong.
    pub(super) fn is_over(&self, now_ms: i64) -> bool {
        self.given == 0 || is_over(self.day_at_ms, now_ms)
    }

    /// When the next day begins.
    pub(super) fn end_ms(&self) -> i64 {
        self.day_at_ms.saturating_add(DAY_MS)
    }

    /// Adds another share of the same day, or begins a new one with it.
    pub(super) fn add(&mut self, more: Share) {
        let left = if self.day_at_ms == more.day_at_ms { self.left } else { 0 };
        *self = Share { left: left.saturating_add(more.left), ..more };
    }
}

fn is_over(day_at_ms: i64, now_ms: i64) -> bool {
    now_ms >= day_at_ms.saturating_add(DAY_MS) || now_ms.saturating_add(DAY_MS) < day_at_ms
}

impl Default for Quotas {
    fn default() -> Quotas {
        Quotas { store: None, clock: || 0, sweep_at_ms: AtomicI64::new(0) }
    }
}

impl Quotas {
    /// Counts that are kept in this store, of days by this clock.
    pub(crate) fn kept_in(store: Arc<dyn Store>, clock: Clock) -> Quotas {
        Quotas { store: Some(store), clock, sweep_at_ms: AtomicI64::new(0) }
    }

    /// The time, in milliseconds since 1970.
    pub(super) fn now_ms(&self) -> i64 {
        (self.clock)()
    }

    /// A share of what there is of a limit; an empty one if the day has none left. Blocks on the disk.
    ///
    /// # Errors
    /// Why it cannot be counted, in words.
    pub(super) fn share(
        &self,
        (limit, of): &Key,
        per_day: u32,
        before: Share,
        now_ms: i64,
    ) -> Result<Share, String> {
        let Some(store) = &self.store else {
            let (day_at_ms, given) =
                if before.is_over(now_ms) { (now_ms, 0) } else { (before.day_at_ms, before.given) };
            let left = per_day.saturating_sub(given);
            return Ok(Share { day_at_ms, left, given: given.max(per_day), size: left });
        };
        self.sweep(&**store, now_ms);
        let key = key(limit, of);
        let size = before.size.saturating_mul(2).clamp(1, (per_day / SHARES_MIN).max(1));
        for _ in 0..RACES_MAX {
            let kept = store.record(KIND, &key).map_err(said)?;
            let day = kept.as_ref().and_then(|kept| serde_json::from_str::<Day>(&kept.value).ok());
            let day = day.filter(|day| !is_over(day.begun_at_ms, now_ms));
            let Day { begun_at_ms, calls } = day.unwrap_or(Day { begun_at_ms: now_ms, calls: 0 });
            let left = size.min(per_day.saturating_sub(calls));
            let given = calls.saturating_add(left);
            let share = Share { day_at_ms: begun_at_ms, left, given, size };
            if left == 0 {
                return Ok(share);
            }
            let value = serde_json::to_string(&Day { begun_at_ms, calls: given });
            let value = value.expect("two numbers are JSON");
            let version = kept.map(|kept| kept.version);
            if store.replace_record(KIND, &key, version, Some(&value)).map_err(said)?.is_some() {
                return Ok(share);
            }
        }
        Err("too many processes count at once".to_owned())
    }

    /// Removes counts of days that are over. What cannot be removed now is later.
    fn sweep(&self, store: &dyn Store, now_ms: i64) {
        let due_ms = self.sweep_at_ms.load(Ordering::Relaxed);
        let next_ms = now_ms.saturating_add(SWEEP_EVERY_MS);
        let order = Ordering::Relaxed;
        if now_ms < due_ms || self.sweep_at_ms.compare_exchange(due_ms, next_ms, order, order).is_err() {
            return;
        }
        let is_done = |value: &str| {
            serde_json::from_str::<Day>(value).is_ok_and(|day| is_over(day.begun_at_ms, now_ms))
        };
        let kept = store.records(KIND).unwrap_or_default();
        for kept in kept.iter().filter(|kept| is_done(&kept.value)).take(SWEPT_AT_ONCE_MAX) {
            // Somebody may have begun the next day.
            let _ = store.replace_record(KIND, &kept.key, Some(kept.version), None);
        }
    }
}

fn said(error: StoreError) -> String {
    error.to_string()
}

/// The name of a count.
fn key(limit: &str, of: &str) -> String {
    let key = format!("{limit}\n{of}");
    if key.len() <= SECRET_NAME_BYTES_MAX { key } else { audit::Hash::of(key.as_bytes()).to_string() }
}
