//! What holds an audit log to what was written where nothing is known of it but a key: the chain does not, since whoever
//! writes an audit log anew chains it as well.
#![expect(clippy::unwrap_used, reason = "a helper of a test stops the test")]
#![expect(clippy::disallowed_methods, reason = "these tests write books anew")]

#[path = "samples/record.rs"]
mod samples;

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use audit::{Arguments, AuditLog, Config, FILE, Hash, PublicKey, Trust, noted_head, verify};
use redact::Redactor;
use samples::{OPENED_AT_MS, record};
use units::Span;

const CLOSED: &str = "audit-000001.jsonl";

/// One more hour whenever it is asked how late it is, so that each process closes what the one before began.
static NOW_MS: AtomicI64 = AtomicI64::new(OPENED_AT_MS);

fn clock() -> i64 {
    NOW_MS.load(Ordering::SeqCst)
}

/// A process that answers these many calls and ends in peace, or is killed.
fn calls(dir: &Path, calls: u32, is_killed: bool) {
    let config = Config {
        arguments: Arguments::Hash,
        keep: Span(Duration::from_secs(8 * 3_600)),
        ..Config::default()
    };
    let audit_log = AuditLog::with(dir, clock, config, Redactor::new(&redact::Config::default()));
    for call in 0..calls {
        audit_log.close(record(&call.to_string()), None, None);
    }
    audit_log.flush().unwrap();
    if !is_killed {
        audit_log.sign_end().unwrap();
    }
}

/// A folder with a closed segment (three calls, three signed lines) and an open one (five calls and a signed line).
struct Written {
    dir: tempfile::TempDir,
    key: PublicKey,
}

impl Written {
    fn new() -> Written {
        let dir = tempfile::tempdir().unwrap();
        calls(dir.path(), 3, false);
        NOW_MS.fetch_add(2 * 3_600_000, Ordering::SeqCst);
        calls(dir.path(), 5, false);
        let key = PublicKey::of_folder(dir.path()).unwrap().unwrap();
        Written { dir, key }
    }

    fn lines(&self, segment: &str) -> Vec<String> {
        let text = fs::read_to_string(self.dir.path().join(segment)).unwrap();
        text.split_inclusive('\n').map(str::to_owned).collect()
    }
}

/// The lines of an audit log as somebody chains them who has no key.
fn chained(lines: &[String]) -> String {
    let (mut prev, mut audit_log) = ("0".repeat(64), String::new());
    for (seq, line) in (1..).zip(lines) {
        let rest = &line[line.find(",\"written_at_ms\"").unwrap()..line.rfind(",\"hash\":\"").unwrap()];
        let body = format!("{{\"seq\":{seq},\"prev\":\"{prev}\"{rest}");
        prev = Hash::of(body.as_bytes()).to_string();
        audit_log += &format!("{body},\"hash\":\"{prev}\"}}\n");
    }
    audit_log
}

fn is_call(line: &str) -> bool {
    line.contains("\"call_id\"")
}

/// Verifies a copy of these segments by the key alone: up to which record it is signed, or what is wrong.
#[track_caller]
fn check(written: &Written, copy: &[(&str, String)], expected: Result<u64, &str>) {
    let dir = tempfile::tempdir().unwrap();
    for (name, text) in copy {
        fs::write(dir.path().join(name), text).unwrap();
    }
    let keys = vec![written.key];
    let noted = noted_head(dir.path(), &keys).unwrap();
    let trust = Trust { noted, keys, must_be_signed: true, ..Trust::default() };
    let found = verify(dir.path(), &trust).map_err(|error| error.to_string());
    let told = found.as_ref().map(|found| found.signed.unwrap_or(0)).map_err(String::as_str);
    assert_eq!(told, expected);
}

