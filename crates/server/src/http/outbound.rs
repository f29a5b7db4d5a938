//! The way to the client of a channel: frames in the order in which they were said, and of answers no more than a
//! client may let wait.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio_util::sync::CancellationToken;

use crate::outgoing::Outbox;

/// Frames that may wait for a slow reader; then calls wait with what they have to say.
const FRAMES_WAITING_MAX: usize = 64;

/// Calls of one client that may be unanswered or wait for it to read their answers.
const CALLS_MAX: usize = 1_000;

/// Answers for which there is no room among the frames, before the client may call again, in KiB.
const ANSWERS_KIB_MAX: usize = 4 * 1024;

/// The same at which a client that still does not read has given up its session: the calls that it began before may have
/// much to answer.
const ANSWERS_KIB_LOST: usize = 64 * 1024;

/// The end of those who say something.
pub(super) struct Outbound {
    frames: Outbox,
    calls: Arc<Semaphore>,
    /// Room for answers that wait for room among the frames, in KiB.
    answers: Semaphore,
    /// The client has given up its session. Its connection may stay open, stuck, for as long as it likes.
    given_up: CancellationToken,
}

/// The client lets too much wait.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct NobodyReads;

impl Outbound {
    /// Both ends.
    pub(super) fn new() -> (Arc<Outbound>, mpsc::Receiver<Vec<u8>>) {
        let (frames, receiver) = mpsc::channel(FRAMES_WAITING_MAX);
        let (calls, answers) = (Arc::new(Semaphore::new(CALLS_MAX)), Semaphore::new(ANSWERS_KIB_LOST));
        (Arc::new(Outbound { frames, calls, answers, given_up: CancellationToken::new() }), receiver)
    }

    /// For what is said before an answer.
    pub(super) fn outbox(&self) -> Outbox {
        self.frames.clone()
    }

    /// True once the client has let so much wait that nothing is sent any more.
    pub(super) fn is_given_up(&self) -> bool {
        self.given_up.is_cancelled()
    }

    /// Room for one more call, to be kept until it is answered; nothing if others must be answered, or their answers
    /// read, before.
    pub(super) fn place(&self) -> Option<OwnedSemaphorePermit> {
        let waiting_kib = ANSWERS_KIB_LOST - self.answers.available_permits();
        (waiting_kib < ANSWERS_KIB_MAX).then(|| self.calls.clone().try_acquire_owned().ok()).flatten()
    }

    /// Sends an answer, once there is room for it.
    ///
    /// # Errors
    /// If so much waits for the client that it will not read any more. Then all of it is let go of.
    pub(super) async fn answer(&self, frame: Vec<u8>) -> Result<(), NobodyReads> {
        // However large, one alone is sent.
        let kib = frame.len().div_ceil(1024).min(ANSWERS_KIB_LOST);
        let waiting = self.answers.try_acquire_many(u32::try_from(kib).unwrap_or(u32::MAX));
        if waiting.is_err() {
            self.given_up.cancel();
        }
        // Fails if the client is gone, and then nobody waits for the answer.
        let sent = self.given_up.run_until_cancelled(self.frames.send(frame)).await;
        sent.map(drop).ok_or(NobodyReads)
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    fn answer(outbound: &Outbound, frame: Vec<u8>) -> Option<Result<(), NobodyReads>> {
        outbound.answer(frame).now_or_never()
    }

    #[test]
    fn frames_come_out_in_their_order() {
        let (outbound, mut frames) = Outbound::new();
        let outbox = outbound.outbox();
        outbox.try_send(b"progress of 1".to_vec()).expect("room");
        assert_eq!(answer(&outbound, b"answer 1".to_vec()), Some(Ok(())));
        outbox.try_send(b"progress of 2".to_vec()).expect("room");
        assert_eq!(answer(&outbound, b"answer 2".to_vec()), Some(Ok(())));
        let came: Vec<_> = std::iter::from_fn(|| frames.try_recv().ok())
            .map(|frame| String::from_utf8(frame).expect("a sample"))
            .collect();
        assert_eq!(came, ["progress of 1", "answer 1", "progress of 2", "answer 2"]);
    }

    /// Fills what is between the client and those who wait.
    fn fill(outbound: &Outbound) {
        while outbound.outbox().try_send(b"progress".to_vec()).is_ok() {}
    }

    #[test]
    fn a_client_that_does_not_read_may_not_call_again() {
        let (outbound, mut frames) = Outbound::new();
        let running: Vec<_> = (0..CALLS_MAX).map(|_| outbound.place().expect("room")).collect();
        assert!(outbound.place().is_none());
        drop(running);
        fill(&outbound);
        let mut large = Box::pin(outbound.answer(vec![b'x'; (ANSWERS_KIB_MAX - 1) * 1024]));
        assert_eq!((&mut large).now_or_never(), None);
        assert!(outbound.place().is_some());
        let mut small = Box::pin(outbound.answer(vec![b'x'; 1]));
        assert_eq!((&mut small).now_or_never(), None);
        assert!(outbound.place().is_none());
        frames.try_recv().expect("the first");
        assert_eq!(large.now_or_never(), Some(Ok(())));
        assert!(outbound.place().is_some(), "it has read");
    }

    #[test]
    fn answers_that_nobody_reads_are_bounded() {
        let (outbound, mut frames) = Outbound::new();
        let large = || vec![b'x'; ANSWERS_KIB_LOST * 1024 + 1];
        assert_eq!(answer(&outbound, large()), Some(Ok(())), "one alone");
        frames.try_recv().expect("the first");
        fill(&outbound);
        let mut waiting = Box::pin(outbound.answer(large()));
        assert_eq!((&mut waiting).now_or_never(), None);
        assert!(!outbound.is_given_up());
        assert_eq!(answer(&outbound, b"y".to_vec()), Some(Err(NobodyReads)));
        assert!(outbound.is_given_up());
        assert_eq!(waiting.now_or_never(), Some(Err(NobodyReads)), "and none waits any longer");
    }
}
