//! `Turns`: how many requests of one connection are answered before others have their turn. A client may send any
//! number of requests without waiting for answers (RFC 9112, section 9.3.2); all of them are there when the connection
//! is looked at, and would be answered one after the other while everybody else waits.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Requests of one connection that are answered in one turn. Nearly all clients wait for an answer before they send the
/// next request, and never meet this; of the others nobody is in such a hurry that somebody else should wait for two.
const REQUESTS_PER_TURN_MAX: usize = 1;

/// The turn of one connection. Clones are of the same connection.
#[derive(Clone, Default)]
pub(super) struct Turns {
    answered: Arc<AtomicUsize>,
}

impl Turns {
    /// Runs what serves the connection. Each time that it is looked at is a turn.
    pub(super) async fn of<F: Future>(&self, mut serving: Pin<&mut F>) -> F::Output {
        std::future::poll_fn(|cx| {
            self.answered.store(0, Ordering::Relaxed);
            serving.as_mut().poll(cx)
        })
        .await
    }

    /// Waits until one more request may be answered: for the next turn, if this one is used up.
    pub(super) async fn take(&self) {
        while self.answered.fetch_add(1, Ordering::Relaxed) >= REQUESTS_PER_TURN_MAX {
            // Others that are ready come first, new connections among them.
            tokio::task::yield_now().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::pin::pin;

    use futures_util::poll;
    use http_body_util::Empty;
    use hyper::body::{Bytes, Incoming};
    use hyper::server::conn::http1;
    use hyper::service::service_fn;
    use hyper::{Request, Response};
    use hyper_util::rt::TokioIo;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    /// How many of `sent` requests, which all come at once, are answered in each turn.
    async fn answered_by_turn(sent: usize) -> Vec<usize> {
        let (mut client, socket) = tokio::io::duplex(64 * 1024);
        let turns = Turns::default();
        let answered = Arc::new(AtomicUsize::new(0));
        let service = service_fn(|_: Request<Incoming>| {
            let (turns, answered) = (turns.clone(), answered.clone());
            async move {
                turns.take().await;
                answered.fetch_add(1, Ordering::Relaxed);
                Ok::<_, Infallible>(Response::new(Empty::<Bytes>::new()))
            }
        });
        client.write_all("GET / HTTP/1.1\r\n\r\n".repeat(sent).as_bytes()).await.expect("room");
        let mut serving = pin!(http1::Builder::new().serve_connection(TokioIo::new(socket), service));
        let mut serving = pin!(turns.of(serving.as_mut()));
        let mut by_turn = Vec::new();
        while answered.load(Ordering::Relaxed) < sent {
            let before = answered.load(Ordering::Relaxed);
            assert!(poll!(&mut serving).is_pending(), "the client may send more");
            by_turn.push(answered.load(Ordering::Relaxed) - before);
            assert!(by_turn.len() <= 10 * sent, "it gets on: {by_turn:?}");
        }
        // What was answered has gone out, too.
        assert!(poll!(&mut serving).is_pending());
        let mut heads = vec![0; 64 * 1024];
        let read = client.read(&mut heads).await.expect("answers");
        assert_eq!(String::from_utf8_lossy(&heads[..read]).matches("HTTP/1.1 200").count(), sent);
        by_turn
    }

    #[tokio::test]
    async fn many_requests_at_once_take_many_turns() {
        for sent in [1, 2, 50] {
            let by_turn = answered_by_turn(sent).await;
            assert!(by_turn.iter().all(|answered| *answered <= REQUESTS_PER_TURN_MAX), "{by_turn:?}");
            assert_eq!(by_turn[0], 1, "nobody waits in vain");
        }
    }
}
