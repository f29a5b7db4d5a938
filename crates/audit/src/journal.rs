//! The journal: which calls of this process are running, written before each of them runs.
//!
//! One file for each process, `inflight/PID-RANDOM.jsonl`, locked for as long as the process lives. When the
//! lock is free the process is gone, and [`crate::recover`] makes records of what it left open. Only calls
//! that change something are noted: a read that was lost changed nothing.
#![expect(clippy::disallowed_methods, reason = "the audit book is a declared home of files")]

use std::{
    collections::HashMap,
    fs::{self, File, OpenOptions},
    io,
    os::unix::fs::{MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
    process,
};

use serde::{Deserialize, Serialize};

use crate::{error::BookError, file::FILE_MODE, pen::Pen, record::Opening};

/// The folder of journals within the state folder.
pub(crate) const FOLDER: &str = "inflight";

/// Past this size a journal is written anew with only what is still open. Large enough that it is rare.
const JOURNAL_BYTES_MAX: u64 = 1024 * 1024;

/// How often a name is tried. A second try means that another process took ours for a dead one's, in the
/// moment between creating and locking it.
const NAMES_TRIED_MAX: usize = 8;

/// The note that a call is running. It goes back with the call's record; a mark that is dropped instead
/// makes the call a crashed one at the next start.
#[derive(Debug, PartialEq, Eq, Hash)]
#[must_use = "give it back with the call's record"]
pub struct JournalMark(u64);

/// One entry. Each is written after a line break, so that a torn one spoils only itself.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Entry {
    /// A call is about to run.
    Open {
        /// Its number in this journal.
        mark: u64,
        /// The book's length at the time: the call's record, if there is one, lies after it.
        from: u64,
        /// What is known of it.
        opening: Opening,
    },
    /// These calls have their records.
    Closed(Vec<u64>),
}

/// This process's journal. No file exists before the first call that needs one.
pub(crate) struct Journal {
    folder: PathBuf,
    file: Option<Written>,
    /// The entries of the calls that run, as written.
    open: HashMap<u64, Vec<u8>>,
    marks: u64,
}

struct Written {
    path: PathBuf,
    file: File,
    bytes: u64,
}

impl Journal {
    /// The journal of this process in a state folder.
    pub(crate) fn at(dir: &Path) -> Self {
        Self { folder: dir.join(FOLDER), file: None, open: HashMap::new(), marks: 0 }
    }

    /// Notes that a call is about to run. After an error it must not.
    pub(crate) fn open_call(
        &mut self,
        opening: &Opening,
        from: u64,
        pen: &dyn Pen,
    ) -> Result<JournalMark, BookError> {
        let mut opening = opening.clone();
        opening.cut();
        let mark = self.marks;
        let entry = entry(&Entry::Open { mark, from, opening });
        let written = match &mut self.file {
            Some(written) => written,
            none => none.insert(create(&self.folder).map_err(BookError::journal)?),
        };
        written.write(&entry, pen).map_err(BookError::journal)?;
        self.open.insert(mark, entry);
        self.marks += 1;
        Ok(JournalMark(mark))
    }

    /// Notes that these calls have their records. Nothing depends on it but the size of the journal:
    /// recovery looks into the book before it believes that a call has no record.
    pub(crate) fn close_calls(&mut self, marks: &[JournalMark], pen: &dyn Pen) {
        for mark in marks {
            self.open.remove(&mark.0);
        }
        let Some(written) = &mut self.file else { return };
        if marks.is_empty() {
            return;
        }
        if self.open.is_empty() && written.file.set_len(0).is_ok() {
            written.bytes = 0;
            return;
        }
        let closed = entry(&Entry::Closed(marks.iter().map(|mark| mark.0).collect()));
        // Best effort, as said above.
        let _ = written.write(&closed, pen);
        if written.bytes > JOURNAL_BYTES_MAX {
            self.compact(pen);
        }
    }

    /// Begins a new file with what is still open. The old one goes last: a call that stands in both is
    /// found in the book by whoever recovers the second.
    fn compact(&mut self, pen: &dyn Pen) {
        let open: Vec<u8> = self.open.values().flatten().copied().collect();
        if open.len() as u64 > JOURNAL_BYTES_MAX / 2 {
            return; // most of it is needed: a new file would be no smaller
        }
        let Ok(mut fresh) = create(&self.folder) else { return };
        if fresh.write(&open, pen).is_err() {
            remove(&fresh.path);
            return;
        }
        if let Some(old) = self.file.replace(fresh) {
            remove(&old.path);
        }
    }
}

impl Drop for Journal {
    /// A journal that holds nothing leaves nothing behind.
    fn drop(&mut self) {
        if let Some(written) = self.file.take_if(|_| self.open.is_empty()) {
            remove(&written.path);
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
fn create(folder: &Path) -> io::Result<Written> {
    store::create_private(folder)?;
    for _ in 0..NAMES_TRIED_MAX {
        let random = getrandom::u64().map_err(io::Error::other)?;
        let path = folder.join(format!("{}-{random:016x}.jsonl", process::id()));
        let file = OpenOptions::new().append(true).create_new(true).mode(FILE_MODE).open(&path)?;
        file.lock()?;
        if file.metadata()?.nlink() > 0 {
            return Ok(Written { path, file, bytes: 0 });
        }
    }
    Err(io::Error::other("other processes removed each new journal"))
}

/// Removes a journal that is no longer needed.
fn remove(path: &Path) {
    // One that stays is empty or has all its records; the next recovery removes it.
    let _ = fs::remove_file(path);
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
        let records = dead.iter().flat_map(|journal| journal.crashed(copy.path()).unwrap());
        records.map(|record| record.opening.call_id.to_string()).collect()
    }

    #[test]
    fn a_journal_stays_small_and_keeps_what_is_open() {
        let dir = tempfile::tempdir().unwrap();
        let mut journal = Journal::at(dir.path());
        let first = journal.open_call(&sample("first").opening, 0, &Steady).unwrap();
        let mut largest = 0;
        for nth in 0..5_000 {
            let mark = journal.open_call(&sample(&nth.to_string()).opening, 0, &Steady).unwrap();
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
        let _mark = journal.open_call(&opening, 0, &Steady).unwrap();
        assert!(journal.file.as_ref().unwrap().bytes < LINE_BYTES_MAX as u64);
        assert_eq!(left_open(dir.path()), ["long"]);
    }
}
