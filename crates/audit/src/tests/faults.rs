//! What happens when the n-th write does not work, for every n: calls are refused until the disk works
//! again, and nothing that was closed is lost or noted twice.
#![expect(clippy::disallowed_methods, reason = "these tests read what the audit log wrote")]

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};
use std::{io, thread};

use crate::file_ops::{FileOps, SystemFiles};
use crate::intent_log::FOLDER;
use crate::intent_slot::{SLOT_BYTES, decode};
use crate::record::tests::sample;
use crate::{
    AuditError, AuditLog, CHECKPOINT_RECORDS, Config, FILE, IntentId, Opening, Outcome, RECORDS_WAITING_MAX,
    Record, SyncPolicy, Trust, verify,
};

/// How much of the write that does not work reaches the disk all the same, and whether it can be taken back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reaches {
    Nothing,
    Half,
    AllButOneByte,
    HalfAndStays,
    AllAndStays,
}

/// Files whose n-th write, and every one after it, does not work until it is mended.
struct Shaky {
    good_writes_left: AtomicUsize,
    reaches: Reaches,
    failed: AtomicBool,
    mended: AtomicBool,
}

impl Shaky {
    fn new(nth: usize, reaches: Reaches) -> Arc<Self> {
        Arc::new(Self {
            good_writes_left: AtomicUsize::new(nth - 1),
            reaches,
            failed: AtomicBool::new(false),
            mended: AtomicBool::new(false),
        })
    }

    /// How many bytes of the next write reach the disk, and what is said of it.
    fn next(&self, bytes: usize) -> (usize, io::Result<()>) {
        let good = self
            .good_writes_left
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1))
            .is_ok();
        if good || self.mended.load(Ordering::SeqCst) {
            return (bytes, Ok(()));
        }
        self.failed.store(true, Ordering::SeqCst);
        let reached = match self.reaches {
            Reaches::Nothing => 0,
            Reaches::Half | Reaches::HalfAndStays => bytes / 2,
            Reaches::AllButOneByte => bytes - 1,
            Reaches::AllAndStays => bytes,
        };
        (reached, Err(io::ErrorKind::StorageFull.into()))
    }
}

impl FileOps for Arc<Shaky> {
    fn write(&self, file: &File, bytes: &[u8]) -> io::Result<()> {
        let (reached, written) = self.next(bytes.len());
        SystemFiles.write(file, &bytes[..reached])?;
        written
    }

    fn write_at(&self, file: &File, bytes: &[u8], at: u64) -> io::Result<()> {
        let (reached, written) = self.next(bytes.len());
        SystemFiles.write_at(file, &bytes[..reached], at)?;
        written
    }

    fn truncate(&self, file: &File, len: u64) -> io::Result<()> {
        match self.reaches {
            Reaches::Nothing | Reaches::Half | Reaches::AllButOneByte => SystemFiles.truncate(file, len),
            Reaches::HalfAndStays | Reaches::AllAndStays => Err(io::ErrorKind::PermissionDenied.into()),
        }
    }
}

pub(crate) fn before_run(audit_log: &AuditLog, opening: &Opening) -> Result<IntentId, AuditError> {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(audit_log.before_run(opening))
}

fn clock() -> i64 {
    1_700_000_000_000
}

/// Each recorded call with how it ended, and how often it is in the audit log.
fn recorded(dir: &Path) -> BTreeMap<String, Vec<String>> {
    let mut calls: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for line in fs::read_to_string(dir.join(FILE)).unwrap().lines() {
        let Ok(record) = serde_json::from_str::<serde_json::Value>(line) else { continue };
        let text = |name: &str| record[name].as_str().unwrap().to_owned();
        calls.entry(text("call_id")).or_default().push(text("outcome"));
    }
    calls
}

