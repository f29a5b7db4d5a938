//! Repeats the inputs that are kept for the fuzz targets.
#![expect(clippy::disallowed_methods, reason = "the corpus lies in files")]

use std::path::Path;

#[path = "../../../fuzz/entries.rs"]
mod entries;

#[test]
fn every_kept_input_is_survived() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
    for (target, entry) in entries::ALL {
        let folder = std::fs::read_dir(corpus.join(target)).expect("every target has a corpus");
        let mut count = 0;
        for file in folder {
            entry(&std::fs::read(file.expect("a file").path()).expect("readable"));
            count += 1;
        }
        assert!(count > 0, "the corpus of {target} is empty");
    }
}
