//! Records on their way to the disk: the one place where the threads that answer and the thread that
//! writes meet. Nobody holds it while touching a file.

use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::arguments::Plain;
use crate::error::AuditError;
use crate::event::Event;
use crate::intent_log::IntentId;
use crate::line::Body;
use crate::record::Record;

/// How long the writer gathers: long enough that a wake-up and a write serve many calls, short enough that
/// whoever looks finds the audit log up to date.
const GATHER: Duration = Duration::from_millis(20);

/// How long the writer waits before it tries a disk again that did not work.
const RETRY: Duration = Duration::from_millis(250);

/// How long records may be written without having been handed to the disk itself: what a power cut takes of
/// calls that only read.
const SYNC_AFTER: Duration = Duration::from_secs(1);

/// What is to be written.
#[expect(clippy::large_enum_variant, reason = "nearly all are calls, whose records cost no allocation")]
pub(crate) enum Entry {
    Call(ClosedCall),
    Event(Event),
}

/// A record, what it still lacks, and the intent it settles.
pub(crate) struct ClosedCall {
    pub(crate) record: Record,
    /// The arguments, from which secrets are struck out before they are written.
    pub(crate) plain: Option<Plain>,
    pub(crate) intent: Option<IntentId>,
}

impl Body for Entry {
    fn write(&self, into: &mut Vec<u8>) {
        match self {
            Entry::Call(closed) => closed.record.write(into),
            Entry::Event(event) => event.write(into),
        }
    }
}

impl Entry {
    fn plain_bytes(&self) -> usize {
        match self {
            Entry::Call(closed) => closed.plain.as_ref().map_or(0, Plain::bytes),
            Entry::Event(_) => 0,
        }
    }

    /// The intent that it settles, or the place for it.
    pub(crate) fn intent(&mut self) -> Option<&mut Option<IntentId>> {
        match self {
            Entry::Call(closed) => Some(&mut closed.intent),
            Entry::Event(_) => None,
        }
    }
}

const UNOPENED: u8 = 0;
const HEALTHY: u8 = 1;
const FAILING: u8 = 2;

/// The queue and its two wake-ups.
#[derive(Default)]
pub(crate) struct Queue {
    state: Mutex<QueueState>,
    /// `UNOPENED`, `HEALTHY` or `FAILING`. Changed under the lock, read without.
    condition: AtomicU8,
    /// Records that are not on disk. Changed under the lock, read without.
    waiting: AtomicUsize,
    /// Bytes of arguments that are not on disk. Changed under the lock, read without.
    waiting_bytes: AtomicUsize,
    /// Wakes the writer.
    work: Condvar,
    /// Wakes those that flush, after each attempt to write.
    done: Condvar,
}

#[derive(Default)]
struct QueueState {
    waiting: Vec<Entry>,
    /// Bytes of arguments put in and not taken to the disk.
    plain_bytes: usize,
    /// Records put in and records on disk, since the start.
    closed: u64,
    written: u64,
    /// Attempts to write, begun and ended.
    begun: u64,
    ended: u64,
    /// Why the last attempt did not work.
    failure: Option<AuditError>,
    /// Since when there is something written that was not handed to the disk.
    unsynced_since: Option<Instant>,
    flush: bool,
    stopping: bool,
    /// The writer sleeps until it is woken.
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

    /// Notes that what is written now would be lost. The writer, if it sleeps, is woken and tries again by itself.
    pub(crate) fn fail(&self, failure: AuditError) {
        let mut state = self.lock();
        state.failure = Some(failure);
        self.condition.store(FAILING, Ordering::Release);
        if std::mem::take(&mut state.idle) {
            self.work.notify_one();
        }
    }

    /// Notes that a writer is about to be started, or could not be.
    pub(crate) fn set_opened(&self, opened: bool) {
        self.condition.store(if opened { HEALTHY } else { UNOPENED }, Ordering::Release);
    }

