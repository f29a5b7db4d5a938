//! What a session knows beside its record, and what went wrong lately. One task at a time has it.

use std::sync::Arc;

use crate::challenge::Challenge;
use crate::error::AuthError;
use crate::metadata::Discovered;

/// After a failure it is not tried again for so long, and twice as long after each further one.
const PAUSE_SECONDS_MIN: u64 = 5;

/// Then at least every so often.
const PAUSE_SECONDS_MAX: u64 = 300;

/// Metadata changes rarely; a refusal of a token has it read again anyway.
const DISCOVERED_SECONDS_MAX: u64 = 3600;

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

/// What a session knows beside its record.
#[derive(Default)]
pub(super) struct Work {
    /// What the server said last when it refused a request.
    pub(super) challenge: Option<Challenge>,
    discovered: Option<(Arc<Discovered>, u64)>,
    failure: Option<Failure>,
    /// The fingerprint of a token that the server has refused and that cannot be renewed.
    pub(super) refused: Option<String>,
}

struct Failure {
    error: AuthError,
    until: u64,
    pause: u64,
}

impl Work {
    /// What was discovered not long before `now`.
    pub(super) fn discovered(&self, now: u64) -> Option<Arc<Discovered>> {
        let (discovered, at) = self.discovered.as_ref()?;
        let age = now.checked_sub(*at)?;
        (age < DISCOVERED_SECONDS_MAX).then(|| Arc::clone(discovered))
    }

    pub(super) fn discover(&mut self, discovered: &Arc<Discovered>, now: u64) {
        self.discovered = Some((Arc::clone(discovered), now));
    }

    /// The last failure, while it is too early to try again.
    pub(super) fn failed_lately(&self, now: u64) -> Result<(), AuthError> {
        match &self.failure {
            Some(failure) if is_pause(now, failure.until, failure.pause) => Err(failure.error.clone()),
            _ => Ok(()),
        }
    }

    /// Until when nothing is tried after the last failure.
    pub(super) fn paused_until(&self) -> Option<u64> {
        self.failure.as_ref().map(|failure| failure.until)
    }

    /// Notes how an attempt ended. A person who has to sign in is no failure: nothing is asked of any server until
    /// that has happened. A success between failures does not make the pauses short again at once: a server may
    /// issue tokens all the time that another one refuses.
    pub(super) fn note<T>(&mut self, outcome: &Result<T, AuthError>, now: u64) {
        let Err(error @ (AuthError::Failed(_) | AuthError::Keep(_))) = outcome else {
            if let Some(failure) = &mut self.failure {
                failure.until = failure.until.min(now);
            }
            return;
        };
        let before = self.failure.as_ref().filter(|failure| now < failure.until + 2 * PAUSE_SECONDS_MAX);
        let pause = before.map_or(0, |failure| failure.pause * 2).clamp(PAUSE_SECONDS_MIN, PAUSE_SECONDS_MAX);
        self.failure = Some(Failure { error: error.clone(), until: now + pause, pause });
    }

    /// A person has signed in or out: what went wrong before does not matter any more.
    pub(super) fn start_over(&mut self) {
        self.failure = None;
        self.refused = None;
    }
}

/// True from the beginning of a pause of so many seconds to its end at `until`. What is further ahead was settled by a
/// clock that has been put back since.
fn is_pause(now: u64, until: u64, seconds: u64) -> bool {
    until.checked_sub(now).is_some_and(|left| (1..=seconds).contains(&left))
}
