//! What time it is: by the system, or in tests as the test says. Tokens end by the wall clock, also while the machine
//! sleeps.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Tells the time.
#[derive(Clone)]
pub(super) enum Clock {
    System,
    #[cfg(test)]
    Set(std::sync::Arc<std::sync::atomic::AtomicU64>),
}

impl Clock {
    /// In seconds since 1970.
    pub(super) fn now(&self) -> u64 {
        match self {
            Clock::System => SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs()),
            #[cfg(test)]
            Clock::Set(now) => now.load(std::sync::atomic::Ordering::Relaxed),
        }
    }
}

/// The time `seconds` after the beginning of 1970; none if the system cannot name it.
pub(super) fn time_at(seconds: u64) -> Option<SystemTime> {
    UNIX_EPOCH.checked_add(Duration::from_secs(seconds))
}
