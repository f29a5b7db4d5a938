//! The journal: which calls of this process are running, written before each of them runs.
//!
//! One file for each process, `inflight/PID-RANDOM.jsonl`, locked for as long as the process lives. When the
//! lock is free the process is gone, and [`crate::recover`] makes records of what it left open. Only calls
//! that change something are noted, and never with their arguments: a read that was lost changed nothing.
//! Everything here blocks on the disk; who must not wait for one asks [`crate::desk`].
#![expect(clippy::disallowed_methods, reason = "the audit log is a declared home of files")]

use std::{
    collections::HashMap,
    fs::{self, File, TryLockError},
    io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    process,
};

use serde::{Deserialize, Serialize};

use crate::{error::AuditError, in_place, in_place::InPlace, pen::Pen, record::Opening};

/// The folder of journals within the state folder.
pub(crate) const FOLDER: &str = "inflight";

/// Past this size a journal is written anew with only what is still open. Large enough that it is rare.
const JOURNAL_BYTES_MAX: u64 = 1024 * 1024;

/// How often a name is tried. A second try means that another process took ours for a dead one's, in the
/// moment between creating and locking it.
const NAMES_TRIED_MAX: usize = 8;

/// The note that a call is running. It goes back with the call's record; a mark that is dropped instead
/// makes the call one that nobody knows the end of at the next start.
#[derive(Debug, PartialEq, Eq, Hash)]
#[must_use = "give it back with the call's record"]
pub struct JournalMark(pub(crate) u64);

/// One entry. Each is written after a line break, so that a torn one spoils only itself.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Entry {
    /// A call is about to run.
    Open {
        /// Its number in this journal.
        mark: u64,
        /// the audit log's last record at the time: the call's own, if there is one, comes after it. Older journals
        /// do not have it.
        #[serde(default)]
        since: u64,
        /// What is known of it.
        opening: Box<Opening>,
    },
    /// These calls have their records.
    Closed(Vec<u64>),
}

/// A call that is about to run.
pub(crate) struct Intent {
    /// What is known of it.
    pub(crate) opening: Opening,
    /// the audit log's last record, as far as we know.
    pub(crate) since: u64,
}

/// This process's journal. No file exists before the first call that needs one.
pub(crate) struct Journal {
    dir: PathBuf,
    file: Option<Written>,
    /// The entries of the calls that run, as written.
    open: HashMap<u64, Vec<u8>>,
    marks: u64,
    /// After a write or a sync that did not work, and after a removal, nothing in the file can be relied on: the next
    /// one is new.
    is_spoilt: bool,
}

struct Written {
    path: PathBuf,
    file: File,
    in_place: InPlace,
    bytes: u64,
}

/// Whether to wait until what was written survives a power cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Until {
    /// It would survive the end of the process.
    Written,
    /// It would survive a power cut.
    Synced,
}

impl Journal {
    /// The journal of this process in a state folder.
    pub(crate) fn at(dir: &Path) -> Self {
        Self { dir: dir.to_owned(), file: None, open: HashMap::new(), marks: 0, is_spoilt: false }
    }

    /// Notes, with one write, that calls are about to run. After an error none of them must.
    pub(crate) fn open_calls(
        &mut self,
        intents: impl Iterator<Item = Intent>,
        until: Until,
        pen: &dyn Pen,
    ) -> Result<Vec<JournalMark>, AuditError> {
        let first = self.marks;
        let entries: Vec<Vec<u8>> = intents
            .zip(first..)
            .map(|(Intent { mut opening, since }, mark)| {
                opening.cut();
                entry(&Entry::Open { mark, since, opening: Box::new(opening) })
            })
            .collect();
        self.marks += entries.len() as u64;
        if let Err(error) = self.write(&entries.concat(), until, pen) {
            self.is_spoilt = true;
            return Err(AuditError::journal(error));
        }
        let marks = first..self.marks;
        self.open.extend(marks.clone().zip(entries));
        Ok(marks.map(JournalMark).collect())
    }

    fn write(&mut self, entries: &[u8], until: Until, pen: &dyn Pen) -> io::Result<()> {
        if self.is_spoilt {
            self.renew(pen)?;
        }
        let written = match &mut self.file {
            Some(written) => written,
            none => none.insert(create(&self.dir, pen)?),
        };
        written.write(entries, pen)?;
        match until {
            Until::Written => {}
            Until::Synced => pen.sync(&written.file)?,
        }
        // Last: what was removed before this look took the note with it.
        match written.in_place.holds() {
            true => Ok(()),
            false => Err(io::Error::new(io::ErrorKind::NotFound, "it was removed")),
        }
    }

    /// Notes that these calls have their records, which survive what their notes survive. Nothing depends on
    /// it but the size of the journal: recovery looks into the audit log before it believes that a call has no
    /// record.
    pub(crate) fn close_calls(&mut self, marks: &[JournalMark], pen: &dyn Pen) {
        for mark in marks {
            self.open.remove(&mark.0);
        }
        let Some(written) = &mut self.file else { return };
        if marks.is_empty() {
            return;
        }
        if self.open.is_empty() && pen.take_back(&written.file, 0).is_ok() {
            (written.bytes, self.is_spoilt) = (0, false);
            return;
        }
        let closed = entry(&Entry::Closed(marks.iter().map(|mark| mark.0).collect()));
        // Best effort, as said above.
        let _ = written.write(&closed, pen);
        let open_bytes: usize = self.open.values().map(Vec::len).sum();
        // With most of it needed a new file would be no smaller.
        if written.bytes > JOURNAL_BYTES_MAX && open_bytes as u64 <= JOURNAL_BYTES_MAX / 2 {
            // The old one is as good, only larger.
            let _ = self.renew(pen);
        }
    }

