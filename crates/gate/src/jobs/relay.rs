//! `Relay`: the questions of a call that may become a job, on their way to the client whose request it is. The call runs by
//! itself, so that it can outlive the request; the client is there only as long as that is open.

use std::convert::Infallible;

use bytes::Bytes;
use futures_util::StreamExt as _;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use tokio::sync::{mpsc, oneshot};

use crate::approvals::Forms;

/// Questions that wait to be shown. A run asks few at once.
const WAITING_MAX: usize = 8;

/// Where the call asks. Once the request is over nobody can be asked here.
pub(super) struct Relay {
    questions: mpsc::Sender<Question>,
    is_answered_itself: bool,
}

/// Where the request hears it.
pub(super) struct Asked<'a> {
    forms: &'a dyn Forms,
    questions: mpsc::Receiver<Question>,
}

struct Question {
    requests: Bytes,
    answer: oneshot::Sender<Option<Bytes>>,
}

/// Both ends of the way to `forms`.
pub(super) fn relay(forms: &dyn Forms) -> (Relay, Asked<'_>) {
    let (sender, questions) = mpsc::channel(WAITING_MAX);
    let is_answered_itself = forms.is_answered_itself();
    (Relay { questions: sender, is_answered_itself }, Asked { forms, questions })
}

impl Forms for Relay {
    fn ask(&self, requests: Bytes) -> BoxFuture<'_, Option<Bytes>> {
        Box::pin(async move {
            let (answer, answered) = oneshot::channel();
            self.questions.send(Question { requests, answer }).await.ok()?;
            answered.await.ok().flatten()
        })
    }

    fn is_open(&self) -> bool {
        !self.questions.is_closed()
    }

    fn is_answered_itself(&self) -> bool {
        self.is_answered_itself
    }
}

impl Asked<'_> {
    /// Shows what is asked until it is dropped; what is open then is answered elsewhere.
    pub(super) async fn show(mut self) -> Infallible {
        let mut open = FuturesUnordered::new();
        loop {
            tokio::select! {
                Some(question) = self.questions.recv() => open.push(shown(self.forms, question)),
                Some(()) = open.next() => {}
                else => std::future::pending().await,
            }
        }
    }
}

/// Until there is an answer, or nobody wants it any more.
async fn shown(forms: &dyn Forms, Question { requests, mut answer }: Question) {
    let answered = tokio::select! {
        answered = forms.ask(requests) => answered,
        () = answer.closed() => return,
    };
    // Whoever has gone meanwhile needs none.
    let _ = answer.send(answered);
}

#[cfg(test)]
mod tests {
    use std::future::pending;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// Answers with what it is asked, but never to `?`; counts what is open.
    #[derive(Default)]
    struct Client(AtomicUsize);

    struct Open<'c>(&'c AtomicUsize);

    impl Drop for Open<'_> {
        fn drop(&mut self) {
            self.0.fetch_sub(1, Ordering::Relaxed);
        }
    }

    impl Forms for Client {
        fn ask(&self, requests: Bytes) -> BoxFuture<'_, Option<Bytes>> {
            self.0.fetch_add(1, Ordering::Relaxed);
            let open = Open(&self.0);
            Box::pin(async move {
                let _open = open;
                if *requests == *b"?" { pending().await } else { Some(requests) }
            })
        }
    }

    #[tokio::test]
    async fn a_client_is_asked_as_long_as_its_request_is_open() {
        let client = Client::default();
        let (relay, asked) = relay(&client);
        let asks = |what: &'static str| relay.ask(Bytes::from_static(what.as_bytes()));
        let open = || client.0.load(Ordering::Relaxed);
        {
            let mut shown = std::pin::pin!(asked.show());
            let answered = tokio::select! {
                answered = async { tokio::join!(asks("a"), asks("b")) } => answered,
                never = &mut shown => match never {},
            };
            assert_eq!(answered, (Some("a".into()), Some("b".into())));
            assert!(relay.is_open());
            // It was answered elsewhere: the client is told.
            let is_open = async {
                while open() == 0 {
                    tokio::task::yield_now().await;
                }
            };
            tokio::select! {
                answered = asks("?") => panic!("{answered:?}"),
                () = is_open => {}
                never = &mut shown => match never {},
            }
            let is_closed = async {
                while open() > 0 {
                    tokio::task::yield_now().await;
                }
            };
            tokio::select! {
                () = is_closed => {}
                never = &mut shown => match never {},
            }
        }
        // The request is over.
        assert!(!relay.is_open());
        assert_eq!(asks("a").await, None);
    }
}
