//! Which requests make a server ask its clients something, as far as it has shown that. A server on a shared pipe does
//! not say for which call it asks. So a request that is not known to pass without a question gets the pipe for its
//! client's conversation alone.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex};

use tokio::sync::Notify;
use tokio::sync::futures::Notified;
use wire::message::Text;

/// Requests of one server whose habits are known; more stay unknown, which is safe.
const KNOWN_MAX: usize = 10_000;

const UNKNOWN: u8 = 0;
const QUIET: u8 = 1;
const ASKS: u8 = 2;
const ASKS_SOMEBODY: u8 = 3;

/// The habits of one server.
#[derive(Default)]
pub(crate) struct Habits {
    known: Mutex<HashMap<Box<str>, Arc<Habit>>>,
    /// Tells those who wait for their turn to look again.
    changed: Arc<Notify>,
}

/// What one tool, or one method, has done so far.
#[derive(Default)]
pub(crate) struct Habit {
    seen: AtomicU8,
    changed: Arc<Notify>,
}

impl Habits {
    /// The habit of the tool or method `name`.
    pub(crate) fn of(&self, name: &str) -> Arc<Habit> {
        let mut known = self.known.lock().expect("nothing panics while it holds the lock");
        if let Some(habit) = known.get(name) {
            return habit.clone();
        }
        let habit = Arc::new(Habit { seen: AtomicU8::new(UNKNOWN), changed: self.changed.clone() });
        if known.len() < KNOWN_MAX {
            known.insert(name.into(), habit.clone());
        }
        habit
    }

    /// Resolves when a call has ended, or a habit has become known, after this was called and enabled.
    pub(crate) fn changed(&self) -> Notified<'_> {
        self.changed.notified()
    }
}

impl Habit {
    /// A call asks its client. From then on it always may. Some questions need nobody to think.
    pub(crate) fn asks(&self, is_for_somebody: bool) {
        let seen = if is_for_somebody { ASKS_SOMEBODY } else { ASKS };
        self.seen.fetch_max(seen, Ordering::Relaxed);
        self.tell();
    }

    /// A call has been answered. If nothing was asked, and it did not fail, the next one will not ask either.
    pub(crate) fn answered(&self, result: &Text) {
        let is_error = || result.object().is_some_and(|result| result.get("isError") == Some("true"));
        if self.seen.load(Ordering::Relaxed) == UNKNOWN && !is_error() {
            self.seen.store(QUIET, Ordering::Relaxed);
        }
    }

    /// True if calls have been answered, and none has asked.
    pub(crate) fn is_quiet(&self) -> bool {
        self.seen.load(Ordering::Relaxed) == QUIET
    }

    /// True if a call has asked somebody what may take long to answer.
    pub(crate) fn asks_somebody(&self) -> bool {
        self.seen.load(Ordering::Relaxed) == ASKS_SOMEBODY
    }

    /// Has those who wait for their turn look again.
    pub(crate) fn tell(&self) {
        self.changed.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    #[test]
    fn a_tool_is_quiet_once_it_was_answered_and_asks_from_its_first_question_on() {
        let habits = Habits::default();
        let answered = |json: &'static str| {
            habits.of("a").answered(&Text::check(Bytes::from_static(json.as_bytes())).expect("JSON"));
            habits.of("a").is_quiet()
        };
        assert!(!habits.of("a").is_quiet() && !answered(r#"{"isError":true}"#));
        assert!(answered("{}"));
        habits.of("a").asks(false);
        assert!(!answered("{}") && !habits.of("a").asks_somebody());
        habits.of("a").asks(true);
        habits.of("a").asks(false);
        assert!(habits.of("a").asks_somebody());
        assert!(!habits.of("b").is_quiet());
    }
}
