//! A audit log of several segments: how it is closed, removed from, shared, read and verified; and every way to
//! tamper with it.
#![expect(clippy::unwrap_used, reason = "a helper of a test stops the test")]
#![expect(clippy::disallowed_methods, reason = "these tests read and damage what the audit log wrote")]

#[path = "samples/record.rs"]
mod samples;

use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;
use std::{fs, thread};

use audit::{
    Arguments, AuditLog, Config, FILE, Plain, PublicKey, Reader, Trust, Verified, VerifyError, Why,
    noted_head, tail, verify,
};
use redact::Redactor;
use samples::{OPENED_AT_MS, fixed, record};
use units::{Size, Span};

/// Milliseconds since 1970, as the test of retention by age has them.
static NOW_MS: AtomicI64 = AtomicI64::new(OPENED_AT_MS);

fn clock() -> i64 {
    NOW_MS.load(Ordering::SeqCst)
}

/// The smallest segments that the settings allow: 1 MiB.
fn small() -> Config {
    Config { max_bytes: Size(8 << 20), keep: Span(Duration::from_secs(86_400)), ..Config::default() }
}

fn redactor() -> Redactor {
    Redactor::new(&redact::Config::default())
}

/// Arguments of some 8 KiB, so that few calls fill a segment.
fn large() -> Option<Plain> {
    Plain::of(format!("{{\"text\":{:?}}}", "x y ".repeat(2_000)).as_bytes())
}

fn fill(audit_log: &AuditLog, calls: std::ops::Range<u32>) {
    for call in calls {
        audit_log.close(record(&call.to_string()), large(), None);
        if call % 50 == 49 {
            audit_log.flush().unwrap();
        }
    }
    audit_log.flush().unwrap();
}

fn segments(dir: &Path) -> Vec<String> {
    let names = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.filter(|name| name.ends_with(".jsonl")).collect();
    names.sort_unstable_by_key(|name| (name == FILE, name.clone()));
    names
}

fn trust(dir: &Path) -> Trust {
    let keys = Vec::from_iter(PublicKey::of_folder(dir).unwrap());
    Trust { noted: noted_head(dir, &keys).unwrap(), keys, ..Trust::default() }
}

fn calls(dir: &Path) -> Vec<String> {
    let mut reader = Reader::since(dir, 0).unwrap();
    let mut calls = Vec::new();
    while let Some(line) = reader.next_line().unwrap() {
        let line: serde_json::Value = serde_json::from_str(&line).unwrap();
        calls.extend(line["call_id"].as_str().map(str::to_owned));
    }
    calls
}

#[test]
fn a_full_segment_is_closed_signed_and_the_chain_goes_on() {
    let dir = tempfile::tempdir().unwrap();
    let audit_log = AuditLog::with(dir.path(), fixed, small(), redactor());
    fill(&audit_log, 0..500);
    assert_eq!(
        segments(dir.path()),
        ["audit-000001.jsonl", "audit-000002.jsonl", "audit-000003.jsonl", FILE]
    );
    drop(audit_log);
    // Another process goes on.
    let audit_log = AuditLog::with(dir.path(), fixed, small(), redactor());
    fill(&audit_log, 500..700);
    audit_log.sign_end().unwrap();
    let expected: Vec<String> = (0..700).map(|call| call.to_string()).collect();
    assert_eq!(calls(dir.path()), expected);
    let Verified { records, first, segments, torn_lines, head, signed, losses: _ } =
        verify(dir.path(), &trust(dir.path())).unwrap();
    // One checkpoint for each closed segment, and one at the end.
    assert_eq!((records, first, segments, torn_lines), (700 + 4 + 1, 1, 5, 0));
    assert_eq!((signed, head.seq), (Some(head.seq), records));

    // A closed segment can be verified by itself.
    let segment = |number: u32, trust: &Trust| {
        verify(&dir.path().join(format!("audit-{number:06}.jsonl")), trust).map_err(|error| match error {
            VerifyError::Broken { why, .. } => why,
            other => panic!("{other}"),
        })
    };
    let keys = Trust { noted: None, ..trust(dir.path()) };
    let first = segment(1, &keys).unwrap().head.seq + 1;
    assert_eq!(segment(2, &keys), Err(Why::StartsLater(first)), "unless it is known where it begins");
    let from = Trust { from: Some(first), ..keys };
    let alone = segment(2, &from).unwrap();
    assert_eq!((alone.first, alone.signed), (first, Some(alone.head.seq)));
    let noted = Trust { from: Some(first), ..trust(dir.path()) };
    assert!(matches!(segment(2, &noted), Err(Why::EndMissing { .. })));
    let line = tail(dir.path(), 300).unwrap();
    assert_eq!(line.len(), 300, "more than one segment");
}

