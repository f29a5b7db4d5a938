//! Our requests to one client, and its answers. An answer is matched within its session, so no other client can
//! give it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;
use wire::Id;
use wire::message::Text;

/// Most requests of ours that one client may leave unanswered.
const QUESTIONS_MAX: usize = 1_000;

/// A result, or an error object, as JSON text.
pub(crate) type Answer = Result<Text, Text>;

/// The requests that one client has not answered.
#[derive(Default)]
pub(super) struct Questions(Arc<Mutex<Open>>);

#[derive(Default)]
struct Open {
    latest: u64,
    unanswered: HashMap<u64, oneshot::Sender<Answer>>,
}

impl Questions {
    pub(super) fn ask(&self) -> Option<Question> {
        let mut open = lock(&self.0);
        if open.unanswered.len() >= QUESTIONS_MAX {
            return None;
        }
        open.latest += 1;
        let number = open.latest;
        let (sender, answer) = oneshot::channel();
        open.unanswered.insert(number, sender);
        drop(open);
        Some(Question { open: self.0.clone(), number, answer })
    }

    pub(super) fn answer(&self, id: &Id, answer: Answer) -> bool {
        let waiting = id.as_number().and_then(|number| lock(&self.0).unanswered.remove(&number));
        // The call that waited may have ended meanwhile.
        waiting.is_some_and(|waiting| waiting.send(answer).is_ok())
    }
}

/// What it guards is sound between any two statements.
fn lock(open: &Mutex<Open>) -> MutexGuard<'_, Open> {
    open.lock().unwrap_or_else(PoisonError::into_inner)
}

/// One request of ours; forgotten when dropped.
pub(crate) struct Question {
    open: Arc<Mutex<Open>>,
    number: u64,
    answer: oneshot::Receiver<Answer>,
}

impl Question {
    /// The id that it goes out under.
    pub(crate) fn id(&self) -> Id {
        Id::number(self.number)
    }

    /// What the client answers; nothing if its session ends before.
    pub(crate) async fn answered(&mut self) -> Option<Answer> {
        (&mut self.answer).await.ok()
    }
}

impl Drop for Question {
    fn drop(&mut self) {
        lock(&self.open).unanswered.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use crate::session::Session;
    use bytes::Bytes;
    use futures_util::FutureExt;
    use gate::{Caller, Via};
    use wire::Revision;

    use super::*;

    fn session() -> Arc<Session> {
        Session::new(Caller::local_user(Via::Stdio), Revision::LATEST_LEGACY)
    }

    fn text(json: &'static str) -> Text {
        Text::check(Bytes::from_static(json.as_bytes())).expect("a sample is sound")
    }

    #[test]
    fn an_answer_reaches_who_asked_once_and_in_its_own_session_only() {
        let (session, other) = (session(), session());
        let mut question = session.ask().expect("room");
        let foreign = other.ask().expect("room");
        assert_eq!(question.id(), foreign.id(), "ids are alike in all sessions");
        assert!(!session.answer(&Id::number(77), Ok(text("1"))));
        assert!(question.answered().now_or_never().is_none());
        assert!(session.answer(&question.id(), Ok(text("2"))));
        assert!(!session.answer(&question.id(), Ok(text("3"))), "answered twice");
        assert_eq!(question.answered().now_or_never().flatten(), Some(Ok(text("2"))));
        let id = foreign.id();
        drop(foreign);
        assert!(!other.answer(&id, Ok(text("4"))), "nobody waits any more");
    }

    #[test]
    fn open_questions_are_bounded() {
        let session = session();
        let open: Vec<_> = (0..QUESTIONS_MAX).map(|_| session.ask().expect("room")).collect();
        assert!(session.ask().is_none());
        drop(open);
        assert!(session.ask().is_some());
    }
}
