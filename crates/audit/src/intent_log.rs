//! The intent log: which calls of this process are running, written before each of them runs.
//!
//! One file for each process, `inflight/PID-RANDOM.slots`, locked for as long as the process lives. When the lock is free
//! the process is gone, and [`crate::recover`] makes records of what it left open. Only calls that change something are
//! noted, and never with their arguments: a read that was lost changed nothing.
//!
//! The file is laid out with zeros before it is used, and its slots are overwritten in place. So a sync writes a page and
//! no metadata of the file system: a growing file took 8 ms for the slowest tenth of syncs, this one 0.2 ms.
#![expect(clippy::disallowed_methods, reason = "the audit log is a declared home of files")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, TryLockError};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{io, process};

use crate::file_ops::FileOps;
use crate::in_place::{self, InPlace};
use crate::intent_slot::{self, FREE, Intent, SLOT_BYTES};

/// The folder of intent logs within the state folder.
pub(crate) const FOLDER: &str = "inflight";

/// What the names of these files end with.
pub(crate) const EXTENSION: &str = "slots";

/// Slots of a new file: 64 KiB. A file in which all are taken doubles.
const SLOTS_FIRST: u32 = 16;

/// Calls that are noted at the same time: 64 MiB, and more than a machine runs at once.
pub(crate) const SLOTS_MAX: u32 = 16_384;

/// How often a name is tried. A second try means that another process took ours for a dead one's, in the
/// moment between creating and locking it.
const NAMES_TRIED_MAX: usize = 8;

/// The note that a call is running. It goes back with the call's record; one that is dropped instead makes the call one
/// that nobody knows the end of at the next start.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "give it back with the call's record"]
pub struct IntentId {
    slot: u32,
    /// Whether the note survives a power cut; it goes only when the call's record does, too.
    pub(crate) is_synced: bool,
}

/// This process's intent log. No file exists before the first call that needs one.
pub(crate) struct IntentLog {
    dir: PathBuf,
    file: Option<IntentFile>,
    slots: u32,
    free: BTreeSet<u32>,
    /// The slots of the calls that run, as written.
    running: BTreeMap<u32, Box<[u8]>>,
    /// Intents noted so far.
    noted: u64,
    /// After a write or a sync that did not work, and after a removal, nothing in the file can be relied on: the next
    /// one is new.
    is_spoilt: bool,
}

struct IntentFile {
    file: Arc<File>,
    in_place: InPlace,
}

impl IntentLog {
    /// The intent log of this process in a state folder.
    pub(crate) fn at(dir: &Path) -> Self {
        Self {
            dir: dir.to_owned(),
            file: None,
            slots: SLOTS_FIRST,
            free: (0..SLOTS_FIRST).collect(),
            running: BTreeMap::new(),
            noted: 0,
            is_spoilt: false,
        }
    }

    /// Notes, with as few writes as there are runs of free slots, that calls are about to run. They may once the file is
    /// synced and [`check_place`](Self::check_place) finds it in its place. Blocks on the disk.
    pub(crate) fn note(
        &mut self,
        intents: Vec<Intent>,
        ops: &dyn FileOps,
    ) -> io::Result<(Vec<IntentId>, Arc<File>)> {
        if self.is_spoilt || self.file.is_none() {
            self.renew(ops)?;
        }
        self.grow(intents.len(), ops)?;
        let file = &self.file.as_ref().expect("a file was made").file;
        let file = Arc::clone(file);
        let mut slots = Vec::with_capacity(intents.len());
        for intent in intents {
            let slot = self.free.pop_first().expect("the file has grown");
            self.running.insert(slot, intent_slot::encode(intent, self.noted));
            self.noted += 1;
            slots.push(slot);
        }
        let ids = slots.iter().map(|slot| IntentId { slot: *slot, is_synced: true }).collect();
        match self.write(&file, &slots, ops) {
            Ok(()) => Ok((ids, file)),
            Err(error) => {
                self.discard(ids);
                Err(error)
            }
        }
    }

    /// Notes a call without waiting for a disk; nothing if that cannot be done, and the call must be noted with the
    /// others then.
    pub(crate) fn note_unsynced(&mut self, intent: &Intent, ops: &dyn FileOps) -> Option<IntentId> {
        let file = self.file.as_ref().filter(|file| !self.is_spoilt && file.in_place.holds())?;
        let slot = self.free.pop_first()?;
        let bytes = intent_slot::encode(intent.clone(), self.noted);
        self.noted += 1;
        let written = ops.write_at(&file.file, &bytes, offset(slot));
        self.running.insert(slot, bytes);
        let id = IntentId { slot, is_synced: false };
        if written.is_err() {
            self.discard(vec![id]);
            return None;
        }
        Some(id)
    }

