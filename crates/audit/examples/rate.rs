//! How fast the audit log is, and what a durable note costs: `cargo run --release -p audit --example rate`. Prints figures
//! for one thread that answers calls, with the disk that holds the folder for temporary files.

#![expect(clippy::print_stdout, reason = "it prints what it measured")]
#![expect(clippy::disallowed_methods, reason = "it measures the bare disk beside the audit log")]

use std::borrow::Cow;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use audit::{AuditLog, Config, Decided, Hash, Opening, Outcome, Plain, Record, SyncPolicy};

/// How long each part runs.
const LASTS: Duration = Duration::from_secs(5);

/// Records that may wait before the loop lets the writer catch up: what a gate would refuse beyond.
const WAITING_MAX: u64 = 50_000;

/// Notes for each way of noting.
const NOTES: u32 = 2_000;

fn clock() -> i64 {
    1_700_000_000_000
}

const ARGUMENTS: &[u8] = br#"{"path":"src/main.rs","offset":0,"limit":200,"encoding":"utf-8"}"#;

fn record(id: &Arc<str>) -> Record {
    let opening = Opening {
        call_id: id.clone(),
        opened_at_ms: clock(),
        caller: Arc::from("local"),
        caller_kind: Cow::Borrowed("local_user"),
        caller_roles: None,
        caller_scopes: None,
        via: Cow::Borrowed("stdio"),
        tool: id.clone(),
        upstream: None,
        effect: Some(Cow::Borrowed("reads")),
        arguments_sha256: Some(Hash::of(ARGUMENTS)),
        arguments_bytes: ARGUMENTS.len() as u64,
        meta_sha256: None,
        request_id: None,
        claims: None,
        arguments: None,
        definition_sha256: Some(Hash::of(b"definition")),
        dry_run: None,
        trace_id: None,
    };
    Record {
        verdicts: Cow::Borrowed(&[
            ("scope", "pass"),
            ("policy", "pass"),
            ("input_schema", "pass"),
            ("rate", "pass"),
        ]),
        decisions: vec![Decided { by: "policy", rule: id.clone(), effect: Cow::Borrowed("allow") }],
        outcome: Outcome::Result,
        duration_us: 12,
        result_bytes: 340,
        ..Record::from(opening)
    }
}

fn sustained(dir: &Path) {
    let redactor = redact::Redactor::new(&redact::Config::default());
    let audit_log = AuditLog::with(dir, clock, Config::default(), redactor);
    let id: Arc<str> = Arc::from("workspace_read");
    let (start, mut records, mut closing) = (Instant::now(), 0_u64, Duration::ZERO);
    while start.elapsed() < LASTS {
        let since = Instant::now();
        for _ in 0..WAITING_MAX / 10 {
            audit_log.ready().expect("the audit log is open");
            audit_log.close(record(&id), Plain::of(ARGUMENTS), None);
        }
        closing += since.elapsed();
        records += WAITING_MAX / 10;
        if records.is_multiple_of(WAITING_MAX) {
            audit_log.flush().expect("the disk takes them");
        }
    }
    audit_log.flush().expect("the disk takes them");
    let seconds = start.elapsed().as_secs_f64();
    println!("{:.0} records a second over {seconds:.1} s", records as f64 / seconds);
    println!(
        "{:.2} us for making and closing one, on the thread that answers",
        closing.as_secs_f64() * 1e6 / records as f64
    );
}

fn noted(dir: &Path, sync: SyncPolicy, at_once: usize) {
    let config = Config { sync, ..Config::default() };
    let audit_log = AuditLog::with(dir, clock, config, redact::Redactor::new(&redact::Config::default()));
    let id: Arc<str> = Arc::from("workspace_write");
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    let mut took: Vec<Duration> = Vec::new();
    runtime.block_on(async {
        for _ in 0..NOTES / at_once as u32 {
            let since = Instant::now();
            let records: Vec<Record> = (0..at_once).map(|_| record(&id)).collect();
            let notes = records.iter().map(|record| audit_log.before_run(&record.opening));
            let notes: Vec<_> = futures_util::future::join_all(notes).await;
            took.push(since.elapsed() / at_once as u32);
            for (record, note) in records.into_iter().zip(notes) {
                audit_log.close(record, Plain::of(ARGUMENTS), Some(note.expect("the disk takes it")));
            }
        }
    });
    took.sort_unstable();
    let us = |nth: usize| took[nth].as_secs_f64() * 1e6;
    println!(
        "{:.1} us p50, {:.1} us p99 for each note before a call, sync: {sync:?}, {at_once} at once",
        us(took.len() / 2),
        us(took.len() * 99 / 100)
    );
}

/// What the disk takes for the same without an audit log.
fn bare(dir: &Path) {
    let mut file = std::fs::File::options().append(true).create(true).open(dir.join("bare")).expect("a file");
    let mut took: Vec<Duration> = (0..NOTES)
        .map(|_| {
            let since = Instant::now();
            file.write_all(&[b'x'; 500]).and_then(|()| file.sync_data()).expect("the disk takes it");
            since.elapsed()
        })
        .collect();
    took.sort_unstable();
    let us = |nth: usize| took[nth].as_secs_f64() * 1e6;
    println!(
        "{:.1} us p50, {:.1} us p99 for a bare write and fdatasync",
        us(took.len() / 2),
        us(took.len() * 99 / 100)
    );
}

fn main() {
    let dir = tempfile::tempdir().expect("a folder for temporary files");
    sustained(dir.path());
    bare(dir.path());
    for (sync, at_once) in [(SyncPolicy::Effects, 1), (SyncPolicy::Effects, 16), (SyncPolicy::Never, 1)] {
        let dir = tempfile::tempdir().expect("a folder for temporary files");
        noted(dir.path(), sync, at_once);
    }
}
