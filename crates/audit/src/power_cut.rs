//! What a power cut leaves behind, at every point of a day in the life of the audit log: no call that was let run
//! is without a trace, and the chain holds.
#![expect(
    clippy::disallowed_methods,
    reason = "these tests build and read the folders that a power cut leaves"
)]

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
    thread,
};

use crate::{
    AuditLog, Config, Outcome, Reader, Trust,
    faults::before_run,
    journal::FOLDER,
    pen::{Pen, Steady},
    record::tests::sample,
    verify,
};

/// What happened to the disk, in order. Files are known by their inode.
#[derive(Debug, Clone)]
enum Event {
    Named(PathBuf, u64),
    Written(u64, Vec<u8>),
    Cut(u64, u64),
    Synced(u64),
    FolderSynced(PathBuf),
    Renamed(PathBuf, PathBuf),
    Removed(PathBuf),
    /// A call was told that it may run.
    LetRun(String),
}

/// A pen that notes all it does.
#[derive(Default)]
struct Noting(Mutex<Vec<Event>>);

impl Noting {
    fn note(&self, event: Event) {
        self.0.lock().unwrap().push(event);
    }

    fn named(&self, path: &Path, file: io::Result<File>) -> io::Result<File> {
        let file = file?;
        self.note(Event::Named(path.to_owned(), ino(&file)));
        Ok(file)
    }
}

fn ino(file: &File) -> u64 {
    file.metadata().unwrap().ino()
}

impl Pen for Arc<Noting> {
    fn open(&self, path: &Path) -> io::Result<File> {
        self.named(path, Steady.open(path))
    }

    fn create(&self, path: &Path) -> io::Result<File> {
        self.named(path, Steady.create(path))
    }

    fn write(&self, file: &File, bytes: &[u8]) -> io::Result<()> {
        Steady.write(file, bytes)?;
        self.note(Event::Written(ino(file), bytes.to_vec()));
        Ok(())
    }

    fn take_back(&self, file: &File, len: u64) -> io::Result<()> {
        Steady.take_back(file, len)?;
        self.note(Event::Cut(ino(file), len));
        Ok(())
    }

    fn sync(&self, file: &File) -> io::Result<()> {
        Steady.sync(file)?;
        self.note(Event::Synced(ino(file)));
        Ok(())
    }

    fn sync_folder(&self, dir: &Path) -> io::Result<()> {
        self.note(Event::FolderSynced(dir.to_owned()));
        Ok(())
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        Steady.rename(from, to)?;
        self.note(Event::Renamed(from.to_owned(), to.to_owned()));
        Ok(())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        Steady.remove(path)?;
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
    /// That of journals is there, that of the audit log is not.
    KeptOfJournals,
}

const WAYS: [Unsynced; 5] =
    [Unsynced::Lost, Unsynced::Half, Unsynced::Zeros, Unsynced::Kept, Unsynced::KeptOfJournals];

/// A disk: what is in memory, and what survives.
#[derive(Default, Clone)]
struct Disk {
    names: BTreeMap<PathBuf, u64>,
    safe_names: BTreeMap<PathBuf, u64>,
    files: BTreeMap<u64, Vec<u8>>,
    safe_files: BTreeMap<u64, Vec<u8>>,
}

impl Disk {
    fn happen(&mut self, event: &Event) {
        match event {
            Event::Named(path, file) => drop(self.names.insert(path.clone(), *file)),
            Event::Written(file, bytes) => self.files.entry(*file).or_default().extend(bytes),
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
            }
            Event::Renamed(from, to) => {
                if let Some(file) = self.names.remove(from) {
                    self.names.insert(to.clone(), file);
                }
            }
            Event::Removed(path) => drop(self.names.remove(path)),
        }
    }

    /// Builds what a power cut at this moment leaves.
    fn leave(&self, from: &Path, to: &Path, unsynced: Unsynced) {
        let names = if unsynced == Unsynced::Lost { &self.safe_names } else { &self.names };
        for (path, file) in names {
            let empty = Vec::new();
            let safe = self.safe_files.get(file).unwrap_or(&empty);
            let all = self.files.get(file).unwrap_or(&empty);
            // A file that was cut and not synced may have its old bytes still.
            let more = all.strip_prefix(&safe[..]).unwrap_or_default();
            let left = match unsynced {
                Unsynced::Lost => safe.clone(),
                Unsynced::Half => [safe, &more[..more.len() / 2]].concat(),
                Unsynced::Zeros => [&safe[..], &vec![0; more.len()]].concat(),
                Unsynced::Kept => all.clone(),
                Unsynced::KeptOfJournals if path.starts_with(from.join(FOLDER)) => all.clone(),
                Unsynced::KeptOfJournals => safe.clone(),
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

/// Calls that write among calls that read, some of them at the same time, over several segments; one is
/// running all the while. Returns what happened.
fn live(dir: &Path) -> Vec<Event> {
    let pen = Arc::new(Noting::default());
    let config = Config { max_bytes: units::Size(64), ..Config::default() };
    let audit_log = AuditLog::new(dir, || 1_700_000_000_000, config, None, Box::new(Arc::clone(&pen)));
    let let_run = |id: &str| {
        let mark = before_run(&audit_log, &sample(id).opening).unwrap();
        pen.note(Event::LetRun(id.to_owned()));
        mark
    };
    // How often the journal was told that calls have their records.
    let settled = || {
        let is_one = |event: &&Event| match event {
            Event::Cut(_, 0) => true,
            Event::Written(_, bytes) => bytes.starts_with(b"\n{\"closed\""),
            _ => false,
        };
        pen.0.lock().unwrap().iter().filter(is_one).count()
    };
    for round in 0..4 {
        let before = settled();
        if round == 2 {
            // Until then the journal is emptied whenever it may be.
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
    let events = pen.0.lock().unwrap().clone();
    assert!(events.iter().any(|event| matches!(event, Event::Synced(_))));
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

#[test]
fn after_a_power_cut_no_call_that_was_let_run_is_without_a_trace() {
    let lived = tempfile::tempdir().unwrap();
    let events = live(lived.path());
    let mut disk = Disk::default();
    let mut let_run = Vec::new();
    for (nth, event) in events.iter().enumerate() {
        disk.happen(event);
        if let Event::LetRun(id) = event {
            let_run.push(id.clone());
        }
        for unsynced in WAYS {
            let left = tempfile::tempdir().unwrap();
            disk.leave(lived.path(), left.path(), unsynced);
            AuditLog::at(left.path(), || 1_700_000_000_000).recover().unwrap();
            let found = outcomes(left.path());
            for id in &let_run {
                assert!(found.contains_key(id), "event {nth}, {unsynced:?}: {id} is not in {found:?}");
            }
            let verified = verify(left.path(), &Trust::default());
            assert!(verified.is_ok(), "event {nth}, {unsynced:?}: {verified:?}");
        }
    }
    assert_eq!(let_run.len(), 9);
}
