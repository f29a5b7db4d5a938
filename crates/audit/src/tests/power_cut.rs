//! What a power cut leaves behind, at every point of a day in the life of the audit log: no call that was let run
//! is without a trace, and the chain holds.
#![expect(
    clippy::disallowed_methods,
    reason = "these tests build and read the folders that a power cut leaves"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use std::{io, thread};

use crate::file_ops::{FileOps, SystemFiles};
use crate::intent_log::{FOLDER, IntentLog};
use crate::intent_slot::{FREE, Intent};
use crate::record::tests::sample;
use crate::tests::faults::before_run;
use crate::{AuditLog, Config, Outcome, Reader, Trust, verify};

/// What happened to the disk, in order. Files are known by their inode.
#[derive(Debug, Clone)]
enum Event {
    Created(PathBuf, u64),
    Opened(PathBuf, u64),
    Written(u64, Vec<u8>),
    WrittenAt(u64, Vec<u8>, usize),
    Cut(u64, u64),
    Synced(u64),
    FolderSynced(PathBuf),
    Renamed(PathBuf, PathBuf),
    Removed(PathBuf),
    /// A call was told that it may run.
    LetRun(String),
}

/// Files that note all that is done to them.
#[derive(Default)]
struct Noting(Mutex<Vec<Event>>);

impl Noting {
    fn note(&self, event: Event) {
        self.0.lock().unwrap().push(event);
    }
}

fn ino(file: &File) -> u64 {
    file.metadata().unwrap().ino()
}

impl FileOps for Arc<Noting> {
    fn open(&self, path: &Path) -> io::Result<File> {
        let is_new = !path.exists();
        let file = SystemFiles.open(path)?;
        let event = if is_new { Event::Created } else { Event::Opened };
        self.note(event(path.to_owned(), ino(&file)));
        Ok(file)
    }

    fn create(&self, path: &Path) -> io::Result<File> {
        let file = SystemFiles.create(path)?;
        self.note(Event::Created(path.to_owned(), ino(&file)));
        Ok(file)
    }

    fn write(&self, file: &File, bytes: &[u8]) -> io::Result<()> {
        SystemFiles.write(file, bytes)?;
        self.note(Event::Written(ino(file), bytes.to_vec()));
        Ok(())
    }

    fn write_at(&self, file: &File, bytes: &[u8], at: u64) -> io::Result<()> {
        SystemFiles.write_at(file, bytes, at)?;
        self.note(Event::WrittenAt(ino(file), bytes.to_vec(), at as usize));
        Ok(())
    }

    fn truncate(&self, file: &File, len: u64) -> io::Result<()> {
        SystemFiles.truncate(file, len)?;
        self.note(Event::Cut(ino(file), len));
        Ok(())
    }

    fn sync(&self, file: &File) -> io::Result<()> {
        SystemFiles.sync(file)?;
        self.note(Event::Synced(ino(file)));
        Ok(())
    }

    fn sync_folder(&self, dir: &Path) -> io::Result<()> {
        self.note(Event::FolderSynced(dir.to_owned()));
        Ok(())
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        SystemFiles.rename(from, to)?;
        self.note(Event::Renamed(from.to_owned(), to.to_owned()));
        Ok(())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        SystemFiles.remove(path)?;
        self.note(Event::Removed(path.to_owned()));
        Ok(())
    }
}

/// What becomes of what was never synced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unsynced {
    /// It is gone, names too.
    Lost,
    /// Half of each file's is there.
    Half,
    /// The length is there, the bytes are zeros.
    Zeros,
    /// All of it is there.
    Kept,
    /// Every other sector is there.
    Sectors,
    /// That of intent logs is there, that of the audit log is not.
    KeptOfIntents,
    /// The same, and of names those alone are there that took another file's place.
    NamesOfOthers,
}

const WAYS: [Unsynced; 7] = [
    Unsynced::Lost,
    Unsynced::Half,
    Unsynced::Zeros,
    Unsynced::Kept,
    Unsynced::Sectors,
    Unsynced::KeptOfIntents,
    Unsynced::NamesOfOthers,
];

/// What a disk writes in one go.
const SECTOR_BYTES: usize = 512;