#[test]
fn two_books_share_segments() {
    let dir = tempfile::tempdir().unwrap();
    let books = [0, 1].map(|_| AuditLog::with(dir.path(), fixed, small(), redactor()));
    thread::scope(|scope| {
        for (nth, audit_log) in (0..).zip(&books) {
            scope.spawn(move || fill(audit_log, nth * 300..(nth + 1) * 300));
        }
    });
    drop(books);
    let mut calls: Vec<u32> = calls(dir.path()).iter().map(|call| call.parse().unwrap()).collect();
    calls.sort_unstable();
    assert_eq!(calls, (0..600).collect::<Vec<_>>());
    assert!(segments(dir.path()).len() > 3);
    verify(dir.path(), &trust(dir.path())).unwrap();
}

#[test]
fn old_segments_are_removed_and_what_is_left_can_be_verified() {
    let dir = tempfile::tempdir().unwrap();
    let audit_log = AuditLog::with(dir.path(), clock, small(), redactor());
    fill(&audit_log, 0..500);
    assert_eq!(audit_log.prune().unwrap(), [], "nothing is old or too much");
    // The segments become old; the newest closed one stays.
    NOW_MS.fetch_add(2 * 86_400_000, Ordering::SeqCst);
    let removed = audit_log.prune().unwrap();
    let names: Vec<&str> = removed.iter().map(|removed| &*removed.segment).collect();
    assert_eq!(names, ["audit-000001.jsonl", "audit-000002.jsonl", "audit-000003.jsonl"]);
    assert_eq!(removals(dir.path()), [3, 0], "none was removed early");
    assert_eq!(segments(dir.path()), ["audit-000004.jsonl", FILE]);
    let verified = verify(dir.path(), &trust(dir.path())).unwrap();
    assert_eq!(verified.first, removed[2].seq + 1);
    fill(&audit_log, 500..700);
    verify(dir.path(), &trust(dir.path())).unwrap();

    // What somebody else removes is missed.
    fs::remove_file(dir.path().join("audit-000004.jsonl")).unwrap();
    let missed = verify(dir.path(), &trust(dir.path()));
    assert!(
        matches!(missed, Err(VerifyError::Broken { line: 1, why: Why::BeginningMissing, .. })),
        "{missed:?}"
    );
}

