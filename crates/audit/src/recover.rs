//! Finds the intent logs of dead processes and makes the records that these could not write.
#![expect(clippy::disallowed_methods, reason = "the audit log is a declared home of files")]

use std::collections::{BTreeMap, HashSet};
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufReader, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Deserialize;
use store::found;

use crate::file_ops::FileOps;
use crate::intent_log::{EXTENSION, FOLDER};
use crate::intent_slot::{self, Intent, SLOT_BYTES};
use crate::record::Record;
use crate::{chain, segments};

/// A dead process's intent log. It is locked while this lives, so that one process alone recovers it.
pub(crate) struct DeadLog {
    path: PathBuf,
    file: File,
}

/// The intent logs whose processes are gone. Those of the living are locked.
pub(crate) fn dead_logs(dir: &Path) -> io::Result<Vec<DeadLog>> {
    let Some(entries) = found(fs::read_dir(dir.join(FOLDER)))? else { return Ok(Vec::new()) };
    let mut dead = Vec::new();
    for entry in entries {
        let path = entry?.path();
        if path.extension().is_some_and(|found| found == EXTENSION) {
            dead.extend(lock(path)?);
        }
    }
    Ok(dead)
}

fn lock(path: PathBuf) -> io::Result<Option<DeadLog>> {
    // If it is gone, its owner, or another process that recovers, was faster.
    let Some(file) = found(OpenOptions::new().read(true).open(&path))? else { return Ok(None) };
    let ours = file.try_lock().is_ok() && file.metadata()?.nlink() > 0;
    Ok(ours.then_some(DeadLog { path, file }))
}

impl DeadLog {
    /// The records of the calls that were running and have none yet, in the order they began.
    pub(crate) fn left_open(&self, dir: &Path) -> io::Result<Vec<Record>> {
        let mut open = self.open_calls()?;
        if let Some(since) = open.values().map(|intent| intent.since).min() {
            let recorded = recorded_since(dir, since, &open)?;
            open.retain(|_, intent| !recorded.contains(&intent.opening.call_id));
        }
        Ok(open.into_values().map(|intent| Record::unknown_after_crash(intent.opening)).collect())
    }

    /// Removes the file; its records are in the audit log, and survive what it would.
    pub(crate) fn remove(self, ops: &dyn FileOps) -> io::Result<()> {
        ops.remove(&self.path)
    }

    /// The calls that have no end here, in the order they began.
    fn open_calls(&self) -> io::Result<BTreeMap<u64, Intent>> {
        let mut open = BTreeMap::new();
        let (mut reader, mut slot) = (BufReader::new(&self.file), Vec::with_capacity(SLOT_BYTES));
        // A file that was cut short ends within a slot, which is torn then.
        while (&mut reader).take(SLOT_BYTES as u64).read_to_end(&mut slot)? > 0 {
            open.extend(intent_slot::decode(&slot));
            slot.clear();
        }
        Ok(open)
    }
}

/// Which of these calls have a record after this one of the audit log. The process may have died between writing
/// a record and freeing the slot.
fn recorded_since(dir: &Path, since: u64, open: &BTreeMap<u64, Intent>) -> io::Result<HashSet<Arc<str>>> {
    #[derive(Deserialize)]
    struct Named<'a> {
        #[serde(borrow)]
        call_id: std::borrow::Cow<'a, str>,
    }
    let ids: HashSet<&str> = open.values().map(|intent| &*intent.opening.call_id).collect();
    let mut recorded = HashSet::new();
    for file in segments::files_since(dir, since)? {
        for line in chain::lines(BufReader::new(file)) {
            if let Ok(Named { call_id }) = serde_json::from_slice(&line?)
                && ids.contains(&*call_id)
            {
                recorded.insert(Arc::from(call_id));
            }
        }
    }
    Ok(recorded)
}