/// Six times a call that writes among two that read, and one that is open all the while. Says whether the fault was met.
fn live_through(nth: usize, reaches: Reaches) -> bool {
    let dir = tempfile::tempdir().unwrap();
    let files = Shaky::new(nth, reaches);
    let audit_log = AuditLog::new(dir.path(), clock, Config::default(), None, Arc::new(Arc::clone(&files)));
    let open = before_run(&audit_log, &sample("open").opening);
    let mut expected = BTreeMap::new();
    for call in 0..6 {
        let id = format!("call {call}");
        match before_run(&audit_log, &sample(&id).opening) {
            Ok(mark) => audit_log.close(sample(&id), None, Some(mark)),
            Err(_) => audit_log.close(Record { outcome: Outcome::Refused, ..sample(&id) }, None, None),
        }
        expected.insert(id, ());
        for id in [format!("read {call}a"), format!("read {call}b")] {
            audit_log.close(sample(&id), None, None);
            expected.insert(id, ());
        }
        if audit_log.flush().is_err() {
            audit_log.ready().expect("reads go on while the disk is full");
            let refused = before_run(&audit_log, &sample("refused").opening);
            assert!(matches!(refused, Err(AuditError::NoSpace(_))), "{refused:?}");
        }
    }
    files.mended.store(true, Ordering::SeqCst);
    audit_log.flush().expect("a mended disk takes what waited");
    audit_log.ready().expect("a mended disk lets calls in again");
    if let Ok(mark) = open {
        audit_log.close(sample("open"), None, Some(mark));
        expected.insert("open".to_owned(), ());
        audit_log.flush().unwrap();
    }
    let recorded = recorded(dir.path());
    assert_eq!(recorded.keys().collect::<Vec<_>>(), expected.keys().collect::<Vec<_>>(), "write {nth}");
    assert!(recorded.values().all(|outcomes| outcomes.len() == 1), "write {nth}: {recorded:?}");
    let verified = verify(dir.path(), &Trust::default()).expect("the chain holds");
    assert_eq!(verified.records, expected.len() as u64, "write {nth}");
    assert!(verified.torn_lines == 0 || reaches == Reaches::HalfAndStays, "write {nth}: {verified:?}");
    files.failed.load(Ordering::SeqCst)
}

#[test]
fn the_nth_write_fails() {
    for reaches in
        [Reaches::Nothing, Reaches::Half, Reaches::AllButOneByte, Reaches::HalfAndStays, Reaches::AllAndStays]
    {
        let met = (1..100).take_while(|nth| live_through(*nth, reaches)).count();
        // Six calls are noted, recorded and freed, and the head is noted after each; one more is open, for which the file
        // is laid out.
        assert_eq!(met, 4 * 6 + 2, "{reaches:?}");
    }
}

/// Files whose syncs wait until they are let go, one by one; each says whether it works.
struct Slow {
    syncs: Mutex<mpsc::Receiver<bool>>,
    begun: mpsc::SyncSender<()>,
}

impl FileOps for Slow {
    fn sync(&self, _: &File) -> io::Result<()> {
        self.begun.send(()).unwrap();
        match self.syncs.lock().unwrap().recv() {
            Ok(true) | Err(_) => Ok(()),
            Ok(false) => Err(io::Error::other("the disk does not answer")),
        }
    }
}

/// An audit log on such files, what lets a sync go, and what tells that one has begun.
fn slow(dir: &Path) -> (AuditLog, mpsc::SyncSender<bool>, mpsc::Receiver<()>) {
    let (go, syncs) = mpsc::sync_channel(100);
    let (begun, is_begun) = mpsc::sync_channel(100);
    let files = Slow { syncs: Mutex::new(syncs), begun };
    (AuditLog::new(dir, clock, Config::default(), None, Arc::new(files)), go, is_begun)
}

#[test]
fn a_slow_disk_holds_up_nobody_else_and_one_sync_serves_all_who_wait() {
    let dir = tempfile::tempdir().unwrap();
    let (audit_log, go, is_begun) = slow(dir.path());
    let records = ["first", "a", "b", "c"].map(sample);
    let mut notes: Vec<_> =
        records.iter().map(|record| Box::pin(audit_log.before_run(&record.opening))).collect();
    let mut cx = Context::from_waker(Waker::noop());
    let mut poll = |nth: usize| notes[nth].as_mut().poll(&mut cx);
    // Returns at once, though the disk does not.
    assert!(poll(0).is_pending());
    // The file is laid out, then the first note is synced.
    is_begun.recv().unwrap();
    go.send(true).unwrap();
    is_begun.recv().unwrap();
    for nth in 1..4 {
        assert!(poll(nth).is_pending());
    }
    go.send(true).unwrap();
    is_begun.recv().unwrap();
    let first = poll(0);
    assert!(matches!(first, Poll::Ready(Ok(_))), "{first:?}");
    assert!((1..4).all(|nth| poll(nth).is_pending()));
    go.send(true).unwrap();
    let deadline = Instant::now() + Duration::from_secs(60);
    for nth in 1..4 {
        let noted = loop {
            match poll(nth) {
                Poll::Ready(noted) => break noted,
                Poll::Pending => thread::yield_now(),
            }
            assert!(Instant::now() < deadline, "{nth} is not told");
        };
        assert!(noted.is_ok());
    }
    assert!(is_begun.try_recv().is_err(), "one sync for three calls");
    drop((notes, go));
}

