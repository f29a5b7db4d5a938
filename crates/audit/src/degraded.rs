//! Tells the program's log when the audit log begins to refuse calls, and when it takes records again. Whoever watches
//! that log sees no answers of calls.

use std::collections::HashMap;
use std::error::Error;
use std::mem::{Discriminant, discriminant};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::error::AuditError;

/// The same cause is not told again before this: a disk may fail and work by turns, four times a second.
const REPEAT_AFTER: Duration = Duration::from_secs(60);

type Cause = Discriminant<AuditError>;

/// What may fail by itself.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Part {
    Records,
    Intents,
}

/// What was told.
#[derive(Default)]
pub(crate) struct Degraded(Mutex<Causes>);

#[derive(Default)]
struct Causes {
    /// The cause that holds for each part, if it was told.
    current: [Option<Cause>; 2],
    /// When each cause was told last; there are as many as [`AuditError`] has kinds.
    last: HashMap<Cause, Instant>,
}

impl Degraded {
    /// Tells of a part's failure, or that nothing fails any more, unless that was told.
    pub(crate) fn report(&self, part: Part, failure: Option<&AuditError>) {
        // Nothing in here can panic half way through a change.
        let mut causes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match failure {
            Some(failure) if causes.is_news(part, discriminant(failure), Instant::now()) => {
                let cause = failure.source().map(|source| format!(": {source}")).unwrap_or_default();
                tracing::error!("{failure}{cause}");
            }
            None if causes.is_end(part) => tracing::info!("the audit log takes records again"),
            _ => {}
        }
    }
}

impl Causes {
    /// Whether this cause is to be told of now; it is noted then.
    fn is_news(&mut self, part: Part, cause: Cause, now: Instant) -> bool {
        if self.current.contains(&Some(cause)) {
            return false;
        }
        if self.last.get(&cause).is_some_and(|last| now.duration_since(*last) < REPEAT_AFTER) {
            return false;
        }
        self.last.insert(cause, now);
        self.current[part as usize] = Some(cause);
        true
    }

    /// Whether this part was the last one of which a failure was told.
    fn is_end(&mut self, part: Part) -> bool {
        self.current[part as usize].take().is_some() && self.current == [None; 2]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cause_is_told_once_and_a_minute_later_at_the_earliest() {
        let (start, mut causes) = (Instant::now(), Causes::default());
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
                Some(cause) => causes.is_news(Part::Records, cause, start + Duration::from_secs(second)),
                None => {
                    causes.is_end(Part::Records);
                    false
                }
            };
            assert_eq!(is_told, expected, "second {second}");
        }
    }
    #[test]
    fn all_is_well_again_when_the_last_part_is() {
        let mut causes = Causes::default();
        let (full, removed) = (discriminant(&AuditError::Full), discriminant(&AuditError::Removed));
        assert!(causes.is_news(Part::Records, full, Instant::now()));
        assert!(causes.is_news(Part::Intents, removed, Instant::now()));
        assert!(!causes.is_end(Part::Records));
        assert!(causes.is_end(Part::Intents));
        assert!(!causes.is_end(Part::Intents));
    }
}
