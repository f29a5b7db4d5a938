//! The book as the gate sees it: ask whether it can be written, note what is about to run, close.

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use crate::{
    error::BookError,
    file::BookFile,
    journal::{Journal, JournalMark},
    line::Head,
    pen::{Pen, Steady},
    queue::{Closed, Queue},
    record::{Opening, Record},
    recover, writer,
};

/// The book's name within the state folder.
pub const FILE: &str = "audit.jsonl";

/// Records that may wait for the disk before calls are refused: about 16 MiB, and seconds of the fastest
/// callers.
pub const RECORDS_WAITING_MAX: usize = 65_536;

/// How long a flush may take. A disk that needs longer for a few megabytes is not coming back.
const FLUSH_WAIT_MAX: Duration = Duration::from_secs(10);

/// Tells the time in milliseconds since 1970.
pub type Clock = fn() -> i64;

/// The book of one state folder. Nothing touches the disk before the first call.
///
/// The order for each call: [`ready`](Self::ready); for one that changes something
/// [`before_run`](Self::before_run); the run; [`close`](Self::close). Before the process ends,
/// [`flush`](Self::flush): dropping the book does not wait for the disk.
pub struct Book {
    shared: Arc<Shared>,
}

impl Book {
    /// The book that lies, or will lie, in this folder.
    pub fn at(dir: &Path, clock: Clock) -> Self {
        Self::with_pen(dir, clock, Box::new(Steady))
    }

    pub(crate) fn with_pen(dir: &Path, clock: Clock, pen: Box<dyn Pen>) -> Self {
        Self {
            shared: Arc::new(Shared {
                dir: dir.to_owned(),
                clock,
                pen,
                queue: Queue::default(),
                end: AtomicU64::new(0),
                file: Mutex::new(None),
                journal: Mutex::new(Journal::at(dir)),
            }),
        }
    }

    /// Whether a call may go on: its record will find a place. Two loads from memory, once the book is
    /// open; the first time it opens the book and starts the writer. A call refused by this error has no
    /// record and needs no `close`.
    pub fn ready(&self) -> Result<(), BookError> {
        if !self.shared.queue.is_healthy() {
            self.open_or_explain()?;
        }
        if self.shared.queue.waiting() >= RECORDS_WAITING_MAX {
            return Err(BookError::Full);
        }
        Ok(())
    }

    #[cold]
    fn open_or_explain(&self) -> Result<(), BookError> {
        if let Some(failure) = self.shared.queue.failure() {
            return Err(failure);
        }
        self.shared.with_file(|_| {
            if !self.shared.queue.is_unopened() {
                return Ok(()); // another thread was faster
            }
            // Before the writer starts: what it finds out is newer.
            self.shared.queue.set_opened(true);
            writer::start(Arc::clone(&self.shared)).map_err(|error| {
                self.shared.queue.set_opened(false);
                BookError::unwritable(error)
            })
        })
    }

    /// Notes, before it runs, a call that changes something: one `write` to this process's journal. After
    /// an error the call must not run. The mark goes back with [`close`](Self::close).
    pub fn before_run(&self, opening: &Opening) -> Result<JournalMark, BookError> {
        self.ready()?;
        let from = self.shared.end.load(Ordering::Relaxed);
        let mut journal = self.shared.journal.lock().unwrap_or_else(PoisonError::into_inner);
        journal.open_call(opening, from, &*self.shared.pen)
    }

    /// Closes a call. The record is on disk some 20 ms later; this neither waits for a disk nor fails.
    /// Calls that were let in are noted however many wait by now; only without that leave, beyond twice
    /// [`RECORDS_WAITING_MAX`], a record is let go.
    pub fn close(&self, mut record: Record, mark: Option<JournalMark>) {
        if self.shared.queue.waiting() >= 2 * RECORDS_WAITING_MAX {
            return;
        }
        record.cut();
        self.shared.queue.put(Closed { record, mark });
    }

    /// Waits until every closed call is on disk and would survive a power cut. `Err` names why not; the
    /// records stay in memory and are tried again.
    pub fn flush(&self) -> Result<(), BookError> {
        if self.shared.queue.is_unopened() {
            if self.shared.queue.waiting() == 0 {
                return Ok(());
            }
            self.open_or_explain()?;
        }
        self.shared.queue.flush(FLUSH_WAIT_MAX)
    }

    /// Writes the records of calls that were running when their process died, and says how many. The
    /// writer does this once by itself when the book is first used.
    pub fn recover(&self) -> Result<usize, BookError> {
        self.shared.recover()
    }

    /// Whether this process never let a call in.
    pub(crate) fn is_unused(&self) -> bool {
        self.shared.queue.is_unopened()
    }

    /// The head of the book now, whoever wrote it.
    pub(crate) fn head(&self) -> Result<Head, BookError> {
        self.shared.with_file(BookFile::head)
    }
}

impl Drop for Book {
    fn drop(&mut self) {
        self.shared.queue.stop();
    }
}

/// What the book and its writer share. Locks are taken in the order file, journal, queue.
pub(crate) struct Shared {
    pub(crate) pen: Box<dyn Pen>,
    pub(crate) queue: Queue,
    pub(crate) journal: Mutex<Journal>,
    dir: PathBuf,
    clock: Clock,
    /// The book's length when last seen. Where a call's record will be is never before it.
    end: AtomicU64,
    file: Mutex<Option<BookFile>>,
}

impl Shared {
    /// Runs `work` on the book, which is opened first if need be.
    pub(crate) fn with_file<T>(
        &self,
        work: impl FnOnce(&mut BookFile) -> Result<T, BookError>,
    ) -> Result<T, BookError> {
        let mut slot = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        let file = match &mut *slot {
            Some(file) => file,
            none => none.insert(BookFile::open(&self.dir)?),
        };
        let done = work(file);
        self.end.store(file.end(), Ordering::Relaxed);
        done
    }

    /// Appends and takes out of the list what reached the disk.
    pub(crate) fn append(&self, records: &mut Vec<Record>) -> Result<(), BookError> {
        self.with_file(|file| file.append(records, (self.clock)(), &*self.pen))
    }

    pub(crate) fn recover(&self) -> Result<usize, BookError> {
        let mut recovered = 0;
        for journal in recover::dead_journals(&self.dir).map_err(BookError::journal)? {
            let mut crashed = journal.crashed(&self.dir).map_err(BookError::journal)?;
            recovered += crashed.len();
            if !crashed.is_empty() {
                self.append(&mut crashed)?;
            }
            journal.remove().map_err(BookError::journal)?;
        }
        Ok(recovered)
    }
}
