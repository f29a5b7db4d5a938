//! The way to the client of a channel: frames in the order in which they were said, and of answers no more than a
//! client may let wait.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio_util::sync::CancellationToken;

use crate::outgoing::Outbox;

/// Frames that may wait for a slow reader; then calls wait with what they have to say.
const FRAMES_WAITING_MAX: usize = 64;

/// Calls of one client that may be unanswered or wait for it to read their answers.
const CALLS_MAX: usize = 1_000;

/// Bytes of answers that may wait for the client to read them before it may call again.
const ANSWERS_BYTES_MAX: usize = 4 * 1024 * 1024;

/// Bytes of answers at which a client that still does not read has given up its session: the calls that it began
/// before may have much to answer.
const ANSWERS_BYTES_LOST: usize = 64 * 1024 * 1024;

/// The end of those who say something.
pub(super) struct Outbound {
    /// Frames, and an empty one in the place of each answer.
    frames: mpsc::Sender<Vec<u8>>,
    calls: Arc<Semaphore>,
    answers: Mutex<VecDeque<Waiting>>,
    /// Of all answers that are not read yet, be they among `answers` or still on their way there.
    answers_bytes: Arc<AtomicUsize>,
    /// The client has given up its session. Its connection may stay open, stuck, for as long as it likes.
    given_up: CancellationToken,
}

/// An answer that the client has not read, counted until it is dropped.
struct Waiting {
    frame: Vec<u8>,
    bytes: usize,
    all_bytes: Arc<AtomicUsize>,
}

/// The client lets too much wait.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct NobodyReads;

impl Outbound {
    /// Both ends. What comes out of the other is to be shown to `taken`.
    pub(super) fn new() -> (Arc<Outbound>, mpsc::Receiver<Vec<u8>>) {
        let (frames, receiver) = mpsc::channel(FRAMES_WAITING_MAX);
        let calls = Arc::new(Semaphore::new(CALLS_MAX));
        let (answers, answers_bytes, given_up) = (Mutex::default(), Arc::default(), CancellationToken::new());
        (Arc::new(Outbound { frames, calls, answers, answers_bytes, given_up }), receiver)
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Waiting>> {
        // What it guards is sound between any two statements.
        self.answers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// For what is said before an answer.
    pub(super) fn outbox(&self) -> Outbox {
        self.frames.clone()
    }

    /// True once the client has let so much wait that nothing is sent any more.
    pub(super) fn is_given_up(&self) -> bool {
        self.given_up.is_cancelled()
    }

    /// Room for so many more calls, to be kept until they are answered; nothing if others must be answered, or
    /// their answers read, before.
    pub(super) fn place(&self, calls: u32) -> Option<OwnedSemaphorePermit> {
        if calls > 0 && self.answers_bytes.load(Ordering::Relaxed) >= ANSWERS_BYTES_MAX {
            return None;
        }
        self.calls.clone().try_acquire_many_owned(calls).ok()
    }

    /// Sends an answer, once there is room for it.
    ///
    /// # Errors
    /// If so much waits for the client that it will not read any more. Then all of it is let go of.
    pub(super) async fn answer(&self, frame: Vec<u8>) -> Result<(), NobodyReads> {
        let bytes = frame.len();
        let before = self.answers_bytes.fetch_add(bytes, Ordering::Relaxed);
        let waiting = Waiting { frame, bytes, all_bytes: self.answers_bytes.clone() };
        // However large, one alone is sent.
        if before > 0 && before + bytes > ANSWERS_BYTES_LOST {
            self.given_up.cancel();
        }
        let Some(place) = self.given_up.run_until_cancelled(self.frames.reserve()).await else {
            self.lock().clear();
            return Err(NobodyReads);
        };
        // Fails if the client is gone, and then nobody waits for the answer.
        if let Ok(place) = place {
            self.lock().push_back(waiting);
            place.send(Vec::new());
        }
        Ok(())
    }

    /// The frame that stands where this one came out.
    pub(super) fn taken(&self, frame: Vec<u8>) -> Vec<u8> {
        if !frame.is_empty() {
            return frame;
        }
        let answer = self.lock().pop_front();
        answer.map(|mut answer| std::mem::take(&mut answer.frame)).unwrap_or_default()
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.all_bytes.fetch_sub(self.bytes, Ordering::Relaxed);
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
            .map(|frame| String::from_utf8(outbound.taken(frame)).expect("a sample"))
            .collect();
        assert_eq!(came, ["progress of 1", "answer 1", "progress of 2", "answer 2"]);
        assert_eq!(outbound.answers_bytes.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn a_client_that_does_not_read_may_not_call_again() {
        let (outbound, mut frames) = Outbound::new();
        let running = outbound.place(1_000).expect("room");
        assert!(outbound.place(1).is_none(), "each call of a batch has a place");
        drop(running);
        assert_eq!(answer(&outbound, vec![b'x'; ANSWERS_BYTES_MAX - 1]), Some(Ok(())));
        assert!(outbound.place(1).is_some());
        assert_eq!(answer(&outbound, vec![b'x'; 1]), Some(Ok(())));
        assert!(outbound.place(1).is_none());
        assert!(outbound.place(0).is_some(), "what wants no answer gets through");
        outbound.taken(frames.try_recv().expect("the first"));
        assert!(outbound.place(1).is_some(), "it has read");
    }

    #[test]
    fn answers_that_nobody_reads_are_bounded() {
        let (outbound, mut frames) = Outbound::new();
        let large = || vec![b'x'; ANSWERS_BYTES_LOST + 1];
        assert_eq!(answer(&outbound, large()), Some(Ok(())), "one alone");
        outbound.taken(frames.try_recv().expect("the first"));
        let half = || vec![b'x'; ANSWERS_BYTES_LOST / 2];
        assert_eq!(answer(&outbound, half()), Some(Ok(())));
        // Those that wait for room count as well.
        while outbound.outbox().try_send(b"progress".to_vec()).is_ok() {}
        let mut waiting = Box::pin(outbound.answer(half()));
        assert_eq!((&mut waiting).now_or_never(), None);
        assert!(!outbound.is_given_up());
        assert_eq!(answer(&outbound, b"y".to_vec()), Some(Err(NobodyReads)));
        assert!(outbound.is_given_up());
        assert_eq!(waiting.now_or_never(), Some(Err(NobodyReads)), "and none waits any longer");
        assert_eq!(outbound.answers_bytes.load(Ordering::Relaxed), 0);
    }
}
