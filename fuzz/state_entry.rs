//! What is done with one input of the target `request_state`. Apart from `entries.rs`, since it needs the gate,
//! which `wire` does not know.

use std::sync::{Arc, LazyLock};

use gate::{Binding, Sealer, Tokens};
use serde_json::json;
use store::{SqliteStore, wait};

/// Where it is kept which states were opened.
static OPENED: LazyLock<(tempfile::TempDir, Arc<SqliteStore>)> = LazyLock::new(|| {
    let folder = tempfile::tempdir().expect("a folder");
    let store = Arc::new(SqliteStore::at(folder.path()));
    (folder, store)
});

/// A state and a task's token that nobody here has given out: neither opens. The same bytes as the state of a
/// tool come back as they were, once.
pub(crate) fn request_state(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let sealer = Sealer::new(OPENED.1.clone(), || 0);
    let binding = Binding::new("caller", "target", &json!({ "a": 1 }));
    assert!(wait(sealer.open(&binding, text)).is_err());
    assert!(wait(Tokens::new().open("caller", text)).is_none());
    let sealed = wait(sealer.seal(&binding, text)).expect("the system gives randomness");
    let other = Binding::new("caller", "target", &json!({ "a": text }));
    assert!(wait(sealer.open(&other, &sealed)).is_err());
    assert_eq!(wait(sealer.open(&binding, &sealed)).as_deref(), Ok(text));
    assert!(wait(sealer.open(&binding, &sealed)).is_err());
}
