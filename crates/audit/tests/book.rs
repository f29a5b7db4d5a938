//! the audit log as its users see it: what is written, what is refused, what many writers at once leave behind.
#![expect(clippy::unwrap_used, reason = "a helper of a test stops the test")]
#![expect(clippy::disallowed_methods, reason = "these tests read and damage what the audit log wrote")]

#[path = "samples/record.rs"]
mod samples;

use std::collections::HashSet;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{Duration, Instant};
use std::{fs, thread};

use audit::{
    AuditError, AuditLog, Event, FILE, Hash, IntentId, Loss, Opening, PublicKey, Reached, Record, Trust,
    VerifyError, What, Why, noted_head, tail, verify,
};
use samples::fixed;

/// A call with an argument that must not be found anywhere.
fn record(call_id: &str) -> Record {
    let mut record = samples::record(call_id);
    record.opening.arguments_sha256 = Some(Hash::of(b"planted argument value"));
    record.opening.arguments_bytes = 22;
    record
}

fn before_run(audit_log: &AuditLog, opening: &Opening) -> Result<IntentId, AuditError> {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(audit_log.before_run(opening))
}

fn write(audit_log: &AuditLog, call_ids: impl IntoIterator<Item = u32>) {
    for id in call_ids {
        audit_log.ready().unwrap();
        audit_log.close(record(&id.to_string()), None, None);
    }
    audit_log.flush().unwrap();
}

fn calls(dir: &Path) -> Vec<String> {
    let lines = tail(&dir.join(FILE), usize::MAX).unwrap();
    let id = |line: &String| {
        serde_json::from_str::<serde_json::Value>(line).unwrap()["call_id"].as_str().unwrap().to_owned()
    };
    lines.iter().map(id).collect()
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

/// Slots of an intent log whose calls run.
fn open_slots(path: &Path) -> usize {
    let intents = fs::read(path).unwrap();
    intents.chunks(4096).filter(|slot| slot[..8].iter().any(|byte| !matches!(byte, 0 | b'0'))).count()
}

#[test]
fn nothing_touches_the_disk_before_the_first_call() {
    let dir = tempfile::tempdir().unwrap();
    let state = dir.path().join("state");
    let audit_log = AuditLog::at(&state, fixed);
    audit_log.flush().unwrap();
    audit_log.sign_end().unwrap();
    assert_eq!(audit_log.recover().unwrap(), 0);
    drop(audit_log);
    assert!(!state.exists());

    let audit_log = AuditLog::at(&state, fixed);
    write(&audit_log, [1]);
    assert!(!state.join("inflight").exists(), "a read is not noted");
    let mark = before_run(&audit_log, &record("2").opening).unwrap();
    for (path, expected) in
        [(state.clone(), 0o700), (state.join(FILE), 0o600), (state.join("inflight"), 0o700)]
    {
        assert_eq!(mode(&path), expected, "{path:?}");
    }
    let intents = fs::read_dir(state.join("inflight")).unwrap().next().unwrap().unwrap().path();
    assert_eq!(mode(&intents), 0o600);
    assert_eq!(open_slots(&intents), 1);
    audit_log.close(record("2"), None, Some(mark));
    audit_log.flush().unwrap();
    assert_eq!(open_slots(&intents), 0);
}

#[test]
fn records_are_in_order_and_the_chain_goes_on_after_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    write(&AuditLog::at(dir.path(), fixed), 0..10);
    write(&AuditLog::at(dir.path(), fixed), 10..20);
    let expected: Vec<String> = (0..20).map(|id| id.to_string()).collect();
    assert_eq!(calls(dir.path()), expected);
    let verified = verify(dir.path(), &Trust::default()).unwrap();
    assert_eq!((verified.records, verified.torn_lines, verified.head.seq), (20, 0, 20));
}

