//! The event streams of one session: each message goes to exactly one of them, each stream has one reader at a
//! time, and what a reader missed is there for the next one.
//!
//! A stream is known by its number. Number 0 stands as long as the session and carries what we say without being
//! asked; the others each carry one POST's messages up to its answer. Nothing is allocated before the first.

use std::collections::{HashMap, VecDeque};
use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use wire::{Revision, sse};

use super::event_log::{EventId, EventLog, Total};

/// The stream of what we say without being asked.
pub(super) const STANDING: u64 = 0;

/// Events that may wait for a slow reader of one stream; then its writer waits.
const PENDING_MAX: usize = 64;

/// The same in bytes. One event may be larger.
const PENDING_BYTES_MAX: usize = 1024 * 1024;

/// How long a client whose stream ended should wait before it asks for the rest, in milliseconds.
const RETRY_MS: u64 = 1000;

/// All streams of a session.
pub(super) struct Streams {
    inner: Mutex<Option<Box<Inner>>>,
    /// True if they begin with an event that has an id and says nothing (2025-11-25): a client can then ask for the rest of
    /// a stream that broke before its first message. Clients of older revisions take the empty event for a broken
    /// message.
    is_primed: bool,
    /// What all sessions keep for their streams.
    total: Total,
}

struct Inner {
    log: EventLog,
    /// The number of the latest stream.
    opened: u64,
    open: HashMap<u64, Stream>,
    is_closed: bool,
}

#[derive(Default)]
struct Stream {
    /// The number of the latest event.
    sequence: u64,
    /// The number of the latest event that a reader took.
    taken: u64,
    /// Events that the reader has not taken, each with the number that `taken` has afterwards.
    pending: VecDeque<(u64, Bytes)>,
    pending_bytes: usize,
    /// Counts the readers there have been; only the latest one reads.
    readers: u64,
    is_read: bool,
    /// Nothing more will be written.
    is_done: bool,
    reader: Option<Waker>,
    writer: Option<Waker>,
}

impl Stream {
    fn is_full(&self) -> bool {
        self.is_read && (self.pending.len() >= PENDING_MAX || self.pending_bytes >= PENDING_BYTES_MAX)
    }

    fn add(&mut self, sequence: u64, event: Bytes) {
        self.pending_bytes += event.len();
        self.pending.push_back((sequence, event));
        self.wake_reader();
    }

    fn take(&mut self) -> Option<Bytes> {
        let (sequence, event) = self.pending.pop_front()?;
        self.taken = sequence;
        self.pending_bytes -= event.len();
        self.wake_writer();
        Some(event)
    }

    fn forget_pending(&mut self) {
        self.pending = VecDeque::new();
        self.pending_bytes = 0;
    }

    fn wake_reader(&mut self) {
        self.reader.take().into_iter().for_each(Waker::wake);
    }

    fn wake_writer(&mut self) {
        self.writer.take().into_iter().for_each(Waker::wake);
    }
}

/// Nothing is kept of the stream that a client asks for.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct NothingKept;

impl Streams {
    /// None yet.
    pub(super) fn new(revision: Revision, total: Total) -> Streams {
        Streams { inner: Mutex::new(None), is_primed: revision.has_polling(), total }
    }

