//! What retention by age removes, and what it leaves, whatever the clock says for a moment.
#![expect(clippy::unwrap_used, reason = "a helper of a test stops the test")]
#![expect(clippy::disallowed_methods, reason = "these tests look for files")]

#[path = "samples/record.rs"]
mod samples;

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use audit::{Arguments, AuditLog, Config, Trust, verify};
use redact::Redactor;
use samples::{OPENED_AT_MS, fixed, record};
use units::{Size, Span};

const DAY_MS: i64 = 86_400_000;

/// Milliseconds since 1970, as the books of these tests have them. The tests of this file are one.
static NOW_MS: AtomicI64 = AtomicI64::new(OPENED_AT_MS);

fn clock() -> i64 {
    NOW_MS.load(Ordering::SeqCst)
}

/// What somebody does on a day, counted from the first; days before the first are those of 1970.
#[derive(Debug, Clone, Copy)]
enum Does {
    /// A process that answers a call.
    Calls(i64),
    /// `audit prune`.
    Prunes(i64),
}
use Does::{Calls, Prunes};

/// The time on a day: noon, and a moment more for whoever comes later on the same.
fn at(day: i64, nth: usize) -> i64 {
    let begin = if day < 0 { (1_000 + day) * DAY_MS - 900 * DAY_MS } else { OPENED_AT_MS + day * DAY_MS };
    begin + nth as i64
}

/// Keeps for 40 days in segments of 5, and tells on which days the segments that are left begin.
#[track_caller]
fn check(what: &[Does], expected: &[i64]) {
    let dir = tempfile::tempdir().unwrap();
    let keep = Span(Duration::from_secs(40 * 86_400));
    let config = Config { arguments: Arguments::Hash, keep, ..Config::default() };
    for (nth, does) in what.iter().enumerate() {
        let (Calls(day) | Prunes(day)) = *does;
        NOW_MS.store(at(day, nth), Ordering::SeqCst);
        let audit_log =
            AuditLog::with(dir.path(), clock, config.clone(), Redactor::new(&redact::Config::default()));
        match does {
            Calls(_) => {
                audit_log.ready().unwrap();
                audit_log.close(record("c"), None, None);
                audit_log.flush().unwrap();
            }
            Prunes(_) => drop(audit_log.prune().unwrap()),
        }
    }
    verify(dir.path(), &Trust::default()).unwrap();
    let left: Vec<i64> = begins(dir.path()).iter().map(|begun| day_of(*begun)).collect();
    assert_eq!(left, expected, "{what:?}");
}

fn day_of(at_ms: i64) -> i64 {
    let first = if at_ms < OPENED_AT_MS { 100 * DAY_MS } else { OPENED_AT_MS };
    (at_ms - first).div_euclid(DAY_MS)
}

fn begins(dir: &Path) -> Vec<i64> {
    let mut names: Vec<_> = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    names.retain(|path| path.extension().is_some_and(|extension| extension == "jsonl"));
    // `audit-…` comes before `audit.jsonl`.
    names.sort_unstable();
    let first = |path: &std::path::PathBuf| {
        let text = fs::read_to_string(path).unwrap();
        let line: serde_json::Value = serde_json::from_str(text.lines().next()?).unwrap();
        line["written_at_ms"].as_i64()
    };
    names.iter().filter_map(first).collect()
}

#[test]
fn age_is_not_taken_from_one_look_at_the_clock() {
    let used = [Calls(0), Calls(6), Calls(12), Calls(18)];
    let then = |more: &[Does]| [&used[..], more].concat();
    check(&used, &[0, 6, 12, 18]);
    // A clock that is 400 days ahead, for a moment, or by and by.
    check(&then(&[Calls(400), Calls(19)]), &[0, 6, 12, 18, 400]);
    check(&then(&[Calls(400), Calls(19), Calls(402), Calls(20)]), &[0, 6, 12, 18, 400]);
    check(&then(&[Calls(400), Calls(400)]), &[0, 6, 12, 18, 400]);
    // It stood there for a day.
    check(&then(&[Calls(400), Calls(401), Calls(402)]), &[18, 400]);
    // Somebody who can look at the clock says so.
    check(&then(&[Prunes(400)]), &[18, 400]);
    check(&then(&[Prunes(19)]), &[0, 6, 12, 18]);
    // In the course of time: each has been too old for a day, seen from the one that came after it.
    check(&then(&[Calls(45), Calls(46)]), &[0, 6, 12, 18, 45]);
    check(&then(&[Calls(47), Calls(48), Calls(49)]), &[6, 12, 18, 47]);
}

#[test]
fn a_clock_that_was_never_set_makes_nothing_old() {
    // Three segments in the days that a machine without a clock of its own begins with.
    let unset = [Calls(-90), Calls(-80), Calls(-70)];
    let then = |more: &[Does]| [&unset[..], more].concat();
    check(&then(&[Calls(0), Calls(2), Calls(3)]), &[-90, -80, -70, 0]);
    check(&then(&[Calls(0), Prunes(3)]), &[-90, -80, -70, 0]);
    check(&then(&[Calls(0), Calls(6), Calls(43), Calls(45)]), &[0, 6, 43]);
    // Between two of today.
    let between = [Calls(0), Calls(6), Prunes(12), Calls(-90), Calls(-80), Calls(13)];
    let then = |more: Does| [&between[..], &[more]].concat();
    check(&then(Prunes(20)), &[0, 6, -90, -80, 13]);
    check(&then(Prunes(50)), &[6, -90, -80, 13, 50]);
    check(&then(Prunes(54)), &[13, 54]);
}

/// Three closed segments and a record behind them, in an audit log that may have as many bytes as `max_bytes` makes of
/// its own: which segments `audit prune` removes.
#[track_caller]
fn check_size(max_bytes: impl Fn(u64) -> u64, expected: &[&str]) {
    let dir = tempfile::tempdir().unwrap();
    let with =
        |config: Config| AuditLog::with(dir.path(), fixed, config, Redactor::new(&redact::Config::default()));
    let call = |audit_log: &AuditLog| {
        audit_log.close(record("c"), None, None);
        audit_log.flush().unwrap();
    };
    // A segment is closed at an eighth of this age, so each is too old for a second write.
    let closing = with(Config { keep: Span(Duration::ZERO), ..Config::default() });
    (0..3).for_each(|_| call(&closing));
    assert_eq!(closing.prune().unwrap(), [], "nothing is old or too much");
    drop(closing);
    let keeping = Config::default();
    call(&with(keeping.clone()));
    let bytes = fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap());
    let bytes = bytes.filter(|entry| entry.file_name().to_string_lossy().ends_with(".jsonl"));
    let max_bytes = Size(max_bytes(bytes.map(|entry| entry.metadata().unwrap().len()).sum()));
    let removed = with(Config { max_bytes, ..keeping }).prune().unwrap();
    let names: Vec<&str> = removed.iter().map(|removed| &*removed.segment).collect();
    assert_eq!(names, expected);
    verify(dir.path(), &Trust::default()).unwrap();
}

#[test]
fn what_is_too_much_goes_and_the_newest_closed_segment_stays() {
    check_size(|bytes| bytes, &[]);
    check_size(|bytes| bytes - 1, &["audit-000001.jsonl"]);
    check_size(|_| 0, &["audit-000001.jsonl", "audit-000002.jsonl"]);
}
