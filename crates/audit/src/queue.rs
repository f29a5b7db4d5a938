//! Records on their way to the disk: the one place where the threads that answer and the thread that
//! writes meet. Nobody holds it while touching a file.

use std::{
    sync::{
        Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU8, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use crate::{error::BookError, journal::JournalMark, record::Record};

/// How long the writer gathers: long enough that a wake-up and a write serve many calls, short enough that
/// whoever looks finds the book up to date.
const GATHER: Duration = Duration::from_millis(20);

/// How long the writer waits before it tries a disk again that did not work.
const RETRY: Duration = Duration::from_millis(250);

/// A record, and the note of the journal it settles.
pub(crate) struct Closed {
    pub(crate) record: Record,
    pub(crate) mark: Option<JournalMark>,
}

const UNOPENED: u8 = 0;
const HEALTHY: u8 = 1;
const FAILING: u8 = 2;

/// The queue and its two bells.
#[derive(Default)]
pub(crate) struct Queue {
    state: Mutex<State>,
    /// `UNOPENED`, `HEALTHY` or `FAILING`. Changed under the lock, read without.
    condition: AtomicU8,
    /// Records that are not on disk. Changed under the lock, read without.
    waiting: AtomicUsize,
    /// Rung for the writer.
    work: Condvar,
    /// Rung after each attempt to write.
    done: Condvar,
}

#[derive(Default)]
struct State {
    waiting: Vec<Closed>,
    /// Records put in and records on disk, since the start.
    closed: u64,
    written: u64,
    /// Attempts to write, begun and ended.
    begun: u64,
    ended: u64,
    /// Why the last attempt did not work.
    failure: Option<BookError>,
    flush: bool,
    stopping: bool,
    /// The writer sleeps until somebody rings.
    idle: bool,
}

impl Queue {
    /// Whether the writer runs and its last attempt worked.
    pub(crate) fn is_healthy(&self) -> bool {
        self.condition.load(Ordering::Acquire) == HEALTHY
    }

    /// Whether no writer was started yet.
    pub(crate) fn is_unopened(&self) -> bool {
        self.condition.load(Ordering::Acquire) == UNOPENED
    }

    /// Notes that a writer is about to be started, or could not be.
    pub(crate) fn set_opened(&self, opened: bool) {
        self.condition.store(if opened { HEALTHY } else { UNOPENED }, Ordering::Release);
    }

    /// Records that are not on disk.
    pub(crate) fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Relaxed)
    }

    /// Puts a record in. Rings only for a writer that sleeps: one that gathers or writes comes back by
    /// itself.
    pub(crate) fn put(&self, closed: Closed) {
        let mut state = self.lock();
        state.waiting.push(closed);
        state.closed += 1;
        self.waiting.store(state.count(), Ordering::Relaxed);
        if std::mem::take(&mut state.idle) {
            self.work.notify_one();
        }
    }

    /// Waits until everything that was put in is on disk. `Err` if an attempt that began after this call
    /// did not work, or none ended within `limit`.
    pub(crate) fn flush(&self, limit: Duration) -> Result<(), BookError> {
        let deadline = Instant::now() + limit;
        let mut state = self.lock();
        let (ticket, attempt) = (state.closed, state.begun + 1);
        state.flush = true;
        state.idle = false;
        self.work.notify_one();
        loop {
            if state.ended >= attempt {
                match &state.failure {
                    Some(failure) => return Err(failure.clone()),
                    None if state.written >= ticket => return Ok(()),
                    None => {}
                }
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(BookError::Slow { limit });
            }
            state = self.done.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// For the writer: adds what waits to `batch`, whose records an earlier attempt left over. Waits until
    /// there is something to do. `None` means that it is time to end.
    pub(crate) fn take(&self, batch: &mut Vec<Closed>) -> Option<Flush> {
        let mut state = self.lock();
        // After a failure it is not enough to wait for records: calls are refused until an attempt works.
        let calm = |state: &State| state.waiting.is_empty() && state.failure.is_none();
        while batch.is_empty() && calm(&state) && !state.flush && !state.stopping {
            state.idle = true;
            state = self.work.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.idle = false;
        let pause = if state.failure.is_some() { RETRY } else { GATHER };
        let gather = |state: &mut State| !state.flush && !state.stopping;
        state = self.work.wait_timeout_while(state, pause, gather).unwrap_or_else(PoisonError::into_inner).0;
        let nothing_left = batch.is_empty() && state.waiting.is_empty();
        // At the end a disk that did not work a moment ago gets no more attempts.
        if state.stopping && (nothing_left || state.failure.is_some()) {
            return None;
        }
        batch.append(&mut state.waiting);
        state.begun += 1;
        Some(if std::mem::take(&mut state.flush) { Flush::ToTheDisk } else { Flush::No })
    }

    /// For the writer: so many records of the last batch are on disk; why not the others.
    pub(crate) fn wrote(&self, records: usize, failure: Option<BookError>) {
        let mut state = self.lock();
        state.written += records as u64;
        state.ended += 1;
        self.waiting.store(state.count(), Ordering::Relaxed);
        self.condition.store(if failure.is_none() { HEALTHY } else { FAILING }, Ordering::Release);
        state.failure = failure;
        self.done.notify_all();
    }

    /// The writer will not come back; whoever waits is told why.
    pub(crate) fn give_up(&self, failure: BookError) {
        let mut state = self.lock();
        self.condition.store(FAILING, Ordering::Release);
        state.failure = Some(failure);
        state.ended = u64::MAX;
        self.done.notify_all();
    }

    /// Tells the writer to write what waits and end.
    pub(crate) fn stop(&self) {
        self.lock().stopping = true;
        self.work.notify_one();
    }

    /// Why the last attempt did not work.
    pub(crate) fn failure(&self) -> Option<BookError> {
        self.lock().failure.clone()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing in here can panic half way through a change.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether somebody waits for the records to survive the machine, not only the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flush {
    /// Nobody does.
    No,
    /// Somebody does.
    ToTheDisk,
}

impl State {
    fn count(&self) -> usize {
        usize::try_from(self.closed - self.written).unwrap_or(usize::MAX)
    }
}