#[test]
fn many_books_and_threads_share_one_chain() {
    const BOOKS: u32 = 3;
    const THREADS: u32 = 4;
    const EACH: u32 = 300;
    let dir = tempfile::tempdir().unwrap();
    let books: Vec<AuditLog> = (0..BOOKS).map(|_| AuditLog::at(dir.path(), fixed)).collect();
    thread::scope(|scope| {
        for nth in 0..BOOKS * THREADS {
            let audit_log = &books[(nth % BOOKS) as usize];
            scope.spawn(move || {
                for id in nth * EACH..(nth + 1) * EACH {
                    let mark = (id % 7 == 0)
                        .then(|| before_run(audit_log, &record(&id.to_string()).opening).unwrap());
                    audit_log.close(record(&id.to_string()), None, mark);
                    if id % 50 == 0 {
                        audit_log.flush().unwrap();
                    }
                }
            });
        }
    });
    for audit_log in &books {
        audit_log.flush().unwrap();
    }
    let calls = calls(dir.path());
    assert_eq!(calls.len() as u32, BOOKS * THREADS * EACH);
    assert_eq!(calls.iter().collect::<HashSet<_>>().len(), calls.len(), "none twice");
    let verified = verify(dir.path(), &Trust::default()).unwrap();
    assert_eq!((verified.records, verified.torn_lines), (calls.len() as u64, 0));
    assert_eq!(books[0].recover().unwrap(), 0, "the living have nothing to recover");
}

#[test]
fn a_torn_line_is_ended_counted_and_stepped_over() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(FILE);
    write(&AuditLog::at(dir.path(), fixed), [1, 2, 3]);
    let whole = fs::read(&path).unwrap();
    fs::write(&path, &whole[..whole.len() - 100]).unwrap();
    // As if the crash had come before it.
    fs::remove_file(dir.path().join("audit.head")).unwrap();
    write(&AuditLog::at(dir.path(), fixed), [4]);
    let verified = verify(&path, &Trust::default()).unwrap();
    assert_eq!((verified.records, verified.torn_lines), (3, 1));
    assert!(tail(&path, 1).unwrap()[0].starts_with(r#"{"seq":3,"#));
}

#[test]
fn a_folder_that_cannot_be_written_refuses_every_call_until_it_can() {
    let dir = tempfile::tempdir().unwrap();
    let blocked = dir.path().join("state");
    fs::write(&blocked, "a file where the folder should be").unwrap();
    let audit_log = AuditLog::at(&blocked, fixed);
    for _ in 0..2 {
        assert!(matches!(audit_log.ready(), Err(AuditError::Unwritable(_))));
        assert!(matches!(before_run(&audit_log, &record("1").opening), Err(AuditError::Unwritable(_))));
    }
    fs::remove_file(&blocked).unwrap();
    write(&audit_log, [1]);
    assert_eq!(calls(&blocked), ["1"]);
}

#[test]
fn a_book_that_is_cut_or_moved_while_in_use_shuts() {
    type Damage = fn(&Path);
    let damages: [Damage; 3] = [
        |path| fs::remove_file(path).unwrap(),
        |path| fs::rename(path, path.with_extension("old")).unwrap(),
        |path| fs::File::options().write(true).open(path).unwrap().set_len(10).unwrap(),
    ];
    for damage in damages {
        let dir = tempfile::tempdir().unwrap();
        let audit_log = AuditLog::at(dir.path(), fixed);
        write(&audit_log, [1]);
        damage(&dir.path().join(FILE));
        audit_log.close(record("2"), None, None);
        assert!(matches!(audit_log.flush(), Err(AuditError::Removed)));
        assert!(matches!(audit_log.ready(), Err(AuditError::Removed)));
    }
}

/// An audit log in use whose last record is on disk, what somebody does to its folder, and what is said to the next read and to
/// the next call that changes something. Nothing asks the audit log to look first.
#[track_caller]
fn check_removal(remove: fn(&Path), read: &str, change: &str) {
    for is_change in [false, true] {
        let dir = tempfile::tempdir().unwrap();
        let state = dir.path().join("state");
        let audit_log = AuditLog::at(&state, fixed);
        let mark = before_run(&audit_log, &record("1").opening).unwrap();
        audit_log.close(record("1"), None, Some(mark));
        audit_log.flush().unwrap();
        remove(&state);
        let (told, expected) = match is_change {
            false => (audit_log.ready(), read),
            true => (before_run(&audit_log, &record("2").opening).map(drop), change),
        };
        let told = told.map_or_else(|error| format!("{error:?}"), |()| "goes on".to_owned());
        assert!(told.starts_with(expected), "{is_change}: {told}");
    }
}

#[test]
fn after_a_removal_no_call_goes_on_whose_record_would_be_lost() {
    check_removal(|_| {}, "goes on", "goes on");
    check_removal(|state| fs::remove_dir_all(state).unwrap(), "Removed", "Removed");
    check_removal(|state| fs::remove_file(state.join(FILE)).unwrap(), "Removed", "Removed");
    check_removal(|state| fs::rename(state, state.with_extension("old")).unwrap(), "Removed", "Removed");
    // A read is not noted.
    check_removal(|state| fs::remove_dir_all(state.join("inflight")).unwrap(), "goes on", "Intents");
    let begun_anew = |state: &Path| {
        fs::remove_dir_all(state).unwrap();
        write(&AuditLog::at(state, fixed), [7]);
    };
    check_removal(begun_anew, "Removed", "Removed");
}

#[test]
fn an_intent_log_that_was_removed_is_begun_anew() {
    let dir = tempfile::tempdir().unwrap();
    let audit_log = AuditLog::at(dir.path(), fixed);
    let open = before_run(&audit_log, &record("1").opening).unwrap();
    fs::remove_dir_all(dir.path().join("inflight")).unwrap();
    before_run(&audit_log, &record("2").opening).map(drop).unwrap_err();
    audit_log.flush().unwrap();
    let mark = before_run(&audit_log, &record("3").opening).unwrap();
    let intents = fs::read_dir(dir.path().join("inflight")).unwrap().next().unwrap().unwrap().path();
    let noted = fs::read_to_string(&intents).unwrap();
    let is_noted = |id: &str| noted.contains(&format!(r#""call_id":"{id}""#));
    assert_eq!(["1", "2", "3"].map(is_noted), [true, false, true], "{noted}");
    audit_log.close(record("1"), None, Some(open));
    audit_log.close(record("3"), None, Some(mark));
    audit_log.flush().unwrap();
    assert_eq!(calls(dir.path()), ["1", "3"]);
}

#[test]
fn a_book_that_is_put_back_opens_again_and_lost_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let (path, away) = (dir.path().join(FILE), dir.path().join("away"));
    let audit_log = AuditLog::at(dir.path(), fixed);
    write(&audit_log, [1]);
    fs::rename(&path, &away).unwrap();
    audit_log.close(record("2"), None, None);
    audit_log.flush().unwrap_err();
    fs::rename(&away, &path).unwrap();
    audit_log.flush().unwrap();
    write(&audit_log, [3]);
    assert_eq!(calls(dir.path()), ["1", "2", "3"]);
}

#[test]
fn calls_are_let_in_again_without_anybody_asking_for_a_flush() {
    let dir = tempfile::tempdir().unwrap();
    let (path, away) = (dir.path().join(FILE), dir.path().join("away"));
    let audit_log = AuditLog::at(dir.path(), fixed);
    write(&audit_log, [1]);
    fs::rename(&path, &away).unwrap();
    audit_log.flush().unwrap_err();
    audit_log.ready().unwrap_err();
    fs::rename(&away, &path).unwrap();
    let deadline = Instant::now() + Duration::from_secs(60);
    while audit_log.ready().is_err() {
        assert!(Instant::now() < deadline, "the writer does not look again");
        thread::yield_now();
    }
}

#[test]
fn the_end_of_another_file_is_not_continued() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join(FILE), "not ours\n".repeat(200_000)).unwrap();
    assert!(matches!(AuditLog::at(dir.path(), fixed).ready(), Err(AuditError::Damaged)));
}