#[test]
fn a_note_that_is_not_on_the_disk_refuses_its_call_and_the_next_one_begins_a_new_file() {
    let dir = tempfile::tempdir().unwrap();
    let (audit_log, go, _is_begun) = slow(dir.path());
    // The file is laid out, and the note in it does not reach the disk.
    go.send(true).unwrap();
    go.send(false).unwrap();
    let refused = before_run(&audit_log, &sample("1").opening).map_err(|error| error.to_string());
    let why =
        "the log of running calls cannot be written; calls that change something are refused until it can";
    assert_eq!(refused, Err(why.to_owned()));
    audit_log.ready().expect("reads are not noted");
    drop(go);
    let mark = before_run(&audit_log, &sample("2").opening).unwrap();
    assert_eq!(fs::read_dir(dir.path().join("inflight")).unwrap().count(), 1, "the old one is gone");
    audit_log.close(sample("2"), None, Some(mark));
    audit_log.flush().unwrap();
}

#[test]
fn only_the_calls_that_the_settings_name_wait_for_the_disk() {
    for (sync, effect, expected) in [
        (SyncPolicy::Effects, Some("writes"), true),
        (SyncPolicy::Effects, None, true),
        (SyncPolicy::Destroys, Some("writes"), false),
        (SyncPolicy::Destroys, Some("destroys"), true),
        (SyncPolicy::Destroys, Some("executes"), true),
        (SyncPolicy::Destroys, None, true),
        (SyncPolicy::Never, Some("executes"), false),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let (audit_log, go, is_begun) = slow(dir.path());
        audit_log.govern(&Config { sync, ..Config::default() });
        // The first call lays the file out, and waits for that.
        go.send(true).unwrap();
        go.send(true).unwrap();
        let first = before_run(&audit_log, &sample("first").opening).unwrap();
        assert_eq!(is_begun.try_iter().count(), 2);
        let mut record = sample("second");
        record.opening.effect = effect.map(Into::into);
        let mut note = Box::pin(audit_log.before_run(&record.opening));
        let waits = note.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending();
        assert_eq!(waits, expected, "{sync:?} {effect:?}");
        drop((note, go));
        audit_log.close(sample("first"), None, Some(first));
    }
}

#[test]
fn a_book_that_refuses_changes_says_so_and_takes_them_again_without_anybody_asking() {
    type Refused = fn(&AuditLog);
    let by: [(&str, Refused); 2] = [
        ("a note", |audit_log| drop(before_run(audit_log, &sample("refused").opening).unwrap_err())),
        ("a record", |audit_log| {
            audit_log.close(sample("read"), None, None);
            audit_log.flush().unwrap_err();
        }),
    ];
    for (what, is_refused) in by {
        let dir = tempfile::tempdir().unwrap();
        let files = Shaky::new(1, Reaches::Nothing);
        let audit_log =
            AuditLog::new(dir.path(), clock, Config::default(), None, Arc::new(Arc::clone(&files)));
        audit_log.takes_changes().unwrap();
        is_refused(&audit_log);
        for _ in 0..3 {
            audit_log.ready().expect("reads go on");
            assert!(matches!(audit_log.takes_changes(), Err(AuditError::NoSpace(_))), "{what}");
            // However often the disk is tried.
            assert!(matches!(
                before_run(&audit_log, &sample("refused").opening),
                Err(AuditError::NoSpace(_))
            ));
        }
        files.mended.store(true, Ordering::SeqCst);
        let mended = Instant::now();
        while audit_log.takes_changes().is_err() {
            assert!(mended.elapsed() < Duration::from_secs(30), "it does not recover from {what}");
            thread::yield_now();
        }
        drop(before_run(&audit_log, &sample("runs").opening).unwrap());
    }
}

/// Writes so many records that with the next one a checkpoint is due.
fn fill_to_a_checkpoint(dir: &Path) {
    let audit_log = AuditLog::at(dir, clock);
    for nth in 0..CHECKPOINT_RECORDS - 1 {
        audit_log.close(sample(&nth.to_string()), None, None);
    }
    audit_log.flush().unwrap();
}

#[test]
fn a_checkpoint_that_did_not_reach_the_disk_is_made_up_for() {
    let dir = tempfile::tempdir().unwrap();
    fill_to_a_checkpoint(dir.path());
    // Half of a write stays, and with it the records that make the checkpoint due.
    let files = Shaky::new(1, Reaches::HalfAndStays);
    let audit_log = AuditLog::new(dir.path(), clock, Config::default(), None, Arc::new(Arc::clone(&files)));
    audit_log.ready().unwrap();
    for nth in 0..100 {
        audit_log.close(sample(&format!("late {nth}")), None, None);
    }
    audit_log.flush().unwrap_err();
    files.mended.store(true, Ordering::SeqCst);
    audit_log.flush().unwrap();
    let text = fs::read_to_string(dir.path().join(FILE)).unwrap();
    let checkpoints =
        text.lines().filter(|line| line.contains("\"why\":\"records\"") && line.ends_with("\"}"));
    assert_eq!(checkpoints.count(), 1);
}

