//! The audit log as the gate sees it: ask whether it can be written, note what is about to run, close.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use redact::Redactor;

use crate::arguments::Plain;
use crate::checkpoint::{Details, Occasion, Removed};
use crate::clock::Clock;
use crate::config::{Arguments, Config};
use crate::degraded::Part;
use crate::error::AuditError;
use crate::event::Event;
use crate::file_ops::{FileOps, SystemFiles};
use crate::intent_log::IntentId;
use crate::intent_slot::Intent;
use crate::limits::{ARGUMENTS_BYTES_WAITING_MAX, RECORDS_WAITING_MAX};
use crate::queue::{ClosedCall, Entry};
use crate::record::{Opening, Record};
use crate::retention::PruneTrigger;
use crate::shared::Shared;
use crate::writer;

/// How long a flush may take. A disk that needs longer for a few megabytes is not coming back.
const FLUSH_WAIT_MAX: Duration = Duration::from_secs(10);

/// The audit log of one state folder. Nothing touches the disk before the first call.
///
/// The order for each call: [`ready`](Self::ready); for one that changes something
/// [`before_run`](Self::before_run); the run; [`close`](Self::close). Before the process ends,
/// [`flush`](Self::flush): dropping the audit log does not wait for the disk.
pub struct AuditLog {
    pub(crate) shared: Arc<Shared>,
}

impl AuditLog {
    /// The audit log that lies, or will lie, in this folder, with the default settings. It keeps hashes of
    /// arguments only, since it knows no secret to strike out of them.
    pub fn at(dir: &Path, clock: Clock) -> Self {
        let config = Config { arguments: Arguments::Hash, ..Config::default() };
        Self::new(dir, clock, config, None, Arc::new(SystemFiles))
    }

    /// The audit log that lies, or will lie, in this folder. Arguments are put down as `redactor` leaves them.
    pub fn with(dir: &Path, clock: Clock, config: Config, redactor: Redactor) -> Self {
        Self::new(dir, clock, config, Some(redactor), Arc::new(SystemFiles))
    }

    pub(crate) fn new(
        dir: &Path,
        clock: Clock,
        config: Config,
        redactor: Option<Redactor>,
        ops: Arc<dyn FileOps>,
    ) -> Self {
        Self { shared: Arc::new(Shared::new(dir, clock, config, redactor, ops)) }
    }

    /// How arguments are put down unless a rule says otherwise.
    pub fn arguments(&self) -> Arguments {
        self.shared.settings.arguments()
    }

    /// Goes by another section from now on, which has been checked: calls that come are put down as it says, and what is
    /// to be removed by it goes with the next record. Waits for no disk.
    pub fn govern(&self, config: &Config) {
        self.shared.settings.set(config);
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
            self.shared.find_segment()?;
        }
        if queue.waiting() >= RECORDS_WAITING_MAX || queue.waiting_bytes() >= ARGUMENTS_BYTES_WAITING_MAX {
            let failure = queue.failure().unwrap_or(AuditError::Full);
            self.shared.degraded.report(Part::Records, Some(&failure));
            return Err(failure);
        }
        Ok(())
    }

    /// Whether a call that changes something may go on just now, as [`before_run`](Self::before_run) would have it: what
    /// is asked by whoever wants to know whether the program serves as it should. While it may not, the disk is tried
    /// again without anybody asking.
    pub fn takes_changes(&self) -> Result<(), AuditError> {
        self.ready()?;
        let failure = self.shared.queue.failure_now().or_else(|| self.shared.intents.failure());
        failure.map_or(Ok(()), Err)
    }

    #[cold]
    fn open_or_explain(&self) -> Result<(), AuditError> {
        if let Some(failure) = self.shared.queue.failure() {
            return if failure.lets_reads_go_on() { Ok(()) } else { Err(failure) };
        }
        let opened = self.shared.with_segment(|_| {
            if !self.shared.queue.is_unopened() {
                return Ok(()); // another thread was faster
            }
            self.start_writer(None)
        });
        match opened {
            // The writer opens it as soon as there is space.
            Err(failure) if failure.lets_reads_go_on() && self.shared.queue.is_unopened() => {
                self.shared.degraded.report(Part::Records, Some(&failure));
                self.start_writer(Some(failure))
            }
            opened => {
                self.shared.degraded.report(Part::Records, opened.as_ref().err());
                opened
            }
        }
    }

    fn start_writer(&self, failure: Option<AuditError>) -> Result<(), AuditError> {
        let queue = &self.shared.queue;
        // Before the writer starts: what it finds out is newer.
        match failure {
            None => queue.set_opened(true),
            Some(failure) => queue.fail(failure),
        }
        writer::start(Arc::clone(&self.shared)).map_err(|error| {
            queue.set_opened(false);
            error.into()
        })
    }

    /// Notes, before it runs, a call that changes something: in this process's intent log, on the disk itself if the
    /// settings say so for its effect. After an error the call must not run. The id goes back with [`close`](Self::close); a
    /// future that is dropped withdraws the note.
    pub async fn before_run(&self, opening: &Opening) -> Result<IntentId, AuditError> {
        self.ready()?;
        if let Some(failure) = self.shared.queue.failure_now() {
            return Err(failure);
        }
        let intent = Intent { opening: opening.clone(), since: self.shared.last_seen() };
        if !self.shared.settings.sync().waits(opening.effect.as_deref())
            && let Some(id) = self.shared.intents.note_unsynced(&intent)
        {
            return Ok(id);
        }
        self.shared.intents.note(intent)?.outcome().await
    }

    /// Closes a call. The record is on disk some 20 ms later, with what is left of its arguments if they are
    /// given; this neither waits for a disk nor fails. Calls that were let in are noted however many wait by
    /// now; only without that leave, beyond twice [`RECORDS_WAITING_MAX`], a record is let go.
    pub fn close(&self, mut record: Record, plain: Option<Plain>, intent: Option<IntentId>) {
        if self.shared.queue.waiting() >= 2 * RECORDS_WAITING_MAX {
            return;
        }
        // The hash stays, so nothing but the text is lost.
        let plain = plain.filter(|_| self.shared.queue.waiting_bytes() < ARGUMENTS_BYTES_WAITING_MAX);
        record.cut();
        self.shared.queue.put(Entry::Call(ClosedCall { record, plain, intent }));
    }

    /// Notes what is no call. It is on disk some 20 ms later; this waits for a disk only where it opens the audit log.
    ///
    /// # Errors
    /// As [`ready`](Self::ready): then it is not noted.
    pub fn note(&self, mut event: Event) -> Result<(), AuditError> {
        self.ready()?;
        event.cut();
        self.shared.queue.put(Entry::Event(event));
        Ok(())
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
        self.shared.prune(PruneTrigger::Person)
    }

    /// Flushes, signs the end of the audit log and hands it to the disk. Does nothing for a process that wrote nothing.
    /// Blocks on the disk; meant for the shutdown.
    pub fn sign_end(&self) -> Result<(), AuditError> {
        self.flush()?;
        let shared = &*self.shared;
        if shared.queue.is_unopened() {
            return Ok(());
        }
        shared.compare_once()?;
        shared.with_segment(|segment| {
            segment.locked(|segment| segment.write_checkpoint(Occasion::Shutdown, Details::default()))
        })?;
        // What others write behind it may not be on the disk yet.
        shared.sync()
    }
}

impl Drop for AuditLog {
    fn drop(&mut self) {
        self.shared.queue.stop();
        self.shared.intents.stop();
    }
}
