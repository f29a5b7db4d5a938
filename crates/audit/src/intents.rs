//! Where calls wait until the note that they are about to run would survive a power cut. A thread of its own writes what
//! has gathered and syncs it once for all of them, so nobody who answers requests waits for a disk.

use std::{
    io,
    path::Path,
    pin::Pin,
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, ready},
    thread,
    time::Duration,
};

use tokio::sync::oneshot;

use crate::{
    degraded::{Degraded, Part},
    error::AuditError,
    file_ops::FileOps,
    intent_log::{IntentId, IntentLog, SLOTS_MAX},
    intent_slot::Intent,
};

/// It calls nothing deep.
const STACK_BYTES: usize = 256 * 1024;

/// How long the thread waits before it tries a disk again that did not work.
const RETRY: Duration = Duration::from_millis(250);

/// The intent log of this process and the thread that writes it, which is started with the first call that waits.
pub(crate) struct Intents(Arc<IntentWriter>);

struct IntentWriter {
    log: Mutex<IntentLog>,
    ops: Arc<dyn FileOps>,
    degraded: Arc<Degraded>,
    queue: Mutex<IntentQueue>,
    wake_up: Condvar,
    /// Whether the last attempt to write failed. Changed under the queue's lock, read without.
    is_failing: AtomicBool,
}

#[derive(Default)]
struct IntentQueue {
    waiting: Vec<(Intent, NoteSender)>,
    /// Of calls that were cancelled before they ran.
    withdrawn: Vec<IntentId>,
    /// Why the last attempt to write did not work.
    failure: Option<AuditError>,
    is_started: bool,
    is_stopping: bool,
    /// The thread sleeps until it is woken.
    is_idle: bool,
}

/// What has gathered; nothing if it is time to try a failing disk again.
type Gathered = (Vec<(Intent, NoteSender)>, Vec<IntentId>);

/// Takes what comes of one intent.
type NoteSender = oneshot::Sender<Result<IntentId, AuditError>>;

/// Resolves once the intent is on the disk. Dropped before, the intent is withdrawn.
pub(crate) struct Noting<'i> {
    writer: &'i IntentWriter,
    result: oneshot::Receiver<Result<IntentId, AuditError>>,
}

impl Intents {
    pub(crate) fn new(dir: &Path, ops: Arc<dyn FileOps>, degraded: Arc<Degraded>) -> Intents {
        Intents(Arc::new(IntentWriter {
            log: Mutex::new(IntentLog::at(dir)),
            ops,
            degraded,
            queue: Mutex::default(),
            wake_up: Condvar::new(),
            is_failing: AtomicBool::new(false),
        }))
    }

    /// Hands an intent to the thread.
    pub(crate) fn note(&self, intent: Intent) -> Result<Noting<'_>, AuditError> {
        let (sender, result) = oneshot::channel();
        let mut queue = self.0.queue();
        if queue.waiting.len() >= SLOTS_MAX as usize {
            return Err(AuditError::Full);
        }
        if !queue.is_started {
            let writer = Arc::clone(&self.0);
            let builder = thread::Builder::new().name("audit-intents".to_owned()).stack_size(STACK_BYTES);
            builder.spawn(move || writer.run()).map_err(AuditError::intents)?;
            queue.is_started = true;
        }
        queue.waiting.push((intent, sender));
        self.0.wake(queue);
        Ok(Noting { writer: &self.0, result })
    }

    /// Notes a call on this thread, which must not wait for a disk; nothing where it would.
    pub(crate) fn note_unsynced(&self, intent: &Intent) -> Option<IntentId> {
        // The thread holds the lock for long only while it lays out a file.
        self.0.log.try_lock().ok()?.note_unsynced(intent, &*self.0.ops)
    }

    /// Frees the slots of calls that have their records.
    pub(crate) fn free(&self, ids: Vec<IntentId>) {
        if !ids.is_empty() {
            self.0.log().free(ids, &*self.0.ops);
        }
    }

    /// Why the last attempt to note a call failed; costs a load from memory if it did not.
    pub(crate) fn failure(&self) -> Option<AuditError> {
        if self.0.is_failing.load(Ordering::Acquire) { self.0.queue().failure.clone() } else { None }
    }

    /// Tells the thread to end.
    pub(crate) fn stop(&self) {
        let mut queue = self.0.queue();
        queue.is_stopping = true;
        self.0.wake(queue);
    }
}