#[test]
fn a_missing_end_is_found_by_the_noted_head_and_never_hidden() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(FILE);
    let audit_log = AuditLog::at(dir.path(), fixed);
    write(&audit_log, [1, 2, 3]);
    audit_log.sign_end().unwrap();
    let keys = [PublicKey::of_folder(dir.path()).unwrap().unwrap()];
    let noted = noted_head(dir.path(), &keys).unwrap();
    let trust = Trust { noted, ..Trust::default() };
    assert_eq!(noted, Some(verify(dir.path(), &trust).unwrap().head));
    drop(audit_log);

    let text = fs::read_to_string(&path).unwrap();
    let first_two = text.split_inclusive('\n').take(2).collect::<String>();
    fs::write(&path, &first_two).unwrap();
    verify(dir.path(), &Trust::default()).unwrap();
    let check = |line, why| match verify(dir.path(), &trust) {
        Err(VerifyError::Broken { segment, line: at, seq, why: because }) => {
            assert_eq!((&*segment, at, seq, because), (FILE, line, line, why));
        }
        other => panic!("{other:?}"),
    };
    // Three calls and the checkpoint at the end.
    check(3, Why::EndMissing(4));

    let audit_log = AuditLog::at(dir.path(), fixed);
    audit_log.ready().unwrap();
    audit_log.sign_end().unwrap();
    assert!(
        noted_head(dir.path(), &keys).unwrap().is_some_and(|head| head.seq == 4),
        "the line that tells of it, and the end"
    );
    let loss = Loss { seq: 3, kept: 4, acknowledged: None, because: None };
    let lost = verify(dir.path(), &Trust::default()).unwrap_err();
    assert!(matches!(lost, VerifyError::Broken { why: Why::Lost(told), .. } if told == loss));
    check(4, Why::NotAsKept);

    drop(audit_log);
    fs::remove_file(&path).unwrap();
    check(1, Why::EndMissing(4));
}