    /// Takes back intents that did not reach the disk: the file is not used any more.
    pub(crate) fn discard(&mut self, ids: Vec<IntentId>) {
        self.is_spoilt = true;
        for IntentId { slot, .. } in ids {
            self.running.remove(&slot);
            self.free.insert(slot);
        }
    }

    /// Whether the file is still where the next start looks for it. Asked last: a file that was removed before takes its
    /// intents with it.
    pub(crate) fn check_place(&self) -> io::Result<()> {
        match self.file.as_ref().is_some_and(|file| file.in_place.holds()) {
            true => Ok(()),
            false => Err(io::Error::new(io::ErrorKind::NotFound, "it was removed")),
        }
    }

    /// Frees the slots of calls whose records survive what their notes survive. Not synced: recovery looks into the audit
    /// log before it believes that a call has no record.
    pub(crate) fn free(&mut self, ids: Vec<IntentId>, ops: &dyn FileOps) {
        for IntentId { slot, .. } in ids {
            self.running.remove(&slot);
            self.free.insert(slot);
            if let Some(file) = &self.file {
                // Best effort, as said above.
                let _ = ops.write_at(&file.file, FREE, offset(slot));
            }
        }
    }

    /// Begins a new file with the calls that run. The old one goes last: a call that stands in both is found in the audit
    /// log by whoever recovers the second.
    pub(crate) fn renew(&mut self, ops: &dyn FileOps) -> io::Result<()> {
        let fresh = create(&self.dir, ops)?;
        let running: Vec<u32> = self.running.keys().copied().collect();
        let laid_out = lay_out(&fresh.file, 0..self.slots, ops)
            .and_then(|()| self.write(&fresh.file, &running, ops))
            .and_then(|()| ops.sync(&fresh.file));
        if let Err(error) = laid_out {
            remove(&fresh.in_place.path, ops);
            return Err(error);
        }
        if let Some(old) = self.file.replace(fresh) {
            remove(&old.in_place.path, ops);
        }
        self.is_spoilt = false;
        Ok(())
    }

    /// Makes room for as many more calls.
    fn grow(&mut self, calls: usize, ops: &dyn FileOps) -> io::Result<()> {
        let mut slots = self.slots;
        while self.free.len() + ((slots - self.slots) as usize) < calls {
            if slots >= SLOTS_MAX {
                return Err(io::Error::other(format!("{SLOTS_MAX} calls that change something are running")));
            }
            slots *= 2;
        }
        if let (Some(file), true) = (&self.file, slots > self.slots) {
            // The sync of the notes for which it grows takes this along.
            lay_out(&file.file, self.slots..slots, ops)?;
            self.free.extend(self.slots..slots);
            self.slots = slots;
        }
        Ok(())
    }

    /// Writes these slots, which are in order.
    fn write(&self, file: &File, slots: &[u32], ops: &dyn FileOps) -> io::Result<()> {
        for neighbours in slots.chunk_by(|one, next| one + 1 == *next) {
            let bytes: Vec<&[u8]> = neighbours.iter().map(|slot| &*self.running[slot]).collect();
            ops.write_at(file, &bytes.concat(), offset(neighbours[0]))?;
        }
        Ok(())
    }
}

impl Drop for IntentLog {
    /// A file in which no call is open leaves nothing behind.
    fn drop(&mut self) {
        if let Some(file) = self.file.take_if(|_| self.running.is_empty()) {
            // One that stays has all its records; the next recovery removes it.
            let _ = fs::remove_file(&file.in_place.path);
        }
    }
}

fn offset(slot: u32) -> u64 {
    u64::from(slot) * SLOT_BYTES as u64
}

/// Fills slots with zeros, not with a hole: only what is written once is overwritten without metadata.
fn lay_out(file: &File, slots: std::ops::Range<u32>, ops: &dyn FileOps) -> io::Result<()> {
    let zeros = vec![0; SLOTS_FIRST as usize * SLOT_BYTES];
    slots.step_by(SLOTS_FIRST as usize).try_for_each(|slot| ops.write_at(file, &zeros, offset(slot)))
}