/// How many lines say that a segment was removed, and how many of them that it was younger than `keep`.
fn removals(dir: &Path) -> [usize; 2] {
    let all: String = segments(dir).iter().map(|name| fs::read_to_string(dir.join(name)).unwrap()).collect();
    [r#""removed":{"#, r#""early":true"#].map(|text| all.matches(text).count())
}

#[test]
fn the_book_never_becomes_much_larger_than_it_may() {
    let dir = tempfile::tempdir().unwrap();
    let audit_log = AuditLog::with(dir.path(), fixed, small(), redactor());
    fill(&audit_log, 0..2_000);
    // The writer removes after it has told us that it wrote.
    audit_log.prune().unwrap();
    let bytes: u64 =
        segments(dir.path()).iter().map(|name| fs::metadata(dir.path().join(name)).unwrap().len()).sum();
    assert!((6 << 20..=8 << 20).contains(&bytes), "{bytes}");
    let [all, early] = removals(dir.path());
    assert!(all > 0 && early == all, "{early} of {all} say that it was too early");
    verify(dir.path(), &trust(dir.path())).unwrap();
}

#[test]
fn settings_that_change_hold_for_what_comes() {
    let dir = tempfile::tempdir().unwrap();
    let (first, open) = ("audit-000001.jsonl".to_owned(), FILE.to_owned());
    let audit_log = AuditLog::with(dir.path(), fixed, Config::default(), redactor());
    fill(&audit_log, 0..250);
    assert_eq!(segments(dir.path()), std::slice::from_ref(&open), "it is not full");
    // Another size closes what is too large for it.
    audit_log.govern(&small());
    fill(&audit_log, 250..251);
    assert_eq!(segments(dir.path()), [first.clone(), open]);
    fill(&audit_log, 251..500);
    assert!(segments(dir.path()).contains(&first), "nothing is too much");
    // What has become too much goes with the next record, whether or not that closes a segment.
    audit_log.govern(&Config { max_bytes: Size(2 << 20), arguments: Arguments::Hash, ..small() });
    assert_eq!(audit_log.arguments(), Arguments::Hash);
    audit_log.close(record("500"), None, None);
    audit_log.flush().unwrap();
    // The writer removes after it has told us that it wrote, and before it writes again.
    audit_log.flush().unwrap();
    assert!(!segments(dir.path()).contains(&first), "{:?}", segments(dir.path()));
    verify(dir.path(), &trust(dir.path())).unwrap();
}

#[test]
fn a_book_of_an_earlier_version_goes_on() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join(FILE), include_bytes!("data/book-of-version-0.jsonl")).unwrap();
    let audit_log = AuditLog::with(dir.path(), fixed, small(), redactor());
    fill(&audit_log, 0..200);
    let verified = verify(dir.path(), &trust(dir.path())).unwrap();
    assert_eq!((verified.first, verified.segments > 1), (1, true));
    assert_eq!(calls(dir.path()).len(), 3 + 200);
}

#[test]
fn a_reader_goes_on_where_it_ended_through_every_closing() {
    let dir = tempfile::tempdir().unwrap();
    let audit_log = AuditLog::with(dir.path(), fixed, small(), redactor());
    let mut reader = Reader::since(dir.path(), 0).unwrap();
    let mut seen = Vec::new();
    for round in 0..10 {
        while let Some(line) = reader.next_line().unwrap() {
            let line: serde_json::Value = serde_json::from_str(&line).unwrap();
            seen.extend(line["call_id"].as_str().map(|id| id.parse::<u32>().unwrap()));
        }
        assert_eq!(seen, (0..round * 60).collect::<Vec<_>>());
        fill(&audit_log, round * 60..(round + 1) * 60);
    }
    assert!(segments(dir.path()).len() > 3);
}

