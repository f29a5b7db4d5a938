//! What happens when the n-th write does not work, for every n: calls are refused until the disk works
//! again, and nothing that was closed is lost or noted twice.
#![expect(clippy::disallowed_methods, reason = "these tests read what the book wrote")]

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};

use crate::{
    Book, FILE, Outcome, Record,
    pen::{Pen, Steady},
    record::tests::sample,
    verify,
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

/// A pen whose n-th write, and every one after it, does not work until it is mended.
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
}

impl Pen for Arc<Shaky> {
    fn write(&self, file: &File, bytes: &[u8]) -> io::Result<()> {
        let good = self
            .good_writes_left
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1))
            .is_ok();
        if good || self.mended.load(Ordering::SeqCst) {
            return Steady.write(file, bytes);
        }
        self.failed.store(true, Ordering::SeqCst);
        let reached = match self.reaches {
            Reaches::Nothing => 0,
            Reaches::Half | Reaches::HalfAndStays => bytes.len() / 2,
            Reaches::AllButOneByte => bytes.len() - 1,
            Reaches::AllAndStays => bytes.len(),
        };
        Steady.write(file, &bytes[..reached])?;
        Err(io::ErrorKind::StorageFull.into())
    }

    fn take_back(&self, file: &File, len: u64) -> io::Result<()> {
        match self.reaches {
            Reaches::Nothing | Reaches::Half | Reaches::AllButOneByte => Steady.take_back(file, len),
            Reaches::HalfAndStays | Reaches::AllAndStays => Err(io::ErrorKind::PermissionDenied.into()),
        }
    }
}

fn clock() -> i64 {
    1_700_000_000_000
}

/// Each recorded call with how it ended, and how often it is in the book.
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
    let pen = Shaky::new(nth, reaches);
    let book = Book::with_pen(dir.path(), clock, Box::new(Arc::clone(&pen)));
    let open = book.before_run(&sample("open").opening);
    let mut expected = BTreeMap::new();
    for call in 0..6 {
        let id = format!("call {call}");
        match book.before_run(&sample(&id).opening) {
            Ok(mark) => book.close(sample(&id), Some(mark)),
            Err(_) => book.close(Record { outcome: Outcome::Refused, ..sample(&id) }, None),
        }
        expected.insert(id, ());
        for id in [format!("read {call}a"), format!("read {call}b")] {
            book.close(sample(&id), None);
            expected.insert(id, ());
        }
        if book.flush().is_err() {
            let refused = book.ready().map_err(|error| error.to_string());
            assert_eq!(
                refused,
                Err("the audit book audit.jsonl cannot be written; calls are refused until it can: \
                     check the state folder"
                    .to_owned())
            );
        }
    }
    pen.mended.store(true, Ordering::SeqCst);
    book.flush().expect("a mended disk takes what waited");
    book.ready().expect("a mended disk lets calls in again");
    if let Ok(mark) = open {
        book.close(sample("open"), Some(mark));
        expected.insert("open".to_owned(), ());
        book.flush().unwrap();
    }
    let recorded = recorded(dir.path());
    assert_eq!(recorded.keys().collect::<Vec<_>>(), expected.keys().collect::<Vec<_>>(), "write {nth}");
    assert!(recorded.values().all(|outcomes| outcomes.len() == 1), "write {nth}: {recorded:?}");
    let verified = verify(&dir.path().join(FILE), None).expect("the chain holds");
    assert_eq!(verified.records, expected.len() as u64, "write {nth}");
    assert!(verified.torn_lines == 0 || reaches == Reaches::HalfAndStays, "write {nth}: {verified:?}");
    pen.failed.load(Ordering::SeqCst)
}

#[test]
fn the_nth_write_fails() {
    for reaches in
        [Reaches::Nothing, Reaches::Half, Reaches::AllButOneByte, Reaches::HalfAndStays, Reaches::AllAndStays]
    {
        let met = (1..100).take_while(|nth| live_through(*nth, reaches)).count();
        // Six calls are noted in the journal, in the book, and in the journal again; one more is open.
        assert_eq!(met, 3 * 6 + 1, "{reaches:?}");
    }
}