/// A disk: what is in memory, and what survives.
#[derive(Default, Clone)]
struct Disk {
    names: BTreeMap<PathBuf, u64>,
    safe_names: BTreeMap<PathBuf, u64>,
    /// The folders below the audit log's whose own names are safe.
    safe_folders: BTreeSet<PathBuf>,
    files: BTreeMap<u64, Vec<u8>>,
    safe_files: BTreeMap<u64, Vec<u8>>,
}

impl Disk {
    fn happen(&mut self, event: &Event) {
        match event {
            Event::Created(path, file) => {
                // The number of a file that was removed is used again.
                self.files.remove(file);
                self.safe_files.remove(file);
                self.names.insert(path.clone(), *file);
            }
            Event::Opened(path, file) => drop(self.names.insert(path.clone(), *file)),
            Event::Written(file, bytes) => self.files.entry(*file).or_default().extend(bytes),
            Event::WrittenAt(file, bytes, at) => {
                let all = self.files.entry(*file).or_default();
                all.resize(all.len().max(at + bytes.len()), 0);
                all[*at..][..bytes.len()].copy_from_slice(bytes);
            }
            Event::LetRun(_) => {}
            Event::Cut(file, len) => self.files.entry(*file).or_default().truncate(*len as usize),
            Event::Synced(file) => {
                drop(self.safe_files.insert(*file, self.files.get(file).cloned().unwrap_or_default()));
            }
            Event::FolderSynced(dir) => {
                let is_in = |path: &PathBuf| path.parent() == Some(dir);
                self.safe_names.retain(|path, _| !is_in(path));
                let inside = self.names.iter().filter(|(path, _)| is_in(path));
                self.safe_names.extend(inside.map(|(path, file)| (path.clone(), *file)));
                let folders = self.names.keys().filter_map(|path| path.parent());
                let inside = folders.filter(|folder| folder.parent() == Some(dir));
                self.safe_folders.extend(inside.map(Path::to_owned));
            }
            Event::Renamed(from, to) => {
                if let Some(file) = self.names.remove(from) {
                    self.names.insert(to.clone(), file);
                }
            }
            Event::Removed(path) => drop(self.names.remove(path)),
        }
    }

    /// The names that a power cut at this moment leaves.
    fn left_names(&self, unsynced: Unsynced) -> BTreeMap<PathBuf, u64> {
        match unsynced {
            Unsynced::Lost => self.safe_names.clone(),
            Unsynced::NamesOfOthers => {
                let left =
                    |(path, safe): (&PathBuf, &u64)| (path.clone(), *self.names.get(path).unwrap_or(safe));
                self.safe_names.iter().map(left).collect()
            }
            _ => self.names.clone(),
        }
    }

    /// Builds what a power cut at this moment leaves.
    fn leave(&self, from: &Path, to: &Path, unsynced: Unsynced) {
        let loses_names = matches!(unsynced, Unsynced::Lost | Unsynced::NamesOfOthers);
        for (path, file) in &self.left_names(unsynced) {
            let is_unsafe = |folder: &Path| folder != from && !self.safe_folders.contains(folder);
            if loses_names && path.parent().is_some_and(is_unsafe) {
                continue;
            }
            let empty = Vec::new();
            let safe = self.safe_files.get(file).unwrap_or(&empty);
            let all = self.files.get(file).unwrap_or(&empty);
            let is_intents = path.starts_with(from.join(FOLDER));
            let left = match unsynced {
                Unsynced::Lost => safe.clone(),
                Unsynced::Half | Unsynced::Zeros | Unsynced::Sectors if is_intents => {
                    overwritten(safe, all, unsynced)
                }
                Unsynced::Kept => all.clone(),
                Unsynced::KeptOfIntents | Unsynced::NamesOfOthers => {
                    if is_intents { all } else { safe }.clone()
                }
                _ => {
                    // A file that was cut and not synced may have its old bytes still.
                    let more = all.strip_prefix(&safe[..]).unwrap_or_default();
                    appended(safe, more, unsynced)
                }
            };
            let path = to.join(path.strip_prefix(from).unwrap());
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, left).unwrap();
        }
        // The key is made and synced apart from the pen.
        if from.join(crate::KEY_FILE).exists() {
            fs::copy(from.join(crate::KEY_FILE), to.join(crate::KEY_FILE)).unwrap();
        }
    }
}

