//! The proof that one call was admitted, and the name of that call.

use std::fmt;
use std::io::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};

/// Names one call in logs, records and errors. Unique across processes; says nothing about the caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct CallId {
    number: u64,
}

/// What every name of this run of the program begins with, as it is written: it tells the runs apart.
static RUN: LazyLock<String> = LazyLock::new(|| {
    use std::hash::{BuildHasher, RandomState};
    // The hasher is keyed with the system's randomness; the id must be unique, not secret.
    format!("{:016x}-", RandomState::new().hash_one(std::process::id()))
});

/// The longest name in bytes: 16 digits of the run, a hyphen, and the longest number.
const TEXT_BYTES_MAX: usize = 16 + 1 + 20;

static CALLS: AtomicU64 = AtomicU64::new(1);

impl CallId {
    /// The next call's name.
    pub fn next() -> CallId {
        CallId { number: CALLS.fetch_add(1, Ordering::Relaxed) }
    }

    /// The name as a text to be kept. Every call has one made, so it is put together where it needs no memory.
    pub fn shared(self) -> Arc<str> {
        let mut text = [0; TEXT_BYTES_MAX];
        let mut rest = &mut text[..];
        write!(rest, "{self}").expect("there is room for the longest");
        let length = TEXT_BYTES_MAX - rest.len();
        str::from_utf8(&text[..length]).expect("digits and a hyphen are ASCII").into()
    }
}

impl fmt::Display for CallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&RUN)?;
        fmt::Display::fmt(&self.number, f)
    }
}

/// A tool runs only with one of these. It is issued on one line of the workspace; a lint refuses any other.
#[derive(Debug)]
pub struct Permit {
    call: CallId,
}

impl Permit {
    /// Admits one call. Only the gate may say this.
    pub fn issue(call: CallId) -> Permit {
        Permit { call }
    }

    /// The call that was admitted.
    pub fn call(&self) -> CallId {
        self.call
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unlike_each_other_and_written_one_way() {
        let [first, second] = [CallId::next(), CallId::next()];
        assert_ne!(first, second);
        for id in [first, second, CallId { number: 0 }, CallId { number: u64::MAX }] {
            let text = id.to_string();
            assert_eq!(*id.shared(), *text);
            let (run, number) = text.split_once('-').expect("two parts");
            assert_eq!((run.len(), number), (16, id.number.to_string().as_str()), "{text}");
        }
    }
}