    /// Tries, after a note that could not be written, whether notes can be written again.
    pub(crate) fn mend(&mut self, pen: &dyn Pen) -> io::Result<()> {
        if self.is_spoilt { self.renew(pen) } else { Ok(()) }
    }

    /// Begins a new file with what is still open. The old one goes last: a call that stands in both is
    /// found in the audit log by whoever recovers the second.
    fn renew(&mut self, pen: &dyn Pen) -> io::Result<()> {
        let mut open: Vec<u8> = self.open.values().flatten().copied().collect();
        if open.is_empty() {
            // A full disk may well take a file without a byte.
            open = entry(&Entry::Closed(Vec::new()));
        }
        let mut fresh = create(&self.dir, pen)?;
        if let Err(error) = fresh.write(&open, pen).and_then(|()| pen.sync(&fresh.file)) {
            remove(&fresh.path, pen);
            return Err(error);
        }
        if let Some(old) = self.file.replace(fresh) {
            remove(&old.path, pen);
        }
        self.is_spoilt = false;
        Ok(())
    }
}

impl Drop for Journal {
    /// A journal that holds nothing leaves nothing behind.
    fn drop(&mut self) {
        if let Some(written) = self.file.take_if(|_| self.open.is_empty()) {
            // One that stays has all its records; the next recovery removes it.
            let _ = fs::remove_file(&written.path);
        }
    }
}

impl Written {
    fn write(&mut self, bytes: &[u8], pen: &dyn Pen) -> io::Result<()> {
        self.bytes += bytes.len() as u64;
        pen.write(&self.file, bytes)
    }
}

fn entry(entry: &Entry) -> Vec<u8> {
    let mut line = vec![b'\n'];
    serde_json::to_writer(&mut line, entry)
        .expect("texts and numbers become JSON, and memory takes every byte");
    line
}

/// A new file, locked, and certainly still in its place: a process that looks for dead journals may find
/// it before it is locked.
fn create(dir: &Path, pen: &dyn Pen) -> io::Result<Written> {
    let folder = dir.join(FOLDER);
    store::create_private(&folder)?;
    for _ in 0..NAMES_TRIED_MAX {
        let random = getrandom::u64().map_err(io::Error::other)?;
        let path = folder.join(format!("{}-{random:016x}.jsonl", process::id()));
        let file = pen.create(&path)?;
        match file.try_lock() {
            // The other one removes it.
            Err(TryLockError::WouldBlock) => continue,
            locked => locked.map_err(io::Error::from)?,
        }
        if file.metadata()?.nlink() > 0 {
            pen.sync_folder(&folder)?;
            pen.sync_folder(dir)?;
            let in_place = InPlace::of(path.clone());
            in_place.set(in_place::id(&file.metadata()?));
            return Ok(Written { path, file, in_place, bytes: 0 });
        }
    }
    Err(io::Error::other("other processes removed each new journal"))
}

/// Removes a journal that is no longer needed.
fn remove(path: &Path, pen: &dyn Pen) {
    // One that stays is empty or has all its records; the next recovery removes it.
    let _ = pen.remove(path);
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{line::LINE_BYTES_MAX, pen::Steady, record::tests::sample, recover::dead_journals};

    /// The ids that a process killed at this moment would leave open.
    fn left_open(dir: &Path) -> Vec<String> {
        let copy = tempfile::tempdir().unwrap();
        fs::create_dir(copy.path().join(FOLDER)).unwrap();
        for entry in fs::read_dir(dir.join(FOLDER)).unwrap() {
            let path = entry.unwrap().path();
            fs::copy(&path, copy.path().join(FOLDER).join(path.file_name().unwrap())).unwrap();
        }
        let dead = dead_journals(copy.path()).unwrap();
        let records = dead.iter().flat_map(|journal| journal.left_open(copy.path()).unwrap());
        records.map(|record| record.opening.call_id.to_string()).collect()
    }

    fn open_one(journal: &mut Journal, opening: Opening) -> JournalMark {
        let intents = [Intent { opening, since: 0 }].into_iter();
        journal.open_calls(intents, Until::Synced, &Steady).unwrap().remove(0)
    }

    #[test]
    fn a_journal_stays_small_and_keeps_what_is_open() {
        let dir = tempfile::tempdir().unwrap();
        let mut journal = Journal::at(dir.path());
        let first = open_one(&mut journal, sample("first").opening);
        let mut largest = 0;
        for nth in 0..5_000 {
            let mark = open_one(&mut journal, sample(&nth.to_string()).opening);
            journal.close_calls(&[mark], &Steady);
            largest = largest.max(journal.file.as_ref().unwrap().bytes);
        }
        assert!((JOURNAL_BYTES_MAX - 1_000..=JOURNAL_BYTES_MAX).contains(&largest), "{largest}");
        assert_eq!(fs::read_dir(dir.path().join(FOLDER)).unwrap().count(), 1);
        assert_eq!(left_open(dir.path()), ["first"]);
        journal.close_calls(&[first], &Steady);
        assert_eq!(left_open(dir.path()), Vec::<String>::new());
        drop(journal);
        assert_eq!(fs::read_dir(dir.path().join(FOLDER)).unwrap().count(), 0);
    }

    #[test]
    fn a_call_of_any_name_is_found_again() {
        let dir = tempfile::tempdir().unwrap();
        let mut journal = Journal::at(dir.path());
        let mut opening = sample("long").opening;
        opening.tool = Arc::from("\0".repeat(1_000_000));
        let _mark = open_one(&mut journal, opening);
        assert!(journal.file.as_ref().unwrap().bytes < LINE_BYTES_MAX as u64);
        assert_eq!(left_open(dir.path()), ["long"]);
    }
}
