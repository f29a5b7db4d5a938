//! Several processes on one audit log, and one that is killed. Each child is this test program again.
#![expect(clippy::unwrap_used, reason = "a helper of a test stops the test")]
#![expect(clippy::disallowed_methods, reason = "these tests start and kill processes of their own")]

#[path = "samples/record.rs"]
mod samples;

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::{env, fs, thread};

use audit::{AuditLog, IntentId, Record, Trust, tail, verify};
use samples::fixed;

/// Where the child finds its orders.
const FOLDER: &str = "AUDIT_TEST_FOLDER";
const ORDERS: &str = "AUDIT_TEST_ORDERS";

/// Calls of one appending child.
const EACH: u32 = 400;

/// A call of another server's tool.
fn record(call_id: &str) -> Record {
    let mut record = samples::record(call_id);
    let opening = &mut record.opening;
    (opening.tool, opening.upstream) = (Arc::from("git_push"), Some(Arc::from("git")));
    opening.effect = Some("destroys".into());
    record
}

fn before_run(audit_log: &AuditLog, call_id: &str) -> IntentId {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(audit_log.before_run(&record(call_id).opening)).unwrap()
}

fn child(dir: &Path, orders: &str) -> Child {
    Command::new(env::current_exe().unwrap())
        .args(["--exact", "the_child", "--ignored", "--nocapture"])
        .env(FOLDER, dir)
        .env(ORDERS, orders)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

/// How each call ended, as the audit log has it.
fn outcomes(dir: &Path) -> BTreeMap<String, String> {
    let mut outcomes = BTreeMap::new();
    for line in tail(dir, usize::MAX).unwrap() {
        let record: serde_json::Value = serde_json::from_str(&line).unwrap();
        let text = |name: &str| record[name].as_str().unwrap().to_owned();
        let earlier = outcomes.insert(text("call_id"), text("outcome"));
        assert_eq!(earlier, None, "noted twice: {line}");
    }
    outcomes
}

#[test]
#[ignore = "the child's part; it does nothing without orders"]
fn the_child() {
    let (Some(dir), Ok(orders)) = (env::var_os(FOLDER), env::var(ORDERS)) else { return };
    let audit_log = AuditLog::at(Path::new(&dir), fixed);
    match orders.as_str() {
        "die" => {
            let marks = ["closed", "open 1", "open 2"].map(|id| before_run(&audit_log, id));
            let [closed, _open_1, _open_2] = marks;
            audit_log.close(record("closed"), None, Some(closed));
            audit_log.flush().unwrap();
            println!("\nrunning still");
            std::io::stdout().flush().unwrap();
            loop {
                thread::park();
            }
        }
        name => {
            for nth in 0..EACH {
                let id = format!("{name} {nth}");
                let mark = (nth % 5 == 0).then(|| before_run(&audit_log, &id));
                audit_log.close(record(&id), None, mark);
                if nth % 20 == 0 {
                    audit_log.flush().unwrap();
                }
            }
            audit_log.flush().unwrap();
        }
    }
}

/// A process that dies while calls run, as the machine's owner or its memory limit would have it.
fn leave_a_dead_process(dir: &Path) {
    let mut child = child(dir, "die");
    let said = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    assert!(said.into_iter().any(|line| line == "running still"));
    child.kill().unwrap();
    child.wait().unwrap();
}

fn expected_after_recovery() -> BTreeMap<String, String> {
    [("closed", "result"), ("open 1", "unknown_after_crash"), ("open 2", "unknown_after_crash")]
        .map(|(id, outcome)| (id.to_owned(), outcome.to_owned()))
        .into()
}

fn intent_logs(dir: &Path) -> usize {
    fs::read_dir(dir.join("inflight")).unwrap().count()
}

#[test]
fn processes_interleave_without_breaking_the_chain() {
    let dir = tempfile::tempdir().unwrap();
    let children: Vec<Child> = ["a", "b", "c"].map(|name| child(dir.path(), name)).into();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    assert_eq!(outcomes(dir.path()).len() as u32, 3 * EACH);
    let verified = verify(dir.path(), &Trust::default()).unwrap();
    assert_eq!((verified.records, verified.torn_lines), (u64::from(3 * EACH), 0));
    AuditLog::at(dir.path(), fixed).recover().unwrap();
    assert_eq!((intent_logs(dir.path()), outcomes(dir.path()).len() as u32), (0, 3 * EACH));
}

#[test]
fn calls_that_ran_when_their_process_was_killed_become_records() {
    let dir = tempfile::tempdir().unwrap();
    leave_a_dead_process(dir.path());
    assert_eq!((intent_logs(dir.path()), outcomes(dir.path()).len()), (1, 1));
    let audit_log = AuditLog::at(dir.path(), fixed);
    assert_eq!(audit_log.recover().unwrap(), 2);
    assert_eq!(audit_log.recover().unwrap(), 0);
    assert_eq!(outcomes(dir.path()), expected_after_recovery());
    assert_eq!(intent_logs(dir.path()), 0);
    let line = tail(dir.path(), 1).unwrap().remove(0);
    assert!(line.contains(r#""tool":"git_push","upstream":"git","effect":"destroys""#), "{line}");
    assert_eq!(verify(dir.path(), &Trust::default()).unwrap().records, 3);
}

#[test]
fn the_first_use_of_a_book_recovers_by_itself() {
    let dir = tempfile::tempdir().unwrap();
    leave_a_dead_process(dir.path());
    let audit_log = AuditLog::at(dir.path(), fixed);
    audit_log.ready().unwrap();
    audit_log.flush().unwrap();
    assert_eq!(outcomes(dir.path()), expected_after_recovery());
}

/// The intent log that a dead process left.
fn intent_log(dir: &Path) -> PathBuf {
    fs::read_dir(dir.join("inflight")).unwrap().next().unwrap().unwrap().path()
}

/// The text of each slot that was used, behind its length.
fn slots(intents: &[u8]) -> Vec<String> {
    let used = intents.chunks(4096).filter(|slot| slot[0] != 0);
    used.map(|slot| str::from_utf8(slot).unwrap()[8..].trim_end_matches('\0').to_owned()).collect()
}

#[test]
fn a_record_that_reached_the_book_is_not_written_again() {
    let dir = tempfile::tempdir().unwrap();
    leave_a_dead_process(dir.path());
    // As if the process had died between writing the record and freeing the slot, and in the middle of writing another.
    let path = intent_log(dir.path());
    let mut intents = fs::read(&path).unwrap();
    let closed = slots(&intents).iter().position(|slot| slot.contains("closed")).unwrap();
    let length = slots(&intents)[closed].len() - " ".len() * 2 - 64;
    intents[closed * 4096..][..8].copy_from_slice(format!("{length:08x}").as_bytes());
    let torn = intents[closed * 4096..][..200].to_vec();
    intents[8 * 4096..][..200].copy_from_slice(&torn);
    fs::write(&path, intents).unwrap();
    assert_eq!(AuditLog::at(dir.path(), fixed).recover().unwrap(), 2);
    assert_eq!(outcomes(dir.path()), expected_after_recovery());
}
