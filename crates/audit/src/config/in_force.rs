//! `InForce`: the settings that an audit log goes by just now. Another section may take their place while calls run.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::{Arguments, Config};

/// What is asked with every call is kept apart, so that no call takes a lock for it.
pub(crate) struct InForce {
    keeps_hashes: AtomicBool,
    is_durable: AtomicBool,
    whole: Mutex<Config>,
    /// True until somebody has looked what is to be removed by these settings.
    is_new: AtomicBool,
}

impl InForce {
    pub(crate) fn new(config: Config) -> InForce {
        InForce {
            keeps_hashes: AtomicBool::new(config.arguments == Arguments::Hash),
            is_durable: AtomicBool::new(config.durable),
            whole: Mutex::new(config),
            is_new: AtomicBool::new(false),
        }
    }

    /// Goes by another section from now on, which has been checked.
    pub(crate) fn set(&self, config: &Config) {
        let mut whole = self.whole();
        if *whole != *config {
            self.keeps_hashes.store(config.arguments == Arguments::Hash, Ordering::Relaxed);
            self.is_durable.store(config.durable, Ordering::Relaxed);
            whole.clone_from(config);
            self.is_new.store(true, Ordering::Relaxed);
        }
    }

    /// How arguments are put down.
    pub(crate) fn arguments(&self) -> Arguments {
        if self.keeps_hashes.load(Ordering::Relaxed) { Arguments::Hash } else { Arguments::Redacted }
    }

    /// Whether a call that changes something waits for the disk.
    pub(crate) fn is_durable(&self) -> bool {
        self.is_durable.load(Ordering::Relaxed)
    }

    /// All of them.
    pub(crate) fn config(&self) -> Config {
        self.whole().clone()
    }

    /// True once after they have changed: more may have to be removed than before.
    pub(crate) fn is_new(&self) -> bool {
        self.is_new.load(Ordering::Relaxed) && self.is_new.swap(false, Ordering::Relaxed)
    }

    fn whole(&self) -> MutexGuard<'_, Config> {
        // A section is put in place whole.
        self.whole.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