/// What is left of a file to which `more` was added.
fn appended(safe: &[u8], more: &[u8], unsynced: Unsynced) -> Vec<u8> {
    match unsynced {
        Unsynced::Zeros => [safe, &vec![0; more.len()]].concat(),
        _ => [safe, &more[..more.len() / 2]].concat(),
    }
}

/// What is left of a file that was written in place: of each sector that changed all of it, or what was there before, or
/// zeros where nothing was.
fn overwritten(safe: &[u8], all: &[u8], unsynced: Unsynced) -> Vec<u8> {
    let mut left = all.to_vec();
    let mut changed = 0;
    for (nth, sector) in left.chunks_mut(SECTOR_BYTES).enumerate() {
        let before = safe.get(nth * SECTOR_BYTES..).unwrap_or_default();
        let mut before = before[..before.len().min(sector.len())].to_vec();
        before.resize(sector.len(), 0);
        if before == sector {
            continue;
        }
        changed += 1;
        match unsynced {
            Unsynced::Zeros => sector.copy_from_slice(&before),
            Unsynced::Sectors if changed % 2 == 0 => sector.copy_from_slice(&before),
            // The slot is torn in the middle of a sector.
            Unsynced::Half => sector[100..].copy_from_slice(&before[100..]),
            _ => {}
        }
    }
    left
}

/// Calls that write among calls that read, some of them at the same time, each batch in a segment of its own; one call is
/// running all the while. Returns what happened.
fn live(dir: &Path) -> Vec<Event> {
    let files = Arc::new(Noting::default());
    // A segment is closed at an eighth of this age, so each is too old for a second write.
    let config = Config { keep: units::Span(Duration::ZERO), ..Config::default() };
    let start =
        || AuditLog::new(dir, || 1_700_000_000_000, config.clone(), None, Arc::new(Arc::clone(&files)));
    let audit_log = start();
    let let_run = |id: &str| {
        let mark = before_run(&audit_log, &sample(id).opening).unwrap();
        files.note(Event::LetRun(id.to_owned()));
        mark
    };
    // How many slots were freed.
    let settled = || {
        let is_one = |event: &&Event| matches!(event, Event::WrittenAt(_, bytes, _) if bytes == FREE);
        files.0.lock().unwrap().iter().filter(is_one).count()
    };
    for round in 0..4 {
        let before = settled();
        if round == 2 {
            let _open = let_run("open");
        }
        let ids = ["a", "b"].map(|name| format!("{name}{round}"));
        let marks = ids.each_ref().map(|id| let_run(id));
        for (id, mark) in ids.iter().zip(marks) {
            audit_log.close(sample(id), None, Some(mark));
            audit_log.close(sample(&format!("read {id}")), None, None);
        }
        if round % 2 == 0 {
            audit_log.flush().unwrap();
            audit_log.sign_end().unwrap();
        } else {
            // The writer comes by itself.
            while settled() == before {
                thread::yield_now();
            }
        }
    }
    audit_log.flush().unwrap();
    drop(audit_log);
    // The next start finds the call that is open, once the threads of this one have let go of its note.
    let next = start();
    while next.recover().unwrap() == 0 {
        thread::yield_now();
    }
    drop(next);
    let events = files.0.lock().unwrap().clone();
    let closed = events.iter().filter(|event| matches!(event, Event::Renamed(..))).count();
    assert!(closed >= 4, "{closed} segments were closed");
    events
}

/// How each call ended, as the audit log has it.
fn outcomes(dir: &Path) -> BTreeMap<String, Outcome> {
    #[derive(serde::Deserialize)]
    struct Ended {
        call_id: String,
        outcome: String,
    }
    let mut reader = Reader::since(dir, 0).unwrap();
    let mut outcomes = BTreeMap::new();
    while let Some(line) = reader.next_line().unwrap() {
        if let Ok(Ended { call_id, outcome }) = serde_json::from_str(&line) {
            let outcome = match outcome.as_str() {
                "result" => Outcome::Result,
                "unknown_after_crash" => Outcome::UnknownAfterCrash,
                other => panic!("{other}"),
            };
            assert_eq!(outcomes.insert(call_id, outcome), None, "noted twice: {line}");
        }
    }
    outcomes
}

