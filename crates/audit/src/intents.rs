//! Where calls wait until the note that they are about to run would survive a power cut. A thread of its own writes what
//! has gathered and syncs it once for all of them, so nobody who answers requests waits for a disk.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use std::{io, iter, thread};

use tokio::sync::oneshot;

use crate::degraded::{Degraded, Part};
use crate::error::AuditError;
use crate::file_ops::FileOps;
use crate::intent_log::{IntentId, IntentLog, SLOTS_MAX};
use crate::intent_slot::Intent;

/// It calls nothing deep.
const STACK_BYTES: usize = 256 * 1024;

/// How long the thread waits before it tries a disk again that did not work.
const RETRY: Duration = Duration::from_millis(250);

/// The intent log of this process and the thread that writes it, which is started with the first call that waits.
pub(crate) struct Intents {
    writer: Arc<IntentWriter>,
    /// The thread ends when this is gone.
    jobs: Mutex<Option<Sender<Job>>>,
}

struct IntentWriter {
    log: Mutex<IntentLog>,
    ops: Arc<dyn FileOps>,
    degraded: Arc<Degraded>,
    /// Jobs that were handed over and not taken up yet.
    waiting: AtomicUsize,
    /// Why the last attempt to write did not work.
    failure: Mutex<Option<AuditError>>,
}

/// What the thread has to do.
#[expect(
    clippy::large_enum_variant,
    reason = "nearly every job is a note, and a box would be an allocation for each"
)]
enum Job {
    Note(Intent, NoteSender),
    /// Of a call that was cancelled before it ran.
    Withdraw(IntentId),
}

/// Takes what comes of one intent.
type NoteSender = oneshot::Sender<Result<IntentId, AuditError>>;

/// An intent on its way to the disk. Dropped before it is there, the intent is withdrawn.
pub(crate) struct Noting<'i> {
    intents: &'i Intents,
    result: oneshot::Receiver<Result<IntentId, AuditError>>,
}

impl Intents {
    pub(crate) fn new(dir: &Path, ops: Arc<dyn FileOps>, degraded: Arc<Degraded>) -> Intents {
        let (log, failure) = (Mutex::new(IntentLog::at(dir)), Mutex::default());
        let writer = IntentWriter { log, ops, degraded, waiting: AtomicUsize::new(0), failure };
        Intents { writer: Arc::new(writer), jobs: Mutex::default() }
    }

    /// Hands an intent to the thread.
    pub(crate) fn note(&self, intent: Intent) -> Result<Noting<'_>, AuditError> {
        if self.writer.waiting.load(Ordering::Relaxed) >= SLOTS_MAX as usize {
            return Err(AuditError::Full);
        }
        let (sender, result) = oneshot::channel();
        self.hand_over(Job::Note(intent, sender))?;
        Ok(Noting { intents: self, result })
    }

    /// Hands a job to the thread, which is started first if need be.
    #[expect(
        clippy::disallowed_methods,
        reason = "`waiting` is the bound; a bounded channel takes all its memory at once"
    )]
    fn hand_over(&self, job: Job) -> Result<(), AuditError> {
        let mut jobs = lock(&self.jobs);
        let jobs = match &mut *jobs {
            Some(jobs) => jobs,
            none => {
                let (sender, receiver) = mpsc::channel();
                let writer = Arc::clone(&self.writer);
                let builder = thread::Builder::new().name("audit-intents".to_owned()).stack_size(STACK_BYTES);
                builder.spawn(move || writer.run(&receiver)).map_err(AuditError::intents)?;
                none.insert(sender)
            }
        };
        self.writer.waiting.fetch_add(1, Ordering::Relaxed);
        jobs.send(job).map_err(|_| AuditError::Stopped)
    }

    /// Notes a call on this thread, which must not wait for a disk; nothing where it would.
    pub(crate) fn note_unsynced(&self, intent: &Intent) -> Option<IntentId> {
        // The thread holds the lock for long only while it lays out a file.
        self.writer.log.try_lock().ok()?.note_unsynced(intent, &*self.writer.ops)
    }

    /// Frees the slots of calls that have their records.
    pub(crate) fn free(&self, ids: Vec<IntentId>) {
        self.writer.free(ids);
    }

    /// Why the last attempt to note a call failed; nothing if it did not.
    pub(crate) fn failure(&self) -> Option<AuditError> {
        self.writer.failure()
    }

    /// Tells the thread to end.
    pub(crate) fn stop(&self) {
        *lock(&self.jobs) = None;
    }
}