#[test]
fn a_line_from_somebodys_hand_is_not_shown_and_is_no_crash() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(FILE);
    write(&AuditLog::at(dir.path(), fixed), [1, 2, 3]);
    let whole = fs::read_to_string(&path).unwrap();
    let (first, rest) = whole.split_at(whole.find('\n').unwrap() + 1);
    let body = &first[..first.rfind(",\"hash\"").unwrap()];
    for forged in [format!("{body}}}"), format!("{body},\"hash\":\"0123\"}}")] {
        fs::write(&path, [first, &forged, "\n", rest].concat()).unwrap();
        assert_eq!(calls(dir.path()), ["1", "2", "3"], "{forged}");
        let told = verify(dir.path(), &Trust::default()).map_err(|error| error.to_string());
        let expected = "line 2 of audit.jsonl, record 2: it was changed: its hash does not match";
        assert_eq!(told, Err(expected.to_owned()));
    }
    fs::write(&path, [first, &first[..50], "\n", rest].concat()).unwrap();
    assert_eq!(calls(dir.path()), ["1", "2", "3"]);
    assert_eq!(verify(dir.path(), &Trust::default()).unwrap().torn_lines, 1);
}

#[test]
fn no_argument_value_is_in_any_file() {
    let dir = tempfile::tempdir().unwrap();
    let audit_log = AuditLog::at(dir.path(), fixed);
    let _open = before_run(&audit_log, &record("open").opening).unwrap();
    write(&audit_log, [1]);
    audit_log.sign_end().unwrap();
    let folders = [dir.path().to_owned(), dir.path().join("inflight")];
    for entry in folders.iter().flat_map(|folder| fs::read_dir(folder).unwrap()) {
        let path = entry.unwrap().path();
        if path.is_file() {
            let bytes = fs::read(&path).unwrap();
            assert!(!bytes.windows(7).any(|window| window == b"planted"), "{path:?}");
        }
    }
}

#[test]
fn tail_shows_the_last_lines_oldest_first() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(FILE);
    assert_eq!(tail(&path, 3).unwrap(), Vec::<String>::new());
    write(&AuditLog::at(dir.path(), fixed), 0..500);
    let lines: Vec<String> = fs::read_to_string(&path).unwrap().lines().map(str::to_owned).collect();
    assert!(fs::metadata(&path).unwrap().len() > 128 * 1024, "more than one window");
    for count in [0, 1, 2, 100, 300, 499, 500, 501] {
        assert_eq!(tail(&path, count).unwrap(), lines[500_usize.saturating_sub(count)..], "{count}");
    }
}

#[test]
fn an_event_stands_among_the_calls_without_what_is_secret() {
    let dir = tempfile::tempdir().unwrap();
    let redactor = redact::Redactor::new(&redact::Config::default());
    redactor.know("store", vec![redact::Known { name: "PLANTED".into(), value: "planted-value".into() }]);
    let audit_log = AuditLog::with(dir.path(), fixed, audit::Config::default(), redactor);
    let note = |host: &str| {
        let reached = Reached {
            host: host.into(),
            approval: None,
            blocked: Some("no rule".into()),
            connections: 1,
            sent_bytes: 0,
            received_bytes: 0,
        };
        let what = What::ServerReached { upstream: "git".into(), hosts: [reached] };
        audit_log.note(Event { opened_at_ms: fixed(), what }).unwrap();
    };
    note("a.test:443");
    audit_log.close(record("1"), None, None);
    note("planted-value.test:443");
    audit_log.flush().unwrap();
    let lines = tail(dir.path(), 9).unwrap();
    let hosts: Vec<bool> = lines.iter().map(|line| line.contains(r#"[{"host":"a.test:443","#)).collect();
    assert_eq!(hosts, [true, false, false]);
    assert!(lines[2].contains("REDACTED") && !lines[2].contains("planted"), "{lines:?}");
    let found = verify(dir.path(), &Trust::default()).unwrap();
    assert_eq!((found.records, found.first), (3, 1));
}
