//! `Succession`: what an upstream knows of those whose place it takes, and of those that hold it.

use std::sync::atomic::AtomicUsize;
use std::sync::{Mutex, MutexGuard, Weak};

use super::handle::Upstream;

/// What an upstream knows of those whose place it takes, and of those that hold it.
#[derive(Default)]
pub(crate) struct Succession {
    /// Those that have left before it, as long as there is anything of them.
    pub(crate) before: Mutex<Vec<Weak<Upstream>>>,
    /// How many of the references to it are its own.
    pub(crate) own: AtomicUsize,
}

impl Succession {
    pub(crate) fn before(&self) -> MutexGuard<'_, Vec<Weak<Upstream>>> {
        self.before.lock().expect("nothing panics while it holds the lock")
    }
}