#[test]
fn arguments_are_kept_as_the_settings_say() {
    let kept = |config: Config| {
        let dir = tempfile::tempdir().unwrap();
        let audit_log = AuditLog::with(dir.path(), fixed, config.clone(), redactor());
        assert_eq!(audit_log.arguments(), config.arguments);
        audit_log.close(record("1"), Plain::of(b"{\"path\":\"a\"}"), None);
        audit_log.close(record("2"), Plain::of(b"no JSON"), None);
        audit_log.flush().unwrap();
        tail(dir.path(), 2)
            .unwrap()
            .iter()
            .map(|line| line.contains(r#""arguments":"{\"path\":\"a\"}""#))
            .collect()
    };
    let kept: Vec<bool> = kept(Config { arguments: Arguments::Redacted, ..Config::default() });
    assert_eq!(kept, [true, false]);
    // A audit log that knows no secret keeps none.
    let dir = tempfile::tempdir().unwrap();
    let audit_log = AuditLog::at(dir.path(), fixed);
    audit_log.close(record("1"), Plain::of(b"{\"path\":\"a\"}"), None);
    audit_log.flush().unwrap();
    assert!(!tail(dir.path(), 1).unwrap()[0].contains("\"arguments\":"));
}

/// Replaces what a file holds. Emptied before, as `fs::write` has it, some file systems go to the disk each time.
fn put(path: &Path, bytes: &[u8]) {
    let file = fs::File::options().write(true).open(path).unwrap();
    file.write_all_at(bytes, 0).unwrap();
    file.set_len(bytes.len() as u64).unwrap();
}

/// A audit log of three segments with few records, as files.
struct Small {
    dir: tempfile::TempDir,
    trust: Trust,
    /// The lines of each segment, line breaks included.
    lines: Vec<(PathBuf, Vec<Vec<u8>>)>,
}

impl Small {
    fn new() -> Small {
        let dir = tempfile::tempdir().unwrap();
        for _ in 0..3 {
            let audit_log = AuditLog::with(dir.path(), clock_of_small, small(), redactor());
            audit_log.close(record("1"), None, None);
            audit_log.sign_end().unwrap();
            // The next process finds the segment too old.
            SMALL_MS.fetch_add(86_400_000 / 8, Ordering::SeqCst);
        }
        let paths: Vec<PathBuf> = segments(dir.path()).iter().map(|name| dir.path().join(name)).collect();
        let lines = paths.iter().map(|path| {
            let bytes = fs::read(path).unwrap();
            (
                path.clone(),
                bytes.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect::<Vec<_>>(),
            )
        });
        let lines: Vec<_> = lines.collect();
        let mut trust = trust(dir.path());
        verify(dir.path(), &trust).unwrap();
        // Whatever is found is found by the chain and the head that was noted, without looking at signatures.
        trust.keys.clear();
        assert_eq!(lines.iter().map(|(_, lines)| lines.len()).collect::<Vec<_>>(), [3, 3, 2]);
        Small { dir, trust, lines }
    }

    /// Replaces a segment, verifies, and puts it back. Returns segment, line and number of the first bad record.
    fn tampered(&self, segment: usize, lines: &[Vec<u8>]) -> Option<(String, u64, u64)> {
        let (path, whole) = &self.lines[segment];
        put(path, &lines.concat());
        let found = verify(self.dir.path(), &self.trust);
        put(path, &whole.concat());
        match found {
            Ok(_) => None,
            Err(VerifyError::Broken { segment, line, seq, .. }) => Some((segment, line, seq)),
            Err(error) => panic!("{error}"),
        }
    }

    /// The place of a line that was tampered with.
    fn place(&self, segment: usize, line: usize) -> (String, u64, u64) {
        let name = self.lines[segment].0.file_name().unwrap().to_str().unwrap().to_owned();
        let before: usize = self.lines[..segment].iter().map(|(_, lines)| lines.len()).sum();
        (name, line as u64 + 1, (before + line) as u64 + 1)
    }

    fn each_line(&self) -> impl Iterator<Item = (usize, usize)> {
        let lines = self.lines.iter().map(|(_, lines)| lines.len()).enumerate();
        lines.flat_map(|(segment, lines)| (0..lines).map(move |line| (segment, line)))
    }
}

/// The tests that tamper run at the same time if they are threads of one process; each needs a clock that only goes on.
static SMALL_MS: AtomicI64 = AtomicI64::new(OPENED_AT_MS);

fn clock_of_small() -> i64 {
    SMALL_MS.load(Ordering::SeqCst)
}

#[test]
fn every_flipped_byte_is_found_and_its_record_named() {
    let audit_log = Small::new();
    for (segment, line) in audit_log.each_line() {
        let (lines, place) = (&audit_log.lines[segment].1, audit_log.place(segment, line));
        for at in 0..lines[line].len() {
            let mut flipped = lines.clone();
            flipped[line][at] ^= 1;
            assert_eq!(audit_log.tampered(segment, &flipped), Some(place.clone()), "byte {at}");
        }
    }
}

#[test]
fn every_dropped_or_moved_record_is_found() {
    let audit_log = Small::new();
    for (segment, line) in audit_log.each_line() {
        let (lines, place) = (&audit_log.lines[segment].1, audit_log.place(segment, line));
        let dropped = [&lines[..line], &lines[line + 1..]].concat();
        // The first record that does not follow is that of the next segment.
        let is_end_of_segment = line + 1 == lines.len() && segment < 2;
        let next = audit_log.place((segment + 1).min(2), 0);
        let at = if is_end_of_segment { (next.0, next.1, place.2) } else { place.clone() };
        assert_eq!(audit_log.tampered(segment, &dropped), Some(at), "drop {place:?}");

        if line + 1 < lines.len() {
            let mut moved = lines.clone();
            moved.swap(line, line + 1);
            let found = audit_log.tampered(segment, &moved);
            let is_near = |found: (String, u64, u64)| found.0 == place.0 && found.1.abs_diff(place.1) <= 1;
            assert!(found.is_some_and(is_near), "move {place:?}");
        }
    }
}

#[test]
fn every_truncated_record_and_segment_is_found() {
    let audit_log = Small::new();
    for (segment, line) in audit_log.each_line() {
        let (lines, place) = (&audit_log.lines[segment].1, audit_log.place(segment, line));
        for at in 0..lines[line].len() - 1 {
            let mut cut = lines.clone();
            cut[line].truncate(at);
            let found = audit_log.tampered(segment, &cut);
            let is_named = |found: &(String, u64, u64)| found.2 == place.2;
            assert!(found.as_ref().is_some_and(is_named), "cut {place:?} at {at}: {found:?}");
            if at % 16 == 0 {
                cut.truncate(line + 1);
                let found = audit_log.tampered(segment, &cut);
                assert!(found.as_ref().is_some_and(is_named), "end {place:?} at {at}: {found:?}");
            }
        }
    }
}

#[test]
fn tampering_with_a_large_book_is_found() {
    let dir = tempfile::tempdir().unwrap();
    let audit_log = AuditLog::at(dir.path(), fixed);
    for call in 0..25_000 {
        audit_log.close(record(&call.to_string()), None, None);
    }
    audit_log.sign_end().unwrap();
    drop(audit_log);
    let (path, trust) = (dir.path().join(FILE), trust(dir.path()));
    let whole = fs::read(&path).unwrap();
    let verified = verify(dir.path(), &trust).unwrap();
    assert_eq!(verified.records, 25_000 + 2 + 1, "checkpoints after every 10,000 and at the end");
    for sample in 0..12 {
        let at = whole.len() / 12 * sample + 131 * sample;
        let line = whole[..at].iter().filter(|byte| **byte == b'\n').count() as u64 + 1;
        let mut flipped = whole.clone();
        flipped[at] ^= 4;
        put(&path, &flipped);
        match verify(dir.path(), &trust) {
            Err(VerifyError::Broken { line: found, seq, .. }) => {
                assert_eq!((found, seq), (line, line), "{at}")
            }
            other => panic!("{at}: {other:?}"),
        }
    }
}

#[test]
fn a_book_signed_by_another_key_is_not_believed() {
    let dirs = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    for dir in &dirs {
        let audit_log = AuditLog::at(dir.path(), fixed);
        audit_log.close(record("1"), None, None);
        audit_log.sign_end().unwrap();
    }
    let other = Trust { noted: None, ..trust(dirs[1].path()) };
    let found = verify(dirs[0].path(), &other);
    assert!(
        matches!(found, Err(VerifyError::Broken { line: 2, seq: 2, why: Why::Unsigned, .. })),
        "{found:?}"
    );
    let mut both = trust(dirs[0].path());
    both.keys.extend(other.keys);
    assert_eq!(verify(dirs[0].path(), &both).unwrap().signed, Some(2));
}
