//! Repeats the inputs that are kept for the fuzz target of request states.
#![expect(clippy::disallowed_methods, reason = "the corpus lies in files")]

use std::path::Path;

#[path = "../../../fuzz/state_entry.rs"]
mod state_entry;

#[test]
fn every_kept_input_is_survived() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/request_state");
    let mut count = 0;
    for file in std::fs::read_dir(corpus).expect("the corpus is kept") {
        state_entry::request_state(&std::fs::read(file.expect("a file").path()).expect("readable"));
        count += 1;
    }
    assert!(count > 0, "the corpus is empty");
}
