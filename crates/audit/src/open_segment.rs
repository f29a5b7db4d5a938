//! The open segment of the audit log: appended to under a lock, since several processes share it, closed when it
//! is large or old, and begun anew.
#![expect(clippy::disallowed_methods, reason = "the audit log is a declared home of files")]

use std::fs::{self, File, TryLockError};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use std::{io, thread};

use crate::checkpoint::{self, CHECKPOINT_RECORDS, Details, Occasion};
use crate::clock::Clock;
use crate::config::Config;
use crate::error::AuditError;
use crate::file_ops::FileOps;
use crate::head::Head;
use crate::in_place;
use crate::key::Signer;
use crate::line::{self, Body};
use crate::segments::{self, FILE, is_same};

/// Another process holds the lock for one write; seconds mean that it is stuck.
const LOCK_WAIT_MAX: Duration = Duration::from_secs(5);

/// How often to ask for the lock. The system's own wait has no deadline.
const LOCK_RETRY: Duration = Duration::from_millis(1);

/// Segments that others may close while we wait for the lock of one. Nobody is so fast.
const REOPENED_MAX: usize = 64;

/// What a usual line takes; more is only a growth of the buffer.
const LINE_BYTES_USUAL: usize = 1024;

/// Records that one write takes: so few that their lines stay in the processor's cache, and need no pages of their own.
const WRITE_RECORDS_MAX: usize = 256;

/// The open segment.
pub(crate) struct OpenSegment {
    ops: Arc<dyn FileOps>,
    clock: Clock,
    pub(crate) dir: PathBuf,
    path: PathBuf,
    pub(crate) file: File,
    /// Which file that is.
    pub(crate) id: (u64, u64),
    /// Where the segment ended when we last looked. If it still does, `head` is the last record of the audit log.
    end: u64,
    pub(crate) head: Head,
    /// Whether the last line lacks its line break.
    torn: bool,
    /// When the segment's first line was written, in milliseconds since 1970; `None` for an empty one.
    began_at_ms: Option<i64>,
    signer: Option<Signer>,
    /// Whether the file's name would survive a power cut. Left to the first sync, since the first call waits
    /// for the opening.
    has_safe_name: bool,
    /// Whether many records were written since the last checkpoint, and the one that was due did not reach the disk.
    lacks_checkpoint: bool,
    /// The settings that it is closed by.
    pub(crate) config: Config,
}

impl OpenSegment {
    /// Opens the audit log of this folder; creates both if need be.
    pub(crate) fn open(
        dir: &Path,
        config: &Config,
        clock: Clock,
        ops: Arc<dyn FileOps>,
    ) -> Result<Self, AuditError> {
        let is_new = !dir.join(FILE).exists();
        store::create_private(dir)?;
        let path = dir.join(FILE);
        let file = ops.open(&path)?;
        let id = in_place::id(&file.metadata()?);
        let mut segment = Self {
            ops,
            clock,
            dir: dir.to_owned(),
            path,
            file,
            id,
            end: 0,
            head: Head::START,
            torn: false,
            began_at_ms: None,
            signer: None,
            has_safe_name: !is_new,
            lacks_checkpoint: false,
            config: config.clone(),
        };
        segment.locked(|_| Ok(()))?;
        Ok(segment)
    }

    /// Appends these records and takes out of the list what reached the disk: after an error that may be a part of
    /// them. True if a segment was closed before.
    pub(crate) fn append(&mut self, records: &mut Vec<impl Body>) -> Result<bool, AuditError> {
        let has_closed = self.close_if_due()?;
        self.locked(|segment| {
            let mut landed = 0;
            let written = records.chunks(WRITE_RECORDS_MAX).try_for_each(|records| {
                let before = segment.head.seq;
                let written = segment.write_lines(records);
                // Nobody else wrote, since we hold the lock: these are in the audit log. A checkpoint is the last of them.
                let lines = usize::try_from(segment.head.seq.saturating_sub(before)).unwrap_or(usize::MAX);
                landed += lines.min(records.len());
                written
            });
            records.drain(..landed);
            written
        })?;
        Ok(has_closed)
    }

    /// Appends these records with one write, and the checkpoint that is due behind them.
    fn write_lines(&mut self, records: &[impl Body]) -> Result<(), AuditError> {
        let (before, now_ms) = (self.head, (self.clock)());
        let mut bytes = self.begin(records.len() * LINE_BYTES_USUAL);
        let mut head =
            records.iter().fold(before, |head, record| line::write(&mut bytes, head, now_ms, record));
        self.lacks_checkpoint |= before.seq / CHECKPOINT_RECORDS != head.seq / CHECKPOINT_RECORDS;
        if self.lacks_checkpoint {
            let (why, details) = (Occasion::Records, Details::default());
            head = checkpoint::write(&mut bytes, head, now_ms, why, details, self.signer()?);
        }
        let written = self.write(&bytes, head, now_ms);
        self.lacks_checkpoint &= written.is_err();
        written
    }

    /// Appends a checkpoint, for the holder of the lock.
    pub(crate) fn write_checkpoint(&mut self, why: Occasion, details: Details) -> Result<(), AuditError> {
        let (mut bytes, head, now_ms) = (self.begin(LINE_BYTES_USUAL), self.head, (self.clock)());
        let head = checkpoint::write(&mut bytes, head, now_ms, why, details, self.signer()?);
        self.write(&bytes, head, now_ms)
    }