/// Cuts the power after each of these events. How many calls were let run, or what is missing or wrong afterwards.
fn check(lived: &Path, events: &[Event]) -> Result<usize, String> {
    let mut disk = Disk::default();
    let mut let_run = Vec::new();
    for (nth, event) in events.iter().enumerate() {
        disk.happen(event);
        if let Event::LetRun(id) = event {
            let_run.push(id.clone());
        }
        for unsynced in WAYS {
            let left = tempfile::tempdir().unwrap();
            disk.leave(lived, left.path(), unsynced);
            let wrong = |what: String| Err(format!("event {nth}, {unsynced:?}: {what}"));
            if let Err(error) = AuditLog::at(left.path(), || 1_700_000_000_000).recover() {
                return wrong(error.to_string());
            }
            let found = outcomes(left.path());
            if let Some(id) = let_run.iter().find(|id| !found.contains_key(*id)) {
                return wrong(format!("{id} is not in {found:?}"));
            }
            if let Err(broken) = verify(left.path(), &Trust::default()) {
                return wrong(format!("{broken:?}"));
            }
        }
    }
    Ok(let_run.len())
}

#[test]
fn after_a_power_cut_no_call_that_was_let_run_is_without_a_trace() {
    let lived = tempfile::tempdir().unwrap();
    let events = live(lived.path());
    assert_eq!(check(lived.path(), &events), Ok(9));
}

#[test]
fn a_power_cut_leaves_no_segment_removed_that_no_line_names() {
    let lived = tempfile::tempdir().unwrap();
    let files = Arc::new(Noting::default());
    let start = |config: Config| {
        AuditLog::new(lived.path(), || 1_700_000_000_000, config, None, Arc::new(Arc::clone(&files)))
    };
    let closing = start(Config { keep: units::Span(Duration::ZERO), ..Config::default() });
    for id in ["a", "b", "c"] {
        closing.close(sample(id), None, None);
        closing.flush().unwrap();
    }
    closing.prune().unwrap();
    let removed = start(Config { max_bytes: units::Size(0), ..Config::default() }).prune().unwrap();
    assert_eq!(removed.len(), 2);
    let events = files.0.lock().unwrap().clone();
    assert_eq!(check(lived.path(), &events), Ok(0));
}

#[test]
fn a_power_cut_leaves_no_new_intent_log_that_lacks_what_the_old_one_had() {
    let lived = tempfile::tempdir().unwrap();
    let files = Arc::new(Noting::default());
    let mut log = IntentLog::at(lived.path());
    let calls = ["a", "b"];
    let intents = calls.map(|id| Intent { opening: sample(id).opening, since: 0 });
    let (_running, file) = log.note(intents.into(), &files).unwrap();
    files.sync(&file).unwrap();
    calls.iter().for_each(|id| files.note(Event::LetRun((*id).to_owned())));
    log.renew(&files).unwrap();
    let events = files.0.lock().unwrap().clone();
    assert_eq!(check(lived.path(), &events), Ok(2));
}

#[test]
fn without_any_one_kind_of_sync_a_power_cut_would_take_something() {
    let lived = tempfile::tempdir().unwrap();
    let events = live(lived.path());
    type IsKind = fn(&[Event; 3]) -> bool;
    let kinds: [(&str, IsKind); 3] = [
        ("of a segment that is closed", |[_, event, next]| {
            matches!((event, next), (Event::Synced(_), Event::Renamed(..)))
        }),
        ("of the folder in which it was renamed", |[before, event, _]| {
            matches!((before, event), (Event::Renamed(..), Event::FolderSynced(_)))
        }),
        ("of the folder in which a segment was begun", |[before, event, next]| {
            matches!(event, Event::FolderSynced(_))
                && !matches!(before, Event::Renamed(..) | Event::FolderSynced(_))
                && !matches!(next, Event::FolderSynced(_))
        }),
    ];
    for (what, is_kind) in kinds {
        let is_left_out = |nth: usize| {
            let neighbours = events.get(nth.saturating_sub(1)..).and_then(<[Event]>::first_chunk);
            neighbours.is_some_and(is_kind)
        };
        let left_out = (0..events.len()).filter(|nth| is_left_out(*nth)).count();
        assert!(left_out >= 2, "{left_out} {what}");
        let without = events.iter().enumerate().filter(|(nth, _)| !is_left_out(*nth));
        let without: Vec<Event> = without.map(|(_, event)| event.clone()).collect();
        assert!(check(lived.path(), &without).is_err(), "nothing is lost without the sync {what}");
    }
}
