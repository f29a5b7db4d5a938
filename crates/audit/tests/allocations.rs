//! What a record costs in allocations, on the thread that answers.

use std::{borrow::Cow, sync::Arc};

use audit::{Book, Config, Opening, Outcome, Plain, Record};

#[test]
fn closing_a_call_allocates_its_arguments_and_nothing_else() {
    const CALLS: usize = 1_000;
    let dir = tempfile::tempdir().unwrap();
    let redactor = redact::Redactor::new(&redact::Config::default());
    let book = Book::with(dir.path(), || 0, Config::default(), redactor);
    book.ready().unwrap();
    let text: Arc<str> = Arc::from("x");
    let record = || Record {
        opening: Opening {
            call_id: text.clone(),
            opened_at_ms: 0,
            caller: text.clone(),
            caller_kind: Cow::Borrowed("local_user"),
            via: Cow::Borrowed("stdio"),
            tool: text.clone(),
            upstream: None,
            effect: Some(Cow::Borrowed("reads")),
            arguments_sha256: None,
            arguments_bytes: 2,
            arguments: None,
            definition_sha256: None,
            trace_id: None,
        },
        verdicts: Cow::Borrowed(&[("scope", "pass")]),
        decisions: Vec::new(),
        approval: None,
        redactions: 0,
        outcome: Outcome::Result,
        code: None,
        duration_us: 1,
        result_bytes: 2,
    };
    let counted = allocation_counter::measure(|| {
        for _ in 0..CALLS {
            book.ready().unwrap();
            book.close(record(), Plain::of(b"{}"), None);
        }
    });
    // One for the arguments; the queue grows a few times on the way to its usual size.
    let most = CALLS as u64 + 40;
    assert!((CALLS as u64..=most).contains(&counted.count_total), "{counted:?}");
}