    /// Records that are not on disk.
    pub(crate) fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Relaxed)
    }

    /// Bytes of arguments that are not on disk.
    pub(crate) fn waiting_bytes(&self) -> usize {
        self.waiting_bytes.load(Ordering::Relaxed)
    }

    /// Puts a record in. Wakes only a writer that sleeps: one that gathers or writes comes back by
    /// itself.
    pub(crate) fn put(&self, entry: Entry) {
        let mut state = self.lock();
        state.plain_bytes += entry.plain_bytes();
        self.waiting_bytes.store(state.plain_bytes, Ordering::Relaxed);
        state.waiting.push(entry);
        state.closed += 1;
        self.waiting.store(state.count(), Ordering::Relaxed);
        if std::mem::take(&mut state.idle) {
            self.work.notify_one();
        }
    }

    /// Waits until everything that was put in is on disk. `Err` if an attempt that began after this call
    /// did not work, or none ended within `limit`.
    pub(crate) fn flush(&self, limit: Duration) -> Result<(), AuditError> {
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
                return Err(AuditError::Slow { limit });
            }
            state = self.done.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// For the writer: adds what waits to `batch`, whose records an earlier attempt left over. Waits until
    /// there is something to do. `None` means that it is time to end.
    pub(crate) fn take(&self, batch: &mut Vec<Entry>) -> Option<Flush> {
        let mut state = self.lock();
        // After a failure it is not enough to wait for records: calls are refused until an attempt works.
        let is_idle = |state: &QueueState| state.waiting.is_empty() && state.failure.is_none();
        while batch.is_empty() && is_idle(&state) && !state.flush && !state.stopping {
            state.idle = true;
            state = match state.unsynced_since {
                None => self.work.wait(state).unwrap_or_else(PoisonError::into_inner),
                Some(since) => {
                    let left = SYNC_AFTER.saturating_sub(since.elapsed());
                    if left.is_zero() {
                        break;
                    }
                    self.work.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
        state.idle = false;
        let pause = if state.failure.is_some() { RETRY } else { GATHER };
        let gather = |state: &mut QueueState| !state.flush && !state.stopping;
        state = self.work.wait_timeout_while(state, pause, gather).unwrap_or_else(PoisonError::into_inner).0;
        let nothing_left = batch.is_empty() && state.waiting.is_empty();
        // At the end a disk that did not work a moment ago gets no more attempts.
        if state.stopping && (nothing_left || state.failure.is_some()) {
            return None;
        }
        if batch.is_empty() {
            // Nothing is copied while those that answer wait for the lock.
            std::mem::swap(batch, &mut state.waiting);
        } else {
            batch.append(&mut state.waiting);
        }
        state.begun += 1;
        let is_due = state.unsynced_since.is_some_and(|since| since.elapsed() >= SYNC_AFTER);
        Some(if std::mem::take(&mut state.flush) || is_due { Flush::ToTheDisk } else { Flush::No })
    }

    /// For the writer: what came of the last attempt.
    pub(crate) fn wrote(&self, attempt: Attempt) {
        let mut state = self.lock();
        state.written += attempt.records as u64;
        state.plain_bytes = state.plain_bytes.saturating_sub(attempt.plain_bytes);
        state.ended += 1;
        self.waiting.store(state.count(), Ordering::Relaxed);
        self.waiting_bytes.store(state.plain_bytes, Ordering::Relaxed);
        if attempt.is_synced {
            state.unsynced_since = None;
        } else if attempt.records > 0 {
            state.unsynced_since.get_or_insert_with(Instant::now);
        }
        self.condition.store(if attempt.failure.is_none() { HEALTHY } else { FAILING }, Ordering::Release);
        state.failure = attempt.failure;
        self.done.notify_all();
    }

    /// The writer will not come back; whoever waits is told why.
    pub(crate) fn stop_with(&self, failure: AuditError) {
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

    /// Why the last attempt did not work; costs a load from memory if it did.
    pub(crate) fn failure_now(&self) -> Option<AuditError> {
        if self.is_healthy() { None } else { self.failure() }
    }

    /// Why the last attempt did not work.
    pub(crate) fn failure(&self) -> Option<AuditError> {
        self.lock().failure.clone()
    }

    fn lock(&self) -> MutexGuard<'_, QueueState> {
        // Nothing in here can panic half way through a change.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What came of an attempt to write.
pub(crate) struct Attempt {
    /// Records that are on disk by it.
    pub(crate) records: usize,
    /// Bytes of arguments that are no longer held.
    pub(crate) plain_bytes: usize,
    /// Whether everything written would survive the machine.
    pub(crate) is_synced: bool,
    /// Why it did not take all.
    pub(crate) failure: Option<AuditError>,
}

/// Whether somebody waits for the records to survive the machine, not only the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flush {
    /// Nobody does.
    No,
    /// Somebody does.
    ToTheDisk,
}

impl QueueState {
    fn count(&self) -> usize {
        usize::try_from(self.closed - self.written).unwrap_or(usize::MAX)
    }
}