/// A new file, locked, and certainly still in its place: a process that looks for dead ones may find it before it is
/// locked.
fn create(dir: &Path, ops: &dyn FileOps) -> io::Result<IntentFile> {
    let folder = dir.join(FOLDER);
    store::create_private(&folder)?;
    for _ in 0..NAMES_TRIED_MAX {
        let random = getrandom::u64().map_err(io::Error::other)?;
        let path = folder.join(format!("{}-{random:016x}.{EXTENSION}", process::id()));
        let file = ops.create(&path)?;
        match file.try_lock() {
            // The other one removes it.
            Err(TryLockError::WouldBlock) => continue,
            locked => locked.map_err(io::Error::from)?,
        }
        let metadata = file.metadata()?;
        if metadata.nlink() > 0 {
            ops.sync_folder(&folder)?;
            ops.sync_folder(dir)?;
            let in_place = InPlace::of(path);
            in_place.set(in_place::id(&metadata));
            return Ok(IntentFile { file: Arc::new(file), in_place });
        }
    }
    Err(io::Error::other("other processes removed each new file"))
}

fn remove(path: &Path, ops: &dyn FileOps) {
    // One that stays is empty or has all its records; the next recovery removes it.
    let _ = ops.remove(path);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{file_ops::SystemFiles, record::tests::sample, recover::dead_logs};

    /// The ids that a process killed at this moment would leave open.
    fn left_open(dir: &Path) -> Vec<String> {
        let copy = tempfile::tempdir().unwrap();
        fs::create_dir(copy.path().join(FOLDER)).unwrap();
        for entry in fs::read_dir(dir.join(FOLDER)).unwrap() {
            let path = entry.unwrap().path();
            fs::copy(&path, copy.path().join(FOLDER).join(path.file_name().unwrap())).unwrap();
        }
        let dead = dead_logs(copy.path()).unwrap();
        let records = dead.iter().flat_map(|log| log.left_open(copy.path()).unwrap());
        records.map(|record| record.opening.call_id.to_string()).collect()
    }

    fn note(log: &mut IntentLog, ids: &[&str]) -> Vec<IntentId> {
        let intents = ids.iter().map(|id| Intent { opening: sample(id).opening, since: 0 });
        log.note(intents.collect(), &SystemFiles).unwrap().0
    }

    fn bytes(dir: &Path) -> u64 {
        let files = fs::read_dir(dir.join(FOLDER)).unwrap();
        files.map(|file| file.unwrap().metadata().unwrap().len()).sum()
    }

    #[test]
    fn the_file_keeps_its_size_and_what_is_open() {
        let dir = tempfile::tempdir().unwrap();
        let mut log = IntentLog::at(dir.path());
        let first = note(&mut log, &["first"]);
        let laid_out = bytes(dir.path());
        for nth in 0..1_000 {
            let id = note(&mut log, &[&nth.to_string()]);
            log.free(id, &SystemFiles);
        }
        assert_eq!((laid_out, bytes(dir.path())), (65_536, 65_536));
        assert_eq!(left_open(dir.path()), ["first"]);
        log.free(first, &SystemFiles);
        assert_eq!(left_open(dir.path()), Vec::<String>::new());
        drop(log);
        assert_eq!(fs::read_dir(dir.path().join(FOLDER)).unwrap().count(), 0);
    }

    #[test]
    fn more_calls_than_slots_make_it_double_and_a_new_file_has_all_that_run() {
        let dir = tempfile::tempdir().unwrap();
        let mut log = IntentLog::at(dir.path());
        let ids: Vec<String> = (0..40).map(|nth| nth.to_string()).collect();
        let mut noted = Vec::new();
        for batch in ids.chunks(7) {
            noted.extend(note(&mut log, &batch.iter().map(String::as_str).collect::<Vec<_>>()));
        }
        assert_eq!(bytes(dir.path()), 64 * SLOT_BYTES as u64);
        assert_eq!(left_open(dir.path()), ids);
        let freed: Vec<IntentId> = noted.drain(10..30).collect();
        log.free(freed, &SystemFiles);
        log.renew(&SystemFiles).unwrap();
        note(&mut log, &["last"]).clear();
        let left = [&ids[..10], &ids[30..], &["last".to_owned()]].concat();
        assert_eq!(left_open(dir.path()), left, "in the order they began");
        assert_eq!(bytes(dir.path()), 64 * SLOT_BYTES as u64);
    }
}
