//! What a record costs in allocations, on the thread that answers.

#[path = "samples/record.rs"]
mod samples;

use audit::{AuditLog, Config, Plain};

#[test]
fn closing_a_call_allocates_its_arguments_and_nothing_else() {
    const CALLS: usize = 1_000;
    let dir = tempfile::tempdir().unwrap();
    let redactor = redact::Redactor::new(&redact::Config::default());
    let audit_log = AuditLog::with(dir.path(), samples::fixed, Config::default(), redactor);
    audit_log.ready().unwrap();
    let record = samples::record("x");
    let counted = allocation_counter::measure(|| {
        for _ in 0..CALLS {
            audit_log.ready().unwrap();
            audit_log.close(record.clone(), Plain::of(b"{}"), None);
        }
    });
    // One for the arguments; the queue grows a few times on the way to its usual size.
    let most = CALLS as u64 + 40;
    assert!((CALLS as u64..=most).contains(&counted.count_total), "{counted:?}");
}