#[test]
fn a_copy_is_held_to_its_signatures() {
    let written = Written::new();
    let (closed, open) = (written.lines(CLOSED), written.lines(FILE));
    let head = fs::read_to_string(written.dir.path().join("audit.head")).unwrap();
    let all: Vec<String> = [&closed[..], &open[..]].concat();
    let calls: Vec<String> = all.iter().filter(|line| is_call(line)).cloned().collect();
    assert_eq!((closed.len(), open.len(), calls.len()), (5, 6, 8));
    check(&written, &[(CLOSED, closed.concat()), (FILE, open.concat())], Ok(11));
    check(&written, &[(CLOSED, closed.concat())], Ok(5));
    // Somebody chains it anew, without what they cannot sign.
    let innocent: Vec<String> =
        calls[..5].iter().map(|line| line.replace("workspace_write", "echo")).collect();
    let changed: Vec<String> = all.iter().map(|line| line.replace("workspace_write", "echo")).collect();
    check(
        &written,
        &[(FILE, chained(&innocent))],
        Err(
            "line 1 of audit.jsonl, record 1: this one and all after it are signed by nobody (5 in all): they are \
             chained, which whoever writes an audit log anew can do as well",
        ),
    );
    check(
        &written,
        &[(FILE, chained(&innocent)), ("audit.head", head.clone())],
        Err("line 6 of audit.jsonl, record 6: the end of the audit log is missing: record 11 was kept"),
    );
    check(
        &written,
        &[(FILE, chained(&changed)), ("audit.head", head.clone())],
        Err(
            "line 4 of audit.jsonl, record 4: it is signed by none of the known keys; name each one that you trust with \
             --key",
        ),
    );
    // Behind the last signature the chain is all there is; the head that was noted is a signature, too.
    let [most, last] = [&open[..5], &open[5..]].map(<[String]>::concat);
    check(&written, &[(CLOSED, closed.concat()), (FILE, most.clone())], Ok(5));
    let noted = [(CLOSED, closed.concat()), (FILE, most + &last), ("audit.head", head)];
    check(&written, &noted, Ok(11));
    // The end of a closed segment, and all that follows.
    let missing = "the segment was closed with a signed line behind this one, which is missing";
    for (lines, record) in [(3, 3), (4, 4)] {
        let told = format!("line {lines} of {CLOSED}, record {record}: {missing}");
        let expected = if is_call(&closed[lines - 1]) { Err(&*told) } else { Ok(4) };
        check(&written, &[(CLOSED, closed[..lines].concat())], expected);
    }
}

#[test]
fn more_records_than_there_ever_are_without_a_signature_are_found() {
    let written = Written::new();
    let signed = written.lines(FILE).len() + written.lines(CLOSED).len();
    let audit_log: Vec<String> = [written.lines(CLOSED), written.lines(FILE)].concat();
    let call = audit_log.iter().find(|line| is_call(line)).unwrap().clone();
    let with = |more: usize| {
        // The chain goes on from the true end.
        let (mut text, mut prev) = (audit_log.concat(), Hash::of(b"").to_string());
        let last = audit_log.last().unwrap();
        prev.replace_range(.., &last[last.len() - 67..last.len() - 3]);
        let rest = &call[call.find(",\"written_at_ms\"").unwrap()..call.rfind(",\"hash\":\"").unwrap()];
        for seq in signed + 1..=signed + more {
            let body = format!("{{\"seq\":{seq},\"prev\":\"{prev}\"{rest}");
            prev = Hash::of(body.as_bytes()).to_string();
            text += &format!("{body},\"hash\":\"{prev}\"}}\n");
        }
        text
    };
    check(&written, &[(FILE, with(20_000))], Ok(11));
    check(
        &written,
        &[(FILE, with(20_001))],
        Err(
            "line 12 of audit.jsonl, record 12: this one and all after it are signed by nobody (20001 in all): they \
             are chained, which whoever writes an audit log anew can do as well",
        ),
    );
}

#[test]
fn a_killed_process_leaves_a_head_that_signs_what_it_wrote() {
    let dir = tempfile::tempdir().unwrap();
    calls(dir.path(), 4, true);
    let key = PublicKey::of_folder(dir.path()).unwrap().unwrap();
    let noted = noted_head(dir.path(), &[key]).unwrap();
    let trust = Trust { noted, keys: vec![key], must_be_signed: true, ..Trust::default() };
    assert_eq!(verify(dir.path(), &trust).unwrap().signed, Some(4));
    let alone = verify(dir.path(), &Trust { noted: None, ..trust }).map_err(|error| error.to_string());
    assert!(alone.is_err_and(|error| error.contains("signed by nobody")));
}

#[test]
fn in_a_folder_of_ones_own_only_the_named_keys_count() {
    let [ours, other] = [Written::new(), Written::new()];
    // What `audit verify --key` asks: the head that this folder's key signed says nothing.
    let keys = vec![other.key];
    let noted = noted_head(ours.dir.path(), &keys).unwrap();
    let trust = Trust { noted, keys, must_be_signed: true, ..Trust::default() };
    assert_eq!(noted, None);
    let found = verify(ours.dir.path(), &trust).map_err(|error| error.to_string());
    assert!(found.is_err_and(|error| error.contains("it is signed by none of the known keys")));
}
