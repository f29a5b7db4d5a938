//! Finds the journals of dead processes and writes the records they could not.
#![expect(clippy::disallowed_methods, reason = "the audit log is a declared home of files")]

use std::{
    collections::{BTreeMap, HashSet},
    fs::{self, File, OpenOptions},
    io::{self, BufRead, BufReader, ErrorKind, Read},
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    sync::Arc,
};

use serde::Deserialize;

use crate::{
    journal::{Entry, FOLDER},
    line::{self, LINE_BYTES_MAX},
    pen::Pen,
    record::{Opening, Record},
    segments,
};

/// A dead process's journal. It is locked while this lives, so that one process alone recovers it.
pub(crate) struct DeadJournal {
    path: PathBuf,
    file: File,
}

/// The journals whose processes are gone. Those of the living are locked.
pub(crate) fn dead_journals(dir: &Path) -> io::Result<Vec<DeadJournal>> {
    let entries = match fs::read_dir(dir.join(FOLDER)) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut dead = Vec::new();
    for entry in entries {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "jsonl") {
            dead.extend(claim(path)?);
        }
    }
    Ok(dead)
}

fn claim(path: PathBuf) -> io::Result<Option<DeadJournal>> {
    let file = match OpenOptions::new().read(true).open(&path) {
        // Its owner, or another process that recovers, was faster.
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        file => file?,
    };
    let ours = file.try_lock().is_ok() && file.metadata()?.nlink() > 0;
    Ok(ours.then_some(DeadJournal { path, file }))
}

impl DeadJournal {
    /// The records of the calls that were running and have none yet, in the order they began.
    pub(crate) fn left_open(&self, dir: &Path) -> io::Result<Vec<Record>> {
        let mut open = self.open_calls()?;
        if let Some(since) = open.values().map(|(since, _)| *since).min() {
            let recorded = recorded_since(dir, since, &open)?;
            open.retain(|_, (_, opening)| !recorded.contains(&opening.call_id));
        }
        Ok(open.into_values().map(|(_, opening)| Record::unknown_after_crash(opening)).collect())
    }

    /// Removes the journal; its records are in the audit log, and survive what it would.
    pub(crate) fn remove(self, pen: &dyn Pen) -> io::Result<()> {
        pen.remove(&self.path)
    }

    fn open_calls(&self) -> io::Result<BTreeMap<u64, (u64, Opening)>> {
        let mut open = BTreeMap::new();
        for_each_line(BufReader::new(&self.file), |line| match serde_json::from_slice(line) {
            Ok(Entry::Open { mark, since, opening }) => drop(open.insert(mark, (since, *opening))),
            Ok(Entry::Closed(marks)) => marks.iter().for_each(|mark| drop(open.remove(mark))),
            // Torn by the crash: had it been whole, the call would have run.
            Err(_) => {}
        })?;
        Ok(open)
    }
}

/// Which of these calls have a record after this one of the audit log. The process may have died between writing
/// a record and noting so in its journal.
fn recorded_since(
    dir: &Path,
    since: u64,
    open: &BTreeMap<u64, (u64, Opening)>,
) -> io::Result<HashSet<Arc<str>>> {
    #[derive(Deserialize)]
    struct Named<'a> {
        #[serde(borrow)]
        call_id: std::borrow::Cow<'a, str>,
    }
    let ids: HashSet<&str> = open.values().map(|(_, opening)| &*opening.call_id).collect();
    let mut recorded = HashSet::new();
    for file in segments::files_since(dir, since)? {
        for_each_line(BufReader::new(file), |line| {
            let Ok(Named { call_id }) = serde_json::from_slice(line) else { return };
            if ids.contains(&*call_id) {
                recorded.insert(Arc::from(call_id));
            }
        })?;
    }
    Ok(recorded)
}

/// Hands over each line without its line break. A longer one than we write is handed over in pieces, none
/// of which is an entry.
fn for_each_line(mut reader: impl BufRead, mut each: impl FnMut(&[u8])) -> io::Result<()> {
    let mut line = Vec::new();
    while (&mut reader).take(LINE_BYTES_MAX as u64).read_until(b'\n', &mut line)? > 0 {
        // Zeros are what a power cut leaves of the entry after this one.
        each(line::without_zeros(line.trim_ascii_end()).trim_ascii());
        line.clear();
    }
    Ok(())
}
