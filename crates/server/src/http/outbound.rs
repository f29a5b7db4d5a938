//! The way to the client of a channel: frames in the order in which they were said, and of answers no more than a
//! client may let wait.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::time::timeout;

use crate::outgoing::Outbox;

/// Frames that may wait for a slow reader; then calls wait with what they have to say.
const FRAMES_WAITING_MAX: usize = 64;

/// Requests of one client that may be unanswered or wait for it to read their answers.
const REQUESTS_MAX: usize = 100;

/// How long an answer waits for room among the frames. A client that reads nothing for so long has given up its session,
/// whose connection may stay open, stuck, for as long as it likes.
const READ_WAIT_MAX: Duration = Duration::from_secs(60);

/// The end of those who say something.
pub(super) struct Outbound {
    /// For what is said before an answer.
    pub(super) outbox: Outbox,
    /// Closed once the client has given up its session.
    requests: Arc<Semaphore>,
}

/// The client has given up its session.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct NobodyReads;

impl Outbound {
    /// Both ends.
    pub(super) fn new() -> (Arc<Outbound>, mpsc::Receiver<Vec<u8>>) {
        let (outbox, receiver) = mpsc::channel(FRAMES_WAITING_MAX);
        (Arc::new(Outbound { outbox, requests: Arc::new(Semaphore::new(REQUESTS_MAX)) }), receiver)
    }

    pub(super) fn is_given_up(&self) -> bool {
        self.requests.is_closed()
    }

    /// Room for one more request, to be kept until it is answered; nothing if others must be answered, or their answers
    /// read, before.
    pub(super) fn place(&self) -> Option<OwnedSemaphorePermit> {
        self.requests.clone().try_acquire_owned().ok()
    }

    /// Sends an answer, once there is room for it.
    ///
    /// # Errors
    /// The client reads nothing.
    pub(super) async fn answer(&self, frame: Vec<u8>) -> Result<(), NobodyReads> {
        // Fails if the client is gone, and then nobody waits for the answer.
        let sent = timeout(READ_WAIT_MAX, self.outbox.send(frame)).await;
        if sent.is_err() {
            self.requests.close();
        }
        sent.map(drop).map_err(|_| NobodyReads)
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[tokio::test]
    async fn frames_come_out_in_their_order() {
        let (outbound, mut frames) = Outbound::new();
        let outbox = outbound.outbox.clone();
        outbox.try_send(b"progress of 1".to_vec()).expect("room");
        assert_eq!(outbound.answer(b"answer 1".to_vec()).now_or_never(), Some(Ok(())));
        outbox.try_send(b"progress of 2".to_vec()).expect("room");
        assert_eq!(outbound.answer(b"answer 2".to_vec()).now_or_never(), Some(Ok(())));
        let came: Vec<_> = std::iter::from_fn(|| frames.try_recv().ok())
            .map(|frame| String::from_utf8(frame).expect("a sample"))
            .collect();
        assert_eq!(came, ["progress of 1", "answer 1", "progress of 2", "answer 2"]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_does_not_read_may_not_call_again() {
        let (outbound, mut frames) = Outbound::new();
        let running: Vec<_> = (0..REQUESTS_MAX).map(|_| outbound.place().expect("room")).collect();
        assert!(outbound.place().is_none());
        drop(running);
        while outbound.outbox.try_send(b"progress".to_vec()).is_ok() {}
        let mut waiting = Box::pin(outbound.answer(b"answer".to_vec()));
        assert_eq!((&mut waiting).now_or_never(), None);
        frames.try_recv().expect("the first");
        assert_eq!(waiting.await, Ok(()), "it has read");
        assert!(outbound.place().is_some());
        assert_eq!(outbound.answer(b"answer".to_vec()).await, Err(NobodyReads), "it reads no more");
        assert!(outbound.is_given_up() && outbound.place().is_none());
    }
}
