//! The book on the disk: appended to under a lock, since several processes share it.
#![expect(clippy::disallowed_methods, reason = "the audit book is a declared home of files")]

use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io,
    os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use crate::{
    book::FILE,
    error::BookError,
    line::{self, Head, LINE_BYTES_MAX, Line},
    pen::Pen,
    record::Record,
};

/// Only the owner may read what they did.
pub(crate) const FILE_MODE: u32 = 0o600;

/// How far back a whole line is looked for. Beyond, the end of the book is not ours.
const TAIL_BYTES_MAX: u64 = 1024 * 1024;

/// Another process holds the lock for one write; seconds mean that it is stuck.
const LOCK_WAIT_MAX: Duration = Duration::from_secs(5);

/// How often to ask for the lock. The system's own wait has no deadline.
const LOCK_RETRY: Duration = Duration::from_millis(1);

/// The open book.
pub(crate) struct BookFile {
    path: PathBuf,
    file: File,
    /// Where the book ended when we last looked. If it still does, `head` is its last record.
    end: u64,
    head: Head,
    /// Whether the last line lacks its line break.
    torn: bool,
}

impl BookFile {
    /// Opens the book of this folder; creates both if need be.
    pub(crate) fn open(dir: &Path) -> Result<Self, BookError> {
        store::create_private(dir).map_err(BookError::unwritable)?;
        let path = dir.join(FILE);
        let file = OpenOptions::new()
            .read(true)
            .append(true)
            .create(true)
            .mode(FILE_MODE)
            .open(&path)
            .map_err(BookError::unwritable)?;
        let mut book = Self { path, file, end: 0, head: Head::START, torn: false };
        book.locked(|_| Ok(()))?;
        Ok(book)
    }

    /// Appends these records with one write and takes out of the list what reached the disk: after an
    /// error that may be a part of them.
    pub(crate) fn append(
        &mut self,
        records: &mut Vec<Record>,
        written_at_ms: i64,
        pen: &dyn Pen,
    ) -> Result<(), BookError> {
        self.locked(|book| {
            if records.is_empty() {
                return Ok(());
            }
            let before = book.head;
            let (bytes, head) = book.lines(records, written_at_ms);
            let Err(error) = pen.write(&book.file, &bytes) else {
                (book.end, book.head, book.torn) = (book.end + bytes.len() as u64, head, false);
                records.clear();
                return Ok(());
            };
            // Best effort: `look` finds what stays, be it whole lines or a torn one.
            let _ = pen.take_back(&book.file, book.end);
            book.look()?;
            records.drain(..landed(before, book.head, records.len()));
            Err(BookError::unwritable(error))
        })
    }

    fn lines(&self, records: &[Record], written_at_ms: i64) -> (Vec<u8>, Head) {
        /// What a usual line takes; more is only a growth of the buffer.
        const LINE_BYTES_USUAL: usize = 640;
        let mut bytes = Vec::with_capacity(records.len() * LINE_BYTES_USUAL);
        if self.torn {
            bytes.push(b'\n');
        }
        let head = records
            .iter()
            .fold(self.head, |head, record| line::write(&mut bytes, head, written_at_ms, record));
        (bytes, head)
    }

    /// The last record of the book now, whoever wrote it.
    pub(crate) fn head(&mut self) -> Result<Head, BookError> {
        self.locked(|book| Ok(book.head))
    }

    /// Where the book ended when we last looked.
    pub(crate) fn end(&self) -> u64 {
        self.end
    }

    /// Hands what was written to the disk itself, so that it survives the machine.
    pub(crate) fn sync(&self) -> Result<(), BookError> {
        self.file.sync_data().map_err(BookError::unwritable)
    }

    /// Runs `work` while no other process writes, knowing the true end of the book.
    fn locked<T>(&mut self, work: impl FnOnce(&mut Self) -> Result<T, BookError>) -> Result<T, BookError> {
        lock(&self.file).map_err(BookError::unwritable)?;
        let done = self.catch_up().and_then(|()| work(self));
        let unlocked = self.file.unlock().map_err(BookError::unwritable);
        done.and_then(|done| unlocked.map(|()| done))
    }

    fn catch_up(&mut self) -> Result<(), BookError> {
        let open = self.file.metadata().map_err(BookError::unwritable)?;
        // A book that was moved away would take our records with it, unseen.
        let named = fs::metadata(&self.path).map_err(|_| BookError::Removed)?;
        if open.len() < self.end || (open.dev(), open.ino()) != (named.dev(), named.ino()) {
            return Err(BookError::Removed);
        }
        if open.len() == self.end { Ok(()) } else { self.look() }
    }

    /// Finds the last whole line. What follows it was torn by a crash.
    fn look(&mut self) -> Result<(), BookError> {
        let len = self.file.metadata().map_err(BookError::unwritable)?.len();
        for window in [2 * LINE_BYTES_MAX as u64, TAIL_BYTES_MAX] {
            let window = window.min(len);
            let mut tail = vec![0; window as usize];
            self.file.read_exact_at(&mut tail, len - window).map_err(BookError::unwritable)?;
            let head = last_head(&tail).or((window == len).then_some(Head::START));
            if let Some(head) = head {
                (self.end, self.head, self.torn) =
                    (len, head, tail.last().is_some_and(|byte| *byte != b'\n'));
                return Ok(());
            }
        }
        Err(BookError::Damaged)
    }
}

/// How many records of a failed write are in the book nevertheless. Nobody else wrote: we held the lock.
fn landed(before: Head, after: Head, written: usize) -> usize {
    usize::try_from(after.seq.saturating_sub(before.seq)).map_or(written, |landed| landed.min(written))
}

fn last_head(tail: &[u8]) -> Option<Head> {
    tail.rsplit(|byte| *byte == b'\n').find_map(|line| match line::read(line) {
        Line::Whole { head, .. } => Some(head),
        Line::Changed | Line::Torn => None,
    })
}

/// Waits for the lock of a file, but not for ever.
fn lock(file: &File) -> io::Result<()> {
    let deadline = Instant::now() + LOCK_WAIT_MAX;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(()),
            Err(TryLockError::Error(error)) => return Err(error),
            Err(TryLockError::WouldBlock) if Instant::now() >= deadline => {
                return Err(io::Error::new(io::ErrorKind::TimedOut, "another process holds the lock"));
            }
            Err(TryLockError::WouldBlock) => thread::sleep(LOCK_RETRY),
        }
    }
}
