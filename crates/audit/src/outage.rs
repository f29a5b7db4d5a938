//! What the log is told of an audit log that cannot be written: when it begins to refuse calls, and when it takes records
//! again. Whoever watches the log sees no answers of calls.

use std::{
    error::Error,
    mem::{Discriminant, discriminant},
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use crate::error::AuditError;

/// The same cause is not told again before this: a disk may fail and work by turns, four times a second.
const TOLD_AGAIN_AFTER: Duration = Duration::from_secs(60);

type Cause = Discriminant<AuditError>;

/// What was told.
#[derive(Default)]
pub(crate) struct Outage(Mutex<Told>);

#[derive(Default)]
struct Told {
    /// The cause that holds, if it was told.
    holds: Option<Cause>,
    /// When each cause was told last; there are as many as [`AuditError`] has kinds.
    last: Vec<(Cause, Instant)>,
}

impl Outage {
    /// Tells the log of a failure, or of its end, unless it knows.
    pub(crate) fn tell(&self, failure: Option<&AuditError>) {
        // Nothing in here can panic half way through a change.
        let mut told = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match failure {
            Some(failure) if told.is_news(discriminant(failure), Instant::now()) => {
                let cause = failure.source().map(|source| format!(": {source}")).unwrap_or_default();
                tracing::error!("{failure}{cause}");
            }
            None if told.holds.take().is_some() => tracing::info!("the audit log takes records again"),
            _ => {}
        }
    }
}

impl Told {
    /// Whether this cause is to be told of now; it is noted then.
    fn is_news(&mut self, cause: Cause, now: Instant) -> bool {
        if self.holds == Some(cause) {
            return false;
        }
        match self.last.iter_mut().find(|(told, _)| *told == cause) {
            Some((_, last)) if now.duration_since(*last) < TOLD_AGAIN_AFTER => return false,
            Some((_, last)) => *last = now,
            None => self.last.push((cause, now)),
        }
        self.holds = Some(cause);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cause_is_told_once_and_a_minute_later_at_the_earliest() {
        let (start, mut told) = (Instant::now(), Told::default());
        let (full, removed) = (discriminant(&AuditError::Full), discriminant(&AuditError::Removed));
        for (second, cause, expected) in [
            (0, Some(full), true),
            (1, Some(full), false),
            // It goes on for as long as it likes.
            (100, Some(full), false),
            (101, Some(removed), true),
            // By turns, each for a moment.
            (102, Some(full), true),
            (103, None, false),
            (104, Some(full), false),
            (105, Some(removed), false),
            (161, Some(full), false),
            (162, Some(full), true),
            (170, None, false),
            (221, Some(full), false),
            (222, Some(full), true),
        ] {
            let is_told = match cause {
                Some(cause) => told.is_news(cause, start + Duration::from_secs(second)),
                None => {
                    told.holds = None;
                    false
                }
            };
            assert_eq!(is_told, expected, "second {second}");
        }
    }
}