    fn lock(&self) -> MutexGuard<'_, Option<Box<Inner>>> {
        // What it guards is sound between any two statements.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn with<T>(&self, act: impl FnOnce(&mut Inner) -> T) -> T {
        let mut inner = self.lock();
        act(inner.get_or_insert_with(|| {
            Box::new(Inner {
                log: EventLog::new(self.total.clone()),
                opened: STANDING,
                open: HashMap::new(),
                is_closed: false,
            })
        }))
    }

    /// True if a client can ask for the rest of a stream, however early it broke.
    pub(super) fn are_primed(&self) -> bool {
        self.is_primed
    }

    /// Forgets the events that were kept long enough.
    pub(super) fn forget_old(&self) {
        if let Some(inner) = self.lock().as_deref_mut() {
            inner.log.forget_old();
        }
    }

    /// True if a client reads at least one.
    pub(super) fn are_read(&self) -> bool {
        self.lock().as_deref().is_some_and(|inner| inner.open.values().any(|stream| stream.is_read))
    }

    /// Ends all streams once they are read to their ends, for ever.
    pub(super) fn close(&self) {
        self.with(|inner| {
            inner.is_closed = true;
            for stream in inner.open.values_mut() {
                stream.is_done = true;
                stream.wake_reader();
                stream.wake_writer();
            }
        });
    }

    /// Opens a stream for the messages of one POST.
    pub(super) fn begin(self: &Arc<Streams>) -> (Writer, Reader) {
        let (number, reader) = self.with(|inner| {
            inner.opened += 1;
            let first = EventId { stream: inner.opened, sequence: 0 };
            (first.stream, inner.attach_behind(first, self.is_primed).readers)
        });
        (Writer { streams: self.clone(), number }, Reader { streams: self.clone(), number, reader })
    }

    /// Takes over the standing stream: from where its last reader stopped taking, or behind the last event that the
    /// client says it has.
    ///
    /// # Errors
    /// If there has not been such an event.
    pub(super) fn stand(self: &Arc<Streams>, last: Option<u64>) -> Result<Reader, NothingKept> {
        self.with(|inner| {
            let (taken, sequence) =
                inner.open.get(&STANDING).map_or((0, 0), |stream| (stream.taken, stream.sequence));
            if last.is_some_and(|last| last > sequence) {
                return Err(NothingKept);
            }
            let last = EventId { stream: STANDING, sequence: last.unwrap_or(taken) };
            let reader = inner.attach_behind(last, self.is_primed).readers;
            Ok(Reader { streams: self.clone(), number: STANDING, reader })
        })
    }

    /// Takes over the stream of a POST behind the last event that the client says it has.
    ///
    /// # Errors
    /// If there never was such a stream, or it has ended and nothing of its rest is kept.
    pub(super) fn resume(self: &Arc<Streams>, last: EventId) -> Result<Reader, NothingKept> {
        self.with(|inner| {
            let running = inner.open.get(&last.stream).map(|running| running.sequence);
            let is_known = match running {
                Some(sequence) => last.sequence <= sequence,
                None => inner.log.after(last).next().is_some(),
            };
            if !is_known {
                return Err(NothingKept);
            }
            let stream = inner.attach_behind(last, self.is_primed);
            stream.is_done |= running.is_none();
            Ok(Reader { streams: self.clone(), number: last.stream, reader: stream.readers })
        })
    }

    /// Writes a message to the standing stream.
    pub(super) fn tell(&self, message: &[u8]) {
        self.write(STANDING, message);
    }

    /// Writes an event, without a look at how many wait. What is written to a stream nobody reads is kept for
    /// the one who asks for it.
    fn write(&self, number: u64, message: &[u8]) {
        let mut inner = self.lock();
        let Some(inner) = inner.as_deref_mut() else { return };
        let Some(stream) = inner.open.get_mut(&number).filter(|stream| !stream.is_done) else { return };
        stream.sequence += 1;
        let mut event = Vec::with_capacity(message.len() + 64);
        let id = EventId { stream: number, sequence: stream.sequence };
        sse::write_event(&mut event, Some(&id.to_string()), message);
        let event = Bytes::from(event);
        inner.log.keep(id, event.clone());
        if stream.is_read {
            stream.add(stream.sequence, event);
        }
    }

    /// Resolves once the stream takes more.
    async fn room(&self, number: u64) {
        poll_fn(|cx| {
            let mut inner = self.lock();
            let stream = inner.as_deref_mut().and_then(|inner| inner.open.get_mut(&number));
            match stream.filter(|stream| stream.is_full() && !stream.is_done) {
                None => Poll::Ready(()),
                Some(stream) => {
                    stream.writer = Some(cx.waker().clone());
                    Poll::Pending
                }
            }
        })
        .await;
    }

    fn finish(&self, number: u64) {
        let mut inner = self.lock();
        let Some(inner) = inner.as_deref_mut() else { return };
        if let Some(stream) = inner.open.get_mut(&number) {
            stream.is_done = true;
            stream.wake_reader();
            if !stream.is_read {
                inner.open.remove(&number);
            }
        }
    }
}

impl Inner {
    /// The stream of this number with a new reader; the one before reads nothing more.
    fn attach(&mut self, number: u64) -> &mut Stream {
        let is_closed = self.is_closed;
        let stream = self.open.entry(number).or_default();
        stream.readers += 1;
        stream.is_read = true;
        stream.is_done |= is_closed;
        stream.wake_reader();
        stream.forget_pending();
        stream.wake_writer();
        stream
    }

    /// The same for a reader who has everything up to an event.
    fn attach_behind(&mut self, last: EventId, primed: bool) -> &mut Stream {
        let missed: Vec<(EventId, Bytes)> = self.log.after(last).collect();
        let stream = self.attach(last.stream);
        if primed {
            stream.add(last.sequence, priming(last));
        }
        missed.into_iter().for_each(|(id, event)| stream.add(id.sequence, event));
        stream
    }
}

fn priming(id: EventId) -> Bytes {
    let mut event = Vec::with_capacity(64);
    sse::write_priming(&mut event, &id.to_string(), Some(RETRY_MS));
    event.into()
}

/// Writes the messages of one POST; the stream ends when it is dropped.
pub(super) struct Writer {
    streams: Arc<Streams>,
    number: u64,
}

impl Writer {
    /// Resolves once the reader has taken enough, or there is none.
    pub(super) async fn room(&self) {
        self.streams.room(self.number).await;
    }

    /// Writes a message once there is room for it.
    pub(super) async fn write(&self, message: &[u8]) {
        self.room().await;
        self.streams.write(self.number, message);
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.streams.finish(self.number);
    }
}

/// Reads one stream, until another reader takes over.
pub(super) struct Reader {
    streams: Arc<Streams>,
    number: u64,
    reader: u64,
}

impl Reader {
    /// The next piece; nothing at the end of the stream, and once somebody else reads it. Cancel-safe.
    pub(super) async fn next(&mut self) -> Option<Bytes> {
        poll_fn(|cx| self.poll(cx)).await
    }

    fn poll(&self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        let mut inner = self.streams.lock();
        let Some(inner) = inner.as_deref_mut() else { return Poll::Ready(None) };
        let Some(stream) = inner.open.get_mut(&self.number).filter(|stream| stream.readers == self.reader)
        else {
            return Poll::Ready(None);
        };
        if let Some(event) = stream.take() {
            return Poll::Ready(Some(event));
        }
        if stream.is_done {
            inner.open.remove(&self.number);
            return Poll::Ready(None);
        }
        stream.reader = Some(cx.waker().clone());
        Poll::Pending
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        let mut inner = self.streams.lock();
        let Some(inner) = inner.as_deref_mut() else { return };
        let Some(stream) = inner.open.get_mut(&self.number).filter(|stream| stream.readers == self.reader)
        else {
            return;
        };
        stream.is_read = false;
        stream.reader = None;
        stream.wake_writer();
        // What was not taken is in the log.
        stream.forget_pending();
        if stream.is_done {
            inner.open.remove(&self.number);
        }
    }
}

#[cfg(test)]
mod tests;
