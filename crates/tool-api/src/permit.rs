//! The proof that one call was admitted, and the name of that call.

use std::fmt;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// Names one call in logs, records and errors. Unique across processes; says nothing about the caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct CallId {
    run: u64,
    number: u64,
}

/// Tells the runs of the program apart.
static RUN: LazyLock<u64> = LazyLock::new(|| {
    use std::hash::{BuildHasher, RandomState};
    // The hasher is keyed with the system's randomness; the id must be unique, not secret.
    RandomState::new().hash_one(std::process::id())
});

static CALLS: AtomicU64 = AtomicU64::new(1);

impl CallId {
    /// The next call's name.
    pub fn next() -> CallId {
        CallId { run: *RUN, number: CALLS.fetch_add(1, Ordering::Relaxed) }
    }
}

impl fmt::Display for CallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}-{}", self.run, self.number)
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
