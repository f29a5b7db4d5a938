//! What a record costs in allocations, on the thread that answers.

#[path = "samples/record.rs"]
mod samples;

use audit::{Book, Config, Plain};

#[test]
fn closing_a_call_allocates_its_arguments_and_nothing_else() {
    const CALLS: usize = 1_000;
    let dir = tempfile::tempdir().unwrap();
    let redactor = redact::Redactor::new(&redact::Config::default());
    let book = Book::with(dir.path(), samples::fixed, Config::default(), redactor);
    book.ready().unwrap();
    let record = samples::record("x");
    let counted = allocation_counter::measure(|| {
        for _ in 0..CALLS {
            book.ready().unwrap();
            book.close(record.clone(), Plain::of(b"{}"), None);
        }
    });
    // One for the arguments; the queue grows a few times on the way to its usual size.
    let most = CALLS as u64 + 40;
    assert!((CALLS as u64..=most).contains(&counted.count_total), "{counted:?}");
}
