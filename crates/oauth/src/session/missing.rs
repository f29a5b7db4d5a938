//! `Missing`: how the last look for a token ended that found none.

use super::work::is_pause;
use crate::error::AuthError;

/// While there is no token, it is looked for so often at most: another process may have got one.
pub(super) const LOOK_SECONDS: u64 = 2;

/// There is no token, or was none at the last look.
#[derive(Default)]
pub(super) struct Missing {
    pub(super) error: Option<AuthError>,
    /// When to look again, in seconds since 1970.
    pub(super) until: u64,
}

impl Missing {
    /// Whether it is too early to look again.
    pub(super) fn holds(&self, now: u64) -> bool {
        is_pause(now, self.until, LOOK_SECONDS)
    }
}