impl Future for Noting<'_> {
    type Output = Result<IntentId, AuditError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        // A sender that is dropped means that the thread ended by a defect of ours: nobody waits for ever.
        let result = ready!(Pin::new(&mut self.result).poll(cx));
        Poll::Ready(result.unwrap_or(Err(AuditError::Stopped)))
    }
}

impl Drop for Noting<'_> {
    /// A call cancelled while its intent is being written must not run: withdraw the intent.
    fn drop(&mut self) {
        // From now on the sender gets its result back. One that was sent before and not taken is here.
        self.result.close();
        if let Ok(Ok(id)) = self.result.try_recv() {
            let mut queue = self.writer.queue();
            queue.withdrawn.push(id);
            self.writer.wake(queue);
        }
    }
}

impl IntentWriter {
    fn queue(&self) -> MutexGuard<'_, IntentQueue> {
        // Nothing in here can panic half way through a change.
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn log(&self) -> MutexGuard<'_, IntentLog> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wake(&self, mut queue: MutexGuard<'_, IntentQueue>) {
        if std::mem::take(&mut queue.is_idle) {
            drop(queue);
            self.wake_up.notify_one();
        }
    }

    /// Waits until there is something to do; `None` means that it is time to end.
    fn gather(&self) -> Option<Gathered> {
        let mut queue = self.queue();
        while queue.waiting.is_empty() && queue.withdrawn.is_empty() {
            if queue.is_stopping {
                return None;
            }
            queue.is_idle = true;
            if queue.failure.is_none() {
                queue = self.wake_up.wait(queue).unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            let (woken, timeout) =
                self.wake_up.wait_timeout(queue, RETRY).unwrap_or_else(PoisonError::into_inner);
            queue = woken;
            if timeout.timed_out() {
                break;
            }
        }
        queue.is_idle = false;
        Some((std::mem::take(&mut queue.waiting), std::mem::take(&mut queue.withdrawn)))
    }

    fn run(&self) {
        while let Some((waiting, withdrawn)) = self.gather() {
            let retries = waiting.is_empty() && withdrawn.is_empty();
            if !withdrawn.is_empty() {
                self.log().free(withdrawn, &*self.ops);
            }
            if retries {
                let mended = self.log().renew(&*self.ops);
                self.report(mended.map_err(AuditError::intents).err());
            }
            if !waiting.is_empty() {
                self.serve(waiting);
            }
        }
    }

    fn serve(&self, waiting: Vec<(Intent, NoteSender)>) {
        let (intents, senders): (Vec<Intent>, Vec<NoteSender>) = waiting.into_iter().unzip();
        let noted = self.note_synced(intents).map_err(AuditError::intents);
        self.report(noted.as_ref().err().cloned());
        let gone: Vec<IntentId> = match noted {
            Ok(ids) => {
                let unsent =
                    senders.into_iter().zip(ids).filter_map(|(sender, id)| sender.send(Ok(id)).err());
                unsent.filter_map(Result::ok).collect()
            }
            Err(error) => {
                // Whoever waits no longer needs no reason.
                senders.into_iter().for_each(|sender| drop(sender.send(Err(error.clone()))));
                Vec::new()
            }
        };
        if !gone.is_empty() {
            self.log().free(gone, &*self.ops);
        }
    }

    fn note_synced(&self, intents: Vec<Intent>) -> io::Result<Vec<IntentId>> {
        let noted = self.log().note(intents, &*self.ops);
        let (ids, file) = noted.inspect_err(|_| self.log().discard(Vec::new()))?;
        // Not under the lock: calls that wait for no disk note theirs meanwhile.
        let synced = self.ops.sync(&file);
        let mut log = self.log();
        match synced.and_then(|()| log.check_place()) {
            Ok(()) => Ok(ids),
            Err(error) => {
                log.discard(ids);
                Err(error)
            }
        }
    }

    fn report(&self, failure: Option<AuditError>) {
        if failure.is_none() && !self.is_failing.load(Ordering::Acquire) {
            return;
        }
        self.degraded.report(Part::Intents, failure.as_ref());
        let mut queue = self.queue();
        self.is_failing.store(failure.is_some(), Ordering::Release);
        queue.failure = failure;
    }
}