impl Noting<'_> {
    /// Waits until the intent is on the disk.
    pub(crate) async fn outcome(mut self) -> Result<IntentId, AuditError> {
        // A sender that is dropped means that the thread ended by a defect of ours: nobody waits for ever.
        (&mut self.result).await.unwrap_or(Err(AuditError::Stopped))
    }
}

impl Drop for Noting<'_> {
    /// A call cancelled while its intent is being written must not run: withdraw the intent.
    fn drop(&mut self) {
        // From now on the sender gets its result back. One that was sent before and not taken is here.
        self.result.close();
        if let Ok(Ok(id)) = self.result.try_recv() {
            // A thread that has ended leaves it to the next start.
            let _ = self.intents.hand_over(Job::Withdraw(id));
        }
    }
}

impl IntentWriter {
    fn run(&self, jobs: &Receiver<Job>) {
        loop {
            let is_failing = self.failure().is_some();
            let first = match is_failing {
                true => jobs.recv_timeout(RETRY),
                false => jobs.recv().map_err(|_| RecvTimeoutError::Disconnected),
            };
            match first {
                Ok(first) => self.serve(iter::once(first).chain(jobs.try_iter())),
                Err(RecvTimeoutError::Timeout) => {
                    let mended = lock(&self.log).renew(&*self.ops);
                    self.report(mended.map_err(AuditError::intents).err());
                }
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    /// Does what has gathered.
    fn serve(&self, jobs: impl Iterator<Item = Job>) {
        let (mut intents, mut senders, mut withdrawn) = (Vec::new(), Vec::new(), Vec::new());
        for job in jobs {
            self.waiting.fetch_sub(1, Ordering::Relaxed);
            match job {
                Job::Note(intent, sender) => {
                    intents.push(intent);
                    senders.push(sender);
                }
                Job::Withdraw(id) => withdrawn.push(id),
            }
        }
        self.free(withdrawn);
        if intents.is_empty() {
            return;
        }
        let noted = self.note_synced(intents).map_err(AuditError::intents);
        self.report(noted.as_ref().err().cloned());
        match noted {
            Ok(ids) => {
                let unsent =
                    senders.into_iter().zip(ids).filter_map(|(sender, id)| sender.send(Ok(id)).err());
                self.free(unsent.filter_map(Result::ok).collect());
            }
            // Whoever waits no longer needs no reason.
            Err(error) => senders.into_iter().for_each(|sender| drop(sender.send(Err(error.clone())))),
        }
    }

    fn note_synced(&self, intents: Vec<Intent>) -> io::Result<Vec<IntentId>> {
        let noted = lock(&self.log).note(intents, &*self.ops);
        let (ids, file) = noted.inspect_err(|_| lock(&self.log).discard(Vec::new()))?;
        // Not under the lock: calls that wait for no disk note theirs meanwhile.
        let synced = self.ops.sync(&file);
        let mut log = lock(&self.log);
        match synced.and_then(|()| log.check_place()) {
            Ok(()) => Ok(ids),
            Err(error) => {
                log.discard(ids);
                Err(error)
            }
        }
    }

    fn free(&self, ids: Vec<IntentId>) {
        if !ids.is_empty() {
            lock(&self.log).free(ids, &*self.ops);
        }
    }

    fn failure(&self) -> Option<AuditError> {
        lock(&self.failure).clone()
    }

    fn report(&self, failure: Option<AuditError>) {
        let mut last = lock(&self.failure);
        if failure.is_some() || last.is_some() {
            self.degraded.report(Part::Intents, failure.as_ref());
            *last = failure;
        }
    }
}

/// Nothing that is locked here can panic half way through a change.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