    /// What lines to be written begin with.
    fn begin(&self, capacity: usize) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(capacity);
        if self.torn {
            bytes.push(b'\n');
        }
        bytes
    }

    fn write(&mut self, bytes: &[u8], head: Head, now_ms: i64) -> Result<(), AuditError> {
        let Err(error) = self.ops.write(&self.file, bytes) else {
            (self.end, self.head, self.torn) = (self.end + bytes.len() as u64, head, false);
            self.began_at_ms.get_or_insert(now_ms);
            return Ok(());
        };
        // Best effort: `look` finds what stays, be it whole lines or a torn one.
        let _ = self.ops.truncate(&self.file, self.end);
        self.look()?;
        Err(error.into())
    }

    /// Closes the segment if it is large or old. True if it was.
    pub(crate) fn close_if_due(&mut self) -> Result<bool, AuditError> {
        if !self.is_due() {
            return Ok(false);
        }
        // Asked again under the lock: another process may have closed it.
        self.locked(|segment| if segment.is_due() { segment.close() } else { Ok(false) })
    }

    fn is_due(&self) -> bool {
        let is_old = |began: i64| (self.clock)().saturating_sub(began) >= self.config.segment_age_ms();
        self.end >= self.config.segment_bytes() || self.began_at_ms.is_some_and(is_old)
    }

    /// Closes the segment: signed, on the disk, and under a name that stays. Whoever writes next begins
    /// another one, which goes on with the chain.
    fn close(&mut self) -> Result<bool, AuditError> {
        self.write_checkpoint(Occasion::Segment, Details::default())?;
        self.ops.sync(&self.file)?;
        let last = segments::closed(&self.dir)?.last().map_or(0, |last| last.number);
        self.ops.rename(&self.path, &self.dir.join(segments::closed_name(last + 1)))?;
        self.ops.sync_folder(&self.dir)?;
        Ok(true)
    }

    /// The key, read or made when first needed.
    pub(crate) fn signer(&mut self) -> Result<&Signer, AuditError> {
        match &mut self.signer {
            Some(signer) => Ok(signer),
            none => Ok(none.insert(Signer::of_folder(&self.dir).map_err(AuditError::key)?)),
        }
    }

    /// Hands what was written to the disk itself, so that it survives the machine.
    pub(crate) fn sync(&mut self) -> Result<(), AuditError> {
        if !self.has_safe_name {
            self.ops.sync_folder(&self.dir)?;
            self.has_safe_name = true;
        }
        Ok(self.ops.sync(&self.file)?)
    }

    /// Runs `work` while no other process writes, knowing the true end of the audit log.
    pub(crate) fn locked<T>(
        &mut self,
        work: impl FnOnce(&mut Self) -> Result<T, AuditError>,
    ) -> Result<T, AuditError> {
        for _ in 0..REOPENED_MAX {
            lock(&self.file)?;
            match self.catch_up() {
                Ok(true) => {
                    // The lock belongs to this file, whatever `work` does to the name.
                    let done = work(self);
                    let unlocked = self.file.unlock();
                    return done.and_then(|done| Ok(unlocked.map(|()| done)?));
                }
                Ok(false) => self.reopen()?,
                Err(error) => {
                    // What is wrong with the audit log matters more than that it cannot be unlocked.
                    let _ = self.file.unlock();
                    return Err(error);
                }
            }
        }
        Err(AuditError::Removed)
    }

    fn reopen(&mut self) -> Result<(), AuditError> {
        self.file = self.ops.open(&self.path)?;
        self.id = in_place::id(&self.file.metadata()?);
        // With the lock `catch_up` looks at all of it.
        (self.end, self.has_safe_name) = (0, false);
        Ok(())
    }

    /// Looks for the end of the audit log. False if our file was closed, and the audit log goes on in another one.
    fn catch_up(&mut self) -> Result<bool, AuditError> {
        let open = self.file.metadata()?;
        if open.len() < self.end {
            return Err(AuditError::Removed);
        }
        match fs::metadata(&self.path) {
            Ok(named) if is_same(&open, &named) => {}
            // An audit log that was moved away would take our records with it, unseen.
            _ if self.was_closed(&open)? => return Ok(false),
            _ => return Err(AuditError::Removed),
        }
        if open.len() != self.end || open.len() == 0 {
            self.look()?;
        }
        Ok(true)
    }

    /// Whether our file is a closed segment now, or was one before it was removed as too old.
    fn was_closed(&self, open: &fs::Metadata) -> Result<bool, AuditError> {
        let closed = segments::closed(&self.dir)?;
        if closed.iter().any(|segment| fs::metadata(&segment.path).is_ok_and(|found| is_same(open, &found))) {
            return Ok(true);
        }
        let Some(oldest) = closed.first().filter(|_| open.nlink() == 0) else { return Ok(false) };
        let first = File::open(&oldest.path).and_then(|file| segments::first_of(&file));
        Ok(first.is_ok_and(|first| first.is_some_and(|first| first.head.seq > self.head.seq)))
    }

    /// Finds the last whole line. What follows it was torn by a crash; zeros were left by a power cut, hold
    /// nothing and are taken away.
    fn look(&mut self) -> Result<(), AuditError> {
        let end = segments::end_of(&self.file)?.ok_or(AuditError::Damaged)?;
        if end.has_zeros {
            self.ops.truncate(&self.file, end.len)?;
        }
        self.head = match &end.last {
            Some(last) => last.head,
            None => self.closed_head()?,
        };
        let first = segments::first_of(&self.file)?;
        self.began_at_ms = first.map(|first| first.written_at_ms);
        (self.end, self.torn) = (end.len, end.is_torn);
        Ok(())
    }

    /// The last record of the newest closed segment, with which an empty one goes on.
    fn closed_head(&self) -> Result<Head, AuditError> {
        let closed = segments::closed(&self.dir)?;
        let Some(newest) = closed.last() else { return Ok(Head::START) };
        let file = File::open(&newest.path)?;
        let end = segments::end_of(&file)?;
        end.and_then(|end| end.last).map(|last| last.head).ok_or(AuditError::Damaged)
    }
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
