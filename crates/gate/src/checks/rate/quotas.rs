//! Calls a day: counted for all processes that share a state folder, and beyond their ends.
//!
//! A process takes a share of a day's calls out of the store and spends it in memory. The first share is one call, each
//! further one twice as much up to a hundredth of the day's, so a command takes what it needs, a server writes seldom, and
//! what a process leaves unspent when it ends is little. Together they never get more than there is.

use std::sync::Arc;

use store::{KEY_BYTES_MAX, Period, Store};

use crate::clock::Clock;

/// The time that `per_day` is about, from the first call on, in milliseconds.
pub(super) const DAY_MS: i64 = 24 * 60 * 60 * 1_000;

/// How many shares a day has at least, if it has so many calls.
const SHARES_MIN: u32 = 100;

/// A limit's name and what it limits.
pub(super) type Key = (Arc<str>, Arc<str>);

/// Where days are counted.
pub(crate) struct Quotas {
    store: Arc<dyn Store>,
    clock: Clock,
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

impl Share {
    /// Whether the day is over, or has never begun. One that begins later than a day from now was begun by a clock that was
    /// wrong.
    pub(super) fn is_over(&self, now_ms: i64) -> bool {
        self.given == 0 || day(now_ms).is_over(self.day_at_ms)
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

fn day(now_ms: i64) -> Period {
    Period { now_ms, lasts_ms: DAY_MS }
}

impl Quotas {
    /// Counts that are kept in this store, of days by this clock.
    pub(crate) fn kept_in(store: Arc<dyn Store>, clock: Clock) -> Quotas {
        Quotas { store, clock }
    }

    /// The time, in milliseconds since 1970.
    pub(super) fn now_ms(&self) -> i64 {
        (self.clock)()
    }

    /// A share of what there is of a limit; an empty one if the day has none left.
    ///
    /// # Errors
    /// Why it cannot be counted, in words.
    pub(super) async fn share(
        &self,
        (limit, of): &Key,
        per_day: u32,
        before: Share,
        now_ms: i64,
    ) -> Result<Share, String> {
        let size = before.size.saturating_mul(2).clamp(1, (per_day / SHARES_MIN).max(1));
        let taken = self.store.take(&key(limit, of), size, per_day, day(now_ms)).await;
        let taken = taken.map_err(|error| error.to_string())?;
        Ok(Share { day_at_ms: taken.begun_at_ms, left: taken.taken, given: taken.count, size })
    }
}

/// The name of a count.
fn key(limit: &str, of: &str) -> String {
    let key = format!("{limit}\n{of}");
    if key.len() <= KEY_BYTES_MAX { key } else { audit::Hash::of(key.as_bytes()).to_string() }
}