#[test]
fn a_write_that_fails_behind_a_checkpoint_takes_no_record_with_it() {
    // As many as three writes take, and the checkpoint is due with the first.
    const RECORDS: usize = 600;
    for nth in 1..=4 {
        let dir = tempfile::tempdir().unwrap();
        fill_to_a_checkpoint(dir.path());
        let files = Shaky::new(nth, Reaches::Nothing);
        let audit_log =
            AuditLog::new(dir.path(), clock, Config::default(), None, Arc::new(Arc::clone(&files)));
        audit_log.ready().unwrap();
        for nth in 0..RECORDS {
            audit_log.close(sample(&format!("late {nth}")), None, None);
        }
        // Whether it works depends on how many writes there were.
        let _ = audit_log.flush();
        files.mended.store(true, Ordering::SeqCst);
        audit_log.flush().unwrap();
        let text = fs::read_to_string(dir.path().join(FILE)).unwrap();
        let late =
            text.lines().filter_map(|line| line.split("\"call_id\":\"late ").nth(1)?.split('"').next());
        let expected = (0..RECORDS).map(|nth| nth.to_string());
        assert!(late.map(str::to_owned).eq(expected), "where write {nth} fails");
    }
}

#[test]
fn a_call_that_is_given_up_before_its_note_is_written_leaves_none() {
    let dir = tempfile::tempdir().unwrap();
    let (audit_log, go, is_begun) = slow(dir.path());
    let record = sample("given up");
    let mut note = Box::pin(audit_log.before_run(&record.opening));
    assert!(note.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    is_begun.recv().unwrap();
    drop(note);
    drop(go);
    // The next note is written after the first was taken back.
    let mark = before_run(&audit_log, &sample("next").opening).unwrap();
    audit_log.close(sample("next"), None, Some(mark));
    audit_log.flush().unwrap();
    let intents = fs::read_dir(dir.path().join(FOLDER)).unwrap().next().unwrap().unwrap().path();
    let slots = fs::read(intents).unwrap();
    assert_eq!(slots.chunks(SLOT_BYTES).find_map(decode), None, "nothing is open");
}

#[test]
fn on_a_full_disk_reads_go_on_until_memory_is_full_and_recover_by_themselves() {
    let dir = tempfile::tempdir().unwrap();
    let files = Shaky::new(1, Reaches::Half);
    let audit_log = AuditLog::new(dir.path(), clock, Config::default(), None, Arc::new(Arc::clone(&files)));
    audit_log.ready().unwrap();
    audit_log.close(sample("0"), None, None);
    audit_log.flush().unwrap_err();
    for nth in 1..RECORDS_WAITING_MAX {
        audit_log.ready().unwrap_or_else(|error| panic!("{nth}: {error}"));
        audit_log.close(sample(&nth.to_string()), None, None);
    }
    let refused = audit_log.ready().map_err(|error| error.to_string());
    assert_eq!(
        refused,
        Err("the disk is full: the audit log audit.jsonl takes no record; calls that change something are refused \
             until there is space below the state folder"
            .to_owned())
    );
    files.mended.store(true, Ordering::SeqCst);
    let mended = Instant::now();
    while before_run(&audit_log, &sample("writes").opening).is_err() {
        // A machine with much else to do needs longer to write what has gathered.
        assert!(mended.elapsed() < Duration::from_secs(30), "it does not recover");
        thread::yield_now();
    }
    audit_log.flush().unwrap();
    assert_eq!(verify(dir.path(), &Trust::default()).unwrap().head.seq / RECORDS_WAITING_MAX as u64, 1);
}

/// Files that find a defect of ours.
struct Defective;

impl FileOps for Defective {
    fn write(&self, _: &File, _: &[u8]) -> io::Result<()> {
        panic!("a defect")
    }
}

#[test]
fn a_writer_that_panics_lets_no_call_go_on() {
    let dir = tempfile::tempdir().unwrap();
    let audit_log = AuditLog::new(dir.path(), clock, Config::default(), None, Arc::new(Defective));
    audit_log.ready().unwrap();
    audit_log.close(sample("first"), None, None);
    assert!(matches!(audit_log.flush(), Err(AuditError::Stopped)));
    assert!(matches!(audit_log.ready(), Err(AuditError::Stopped)));
    assert!(matches!(before_run(&audit_log, &sample("second").opening), Err(AuditError::Stopped)));
}
