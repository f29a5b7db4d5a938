//! the audit log as the gate sees it: ask whether it can be written, note what is about to run, close.

use std::{
    borrow::Borrow,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use redact::Redactor;
use store::Store;

use crate::{
    arguments::Plain,
    checkpoint::{Occasion, Removed, Said},
    config::{Arguments, Config, InForce},
    desk::Desk,
    error::AuditError,
    file::LogFile,
    head_note,
    in_place::InPlace,
    journal::{Intent, Journal, JournalMark, Until},
    line::Head,
    outage::Outage,
    pen::{Pen, Steady},
    prune::Asks,
    queue::{Closed, Queue},
    record::{Opening, Record},
    recover, writer,
};

/// The name of the audit log's open segment within the state folder.
pub const FILE: &str = "audit.jsonl";

/// Records that may wait for the disk before calls are refused: about 64 MiB, and seconds of the fastest
/// callers.
pub const RECORDS_WAITING_MAX: usize = 65_536;

/// Bytes of arguments that may wait with them before calls are refused.
pub const ARGUMENTS_BYTES_WAITING_MAX: usize = 64 * 1024 * 1024;

/// How long a flush may take. A disk that needs longer for a few megabytes is not coming back.
const FLUSH_WAIT_MAX: Duration = Duration::from_secs(10);

/// Tells the time in milliseconds since 1970.
pub type Clock = fn() -> i64;

/// the audit log of one state folder. Nothing touches the disk before the first call.
///
/// The order for each call: [`ready`](Self::ready); for one that changes something
/// [`before_run`](Self::before_run); the run; [`close`](Self::close). Before the process ends,
/// [`flush`](Self::flush): dropping the audit log does not wait for the disk.
pub struct AuditLog {
    pub(crate) shared: Arc<Shared>,
}

impl AuditLog {
    /// the audit log that lies, or will lie, in this folder, with the default settings. It keeps hashes of
    /// arguments only, since it knows no secret to strike out of them.
    pub fn at(dir: &Path, clock: Clock) -> Self {
        let config = Config { arguments: Arguments::Hash, ..Config::default() };
        Self::new(dir, clock, config, None, Box::new(Steady))
    }

    /// the audit log that lies, or will lie, in this folder. Arguments are put down as `redactor` leaves them.
    pub fn with(dir: &Path, clock: Clock, config: Config, redactor: Redactor) -> Self {
        Self::new(dir, clock, config, Some(redactor), Box::new(Steady))
    }

    pub(crate) fn new(
        dir: &Path,
        clock: Clock,
        config: Config,
        redactor: Option<Redactor>,
        pen: Box<dyn Pen>,
    ) -> Self {
        Self {
            shared: Arc::new(Shared {
                dir: dir.to_owned(),
                clock,
                config: InForce::new(config),
                redactor,
                pen,
                queue: Queue::default(),
                desk: Desk::default(),
                last_seen: AtomicU64::new(0),
                file: Mutex::new(None),
                in_place: InPlace::of(dir.join(FILE)),
                store: None,
                is_compared: AtomicBool::new(false),
                outage: Outage::default(),
                journal: Mutex::new(Journal::at(dir)),
            }),
        }
    }

    /// The same audit log, held against the head that this store keeps before the first line is written.
    #[must_use]
    pub fn kept_in(mut self, store: Arc<dyn Store>) -> Self {
        let shared = Arc::get_mut(&mut self.shared);
        shared.expect("nothing is shared before the first call").store = Some(store);
        self
    }

    /// How arguments are put down unless a rule says otherwise.
    pub fn arguments(&self) -> Arguments {
        self.shared.config.arguments()
    }

    /// Goes by another section from now on, which has been checked: calls that come are put down as it says, and what is
    /// to be removed by it goes with the next record. Waits for no disk.
    pub fn govern(&self, config: &Config) {
        self.shared.config.set(config);
    }

    /// Whether a call may go on: its record will find a place. Three loads from memory, once the audit log is
    /// open, and before the first record of each batch a look whether the audit log is in its place; the first time it opens
    /// the audit log and starts the writer. On a full disk it still says yes, until
    /// no more records fit into memory: calls that change something learn of it by
    /// [`before_run`](Self::before_run). A call refused by this error has no record and needs no `close`.
    pub fn ready(&self) -> Result<(), AuditError> {
        let queue = &self.shared.queue;
        if !queue.is_healthy() {
            self.open_or_explain()?;
        } else if queue.waiting() == 0 && !self.shared.in_place.holds() {
            self.shared.find_book()?;
        }
        if queue.waiting() >= RECORDS_WAITING_MAX || queue.waiting_bytes() >= ARGUMENTS_BYTES_WAITING_MAX {
            let failure = queue.failure().unwrap_or(AuditError::Full);
            self.shared.outage.tell(Some(&failure));
            return Err(failure);
        }
        Ok(())
    }

    /// Whether a call that changes something may go on just now, as [`before_run`](Self::before_run) would have it: what
    /// is asked by whoever wants to know whether the program serves as it should. While it may not, the disk is tried
    /// again without anybody asking.
    pub fn takes_changes(&self) -> Result<(), AuditError> {
        self.ready()?;
        let queue = &self.shared.queue;
        queue.failure_now().or_else(|| queue.journal_failure()).map_or(Ok(()), Err)
    }

    #[cold]
    fn open_or_explain(&self) -> Result<(), AuditError> {
        if let Some(failure) = self.shared.queue.failure() {
            return if failure.lets_reads_go_on() { Ok(()) } else { Err(failure) };
        }
        let opened = self.shared.with_file(|_| {
            if !self.shared.queue.is_unopened() {
                return Ok(()); // another thread was faster
            }
            self.start_writer(None)
        });
        match opened {
            // The writer opens it as soon as there is space.
            Err(failure) if failure.lets_reads_go_on() && self.shared.queue.is_unopened() => {
                self.shared.outage.tell(Some(&failure));
                self.start_writer(Some(failure))
            }
            opened => {
                self.shared.outage.tell(opened.as_ref().err());
                opened
            }
        }
    }

    fn start_writer(&self, failure: Option<AuditError>) -> Result<(), AuditError> {
        let queue = &self.shared.queue;
        // Before the writer starts: what it finds out is newer.
        match failure {
            None => queue.set_opened(true),
            Some(failure) => queue.set_failing(failure),
        }
        writer::start(Arc::clone(&self.shared)).map_err(|error| {
            queue.set_opened(false);
            AuditError::unwritable(error)
        })
    }

    /// Notes, before it runs, a call that changes something: in this process's journal, on the disk itself
    /// unless the settings say otherwise. After an error the call must not run. The mark goes back with
    /// [`close`](Self::close); a future that is dropped takes the note back.
    pub async fn before_run(&self, opening: &Opening) -> Result<JournalMark, AuditError> {
        self.ready()?;
        if let Some(failure) = self.shared.queue.failure_now() {
            return Err(failure);
        }
        let intent =
            Intent { opening: opening.clone(), since: self.shared.last_seen.load(Ordering::Relaxed) };
        if self.shared.config.is_durable() {
            return self.shared.note(intent)?.await;
        }
        let marks = self.shared.journal().open_calls([intent].into_iter(), Until::Written, &*self.shared.pen);
        self.shared.tell_of_journal(marks.as_ref().err());
        let marks = marks?;
        Ok(marks.into_iter().next().expect("one intent gets one mark"))
    }

    /// Closes a call. The record is on disk some 20 ms later, with what is left of its arguments if they are
    /// given; this neither waits for a disk nor fails. Calls that were let in are noted however many wait by
    /// now; only without that leave, beyond twice [`RECORDS_WAITING_MAX`], a record is let go.
    pub fn close(&self, mut record: Record, plain: Option<Plain>, mark: Option<JournalMark>) {
        if self.shared.queue.waiting() >= 2 * RECORDS_WAITING_MAX {
            return;
        }
        // The hash stays, so nothing but the text is lost.
        let plain = plain.filter(|_| self.shared.queue.waiting_bytes() < ARGUMENTS_BYTES_WAITING_MAX);
        record.cut();
        self.shared.queue.put(Closed { record, plain, mark });
    }

    /// Waits until every closed call is on disk and would survive a power cut. `Err` names why not; the
    /// records stay in memory and are tried again.
    pub fn flush(&self) -> Result<(), AuditError> {
        if self.shared.queue.is_unopened() {
            if self.shared.queue.waiting() == 0 {
                return Ok(());
            }
            self.open_or_explain()?;
        }
        self.shared.queue.flush(FLUSH_WAIT_MAX)
    }

    /// Writes the records of calls that were running when their process died, and says how many. The
    /// writer does this once by itself when the audit log is first used.
    pub fn recover(&self) -> Result<usize, AuditError> {
        self.shared.recover()
    }

    /// Removes segments that are too old or too many by the settings, and says which. The writer does this by
    /// itself when the audit log is first used and whenever a segment is closed, but waits until the clock has stood for a
    /// day where a segment is too old; this believes the clock.
    pub fn prune(&self) -> Result<Vec<Removed>, AuditError> {
        self.shared.prune(Asks::Person)
    }

    /// Whether this process never let a call in.
    pub(crate) fn is_unused(&self) -> bool {
        self.shared.queue.is_unopened()
    }

    /// Signs the end of the audit log and hands it to the disk. Returns the record that says so.
    pub(crate) fn sign_end(&self) -> Result<Head, AuditError> {
        let shared = &*self.shared;
        // What others write behind it may not be on the disk yet.
        let head = shared.with_file(|file| {
            file.checkpoint(Occasion::Shutdown, Said::default(), (shared.clock)(), &*shared.pen)?;
            Ok(file.last_seen())
        })?;
        shared.sync()?;
        Ok(head)
    }
}

impl Drop for AuditLog {
    fn drop(&mut self) {
        self.shared.queue.stop();
        self.shared.desk.stop();
    }
}

/// What the audit log and its threads share. Locks are taken in the order file, journal, queue.
pub(crate) struct Shared {
    pub(crate) pen: Box<dyn Pen>,
    pub(crate) queue: Queue,
    pub(crate) desk: Desk,
    pub(crate) config: InForce,
    pub(crate) dir: PathBuf,
    pub(crate) clock: Clock,
    redactor: Option<Redactor>,
    /// Where the head is kept besides.
    pub(crate) store: Option<Arc<dyn Store>>,
    /// Whether the kept heads were looked for in the audit log.
    pub(crate) is_compared: AtomicBool,
    pub(crate) outage: Outage,
    journal: Mutex<Journal>,
    /// The number of the audit log's last record when last seen. A call's own record is never before it.
    last_seen: AtomicU64,
    file: Mutex<Option<LogFile>>,
    /// Whether that file is still the audit log.
    in_place: InPlace,
}

impl Shared {
    /// Runs `work` on the audit log, which is opened first if need be.
    pub(crate) fn with_file<T>(
        &self,
        work: impl FnOnce(&mut LogFile) -> Result<T, AuditError>,
    ) -> Result<T, AuditError> {
        let mut slot = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        let config = self.config.config();
        let file = match &mut *slot {
            Some(file) => file,
            none => none.insert(LogFile::open(&self.dir, &config, &*self.pen)?),
        };
        file.go_by(&config);
        let done = work(file);
        self.last_seen.store(file.last_seen().seq, Ordering::Relaxed);
        self.in_place.set(file.id());
        done
    }

    /// Looks closer at an audit log that is not where it was: another process closed the segment, or it was removed, and then
    /// nothing that is written from now on stays.
    #[cold]
    fn find_book(&self) -> Result<(), AuditError> {
        let Err(failure) = self.with_file(|file| file.locked(&*self.pen, |_| Ok(()))) else { return Ok(()) };
        self.outage.tell(Some(&failure));
        self.queue.fail(failure.clone());
        if failure.lets_reads_go_on() { Ok(()) } else { Err(failure) }
    }

    /// The journal. With `durable` it may be held for as long as a disk takes, so only by the threads of the
    /// audit log.
    pub(crate) fn journal(&self) -> MutexGuard<'_, Journal> {
        self.journal.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What came of an attempt to write the journal.
    pub(crate) fn tell_of_journal(&self, failure: Option<&AuditError>) {
        if failure.is_some() {
            self.outage.tell(failure);
        }
        self.queue.set_journal(failure.cloned());
    }

    /// Tries the journal again if it could not be written. Says why it still cannot.
    pub(crate) fn mend_journal(&self) -> Option<AuditError> {
        self.queue.journal_failure()?;
        let failure = self.journal().mend(&*self.pen).map_err(AuditError::journal).err();
        self.queue.set_journal(failure.clone());
        failure
    }

    /// Appends and takes out of the list what reached the disk. True if a segment was closed before.
    pub(crate) fn append(&self, records: &mut Vec<impl Borrow<Record>>) -> Result<bool, AuditError> {
        self.compare_once()?;
        self.with_file(|file| file.append(records, (self.clock)(), &*self.pen))
    }

    /// Hands what was written to the disk itself and notes the head that is safe by now.
    pub(crate) fn sync(&self) -> Result<(), AuditError> {
        self.compare_once()?;
        self.with_file(|file| {
            let safe = file.last_seen();
            file.sync(&*self.pen)?;
            file.signer()?;
            file.locked(&*self.pen, |file| {
                let dir = file.dir.clone();
                // Best effort: the store has an older head, and the next time is a second away.
                let _ = head_note::note(&dir, safe, file.signer()?, &*self.pen);
                Ok(())
            })
        })
    }

    /// Puts what is left of the arguments into the record, and strikes what a caller made up out of it.
    /// Returns the bytes that are no longer held.
    pub(crate) fn strike(&self, closed: &mut Closed) -> usize {
        let (plain, opening) = (closed.plain.take(), &mut closed.record.opening);
        if let Some(redactor) = &self.redactor {
            opening.arguments = plain.as_ref().and_then(|plain| plain.strike(redactor));
            // The name of a tool that there is none of is the caller's text.
            if opening.effect.is_none() {
                let struck = redactor.text(&opening.tool);
                if *struck != *opening.tool {
                    opening.tool = Arc::from(struck);
                }
            }
        }
        plain.map_or(0, |plain| plain.bytes())
    }

    pub(crate) fn recover(&self) -> Result<usize, AuditError> {
        let mut recovered = 0;
        for journal in recover::dead_journals(&self.dir).map_err(AuditError::journal)? {
            let mut left_open = journal.left_open(&self.dir).map_err(AuditError::journal)?;
            recovered += left_open.len();
            if !left_open.is_empty() {
                self.append(&mut left_open)?;
            }
            if self.config.is_durable() {
                // Its other records may have been written a moment before their process died.
                self.sync()?;
            }
            journal.remove(&*self.pen).map_err(AuditError::journal)?;
        }
        Ok(recovered)
    }
}
