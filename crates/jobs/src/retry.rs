//! Trying again: only what may be done twice, and later each time.

use std::time::Duration;

/// Most tries after the first.
pub const RETRIES_MAX: u32 = 5;

/// How long to wait before the next try, once there have been so many: 1, 2, 4 s and so on.
pub fn back_off(tried: u32) -> Duration {
    Duration::from_secs(1 << tried.saturating_sub(1).min(RETRIES_MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_wait_is_twice_the_one_before() {
        for (tried, seconds) in [(0, 1), (1, 1), (2, 2), (3, 4), (4, 8), (5, 16), (6, 32), (u32::MAX, 32)] {
            assert_eq!(back_off(tried).as_secs(), seconds, "{tried}");
        }
    }
}
