//! What is done with one input of the target `request_state`. Apart from `entries.rs`, since it needs the gate,
//! which `wire` does not know.

use gate::{Binding, Sealer, Tokens};
use serde_json::json;

/// A state and a task's token that nobody here has given out: neither opens. The same bytes as the state of a
/// tool come back as they were, once.
pub(crate) fn request_state(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let sealer = Sealer::new(&[3; 32]);
    let binding = Binding::new("caller", "target", &json!({ "a": 1 }));
    assert!(sealer.open(&binding, text).is_err());
    assert!(Tokens::new(&[3; 32]).open("caller", text).is_none());
    let sealed = sealer.seal(&binding, text).expect("the system gives randomness");
    let other = Binding::new("caller", "target", &json!({ "a": text }));
    assert!(sealer.open(&other, &sealed).is_err());
    assert_eq!(sealer.open(&binding, &sealed).as_deref(), Ok(text));
    assert!(sealer.open(&binding, &sealed).is_err());
}
