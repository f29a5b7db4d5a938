//! The settings that an audit log goes by just now. Another section may take their place while calls run.

use std::sync::{
    Mutex, PoisonError,
    atomic::{AtomicBool, AtomicU8, Ordering},
};

use crate::config::{Arguments, Config, SyncPolicy};

/// By the numbers that stand for them in [`Settings::sync`].
const SYNC: [SyncPolicy; 3] = [SyncPolicy::Effects, SyncPolicy::Destroys, SyncPolicy::Never];

/// What is asked with every call is kept apart, so that no call takes a lock for it.
pub(crate) struct Settings {
    keeps_hashes: AtomicBool,
    sync: AtomicU8,
    config: Mutex<Config>,
    /// True until somebody has looked what is to be removed by these settings.
    is_new: AtomicBool,
}

impl Settings {
    pub(crate) fn new(config: Config) -> Settings {
        Settings {
            keeps_hashes: AtomicBool::new(config.arguments == Arguments::Hash),
            sync: AtomicU8::new(config.sync as u8),
            config: Mutex::new(config),
            is_new: AtomicBool::new(false),
        }
    }

    /// Goes by another section from now on, which has been checked.
    pub(crate) fn set(&self, config: &Config) {
        let mut current = self.config.lock().unwrap_or_else(PoisonError::into_inner);
        if *current != *config {
            self.keeps_hashes.store(config.arguments == Arguments::Hash, Ordering::Relaxed);
            self.sync.store(config.sync as u8, Ordering::Relaxed);
            current.clone_from(config);
            self.is_new.store(true, Ordering::Relaxed);
        }
    }

    pub(crate) fn arguments(&self) -> Arguments {
        if self.keeps_hashes.load(Ordering::Relaxed) { Arguments::Hash } else { Arguments::Redacted }
    }

    pub(crate) fn sync(&self) -> SyncPolicy {
        SYNC[usize::from(self.sync.load(Ordering::Relaxed))]
    }

    pub(crate) fn config(&self) -> Config {
        self.config.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// True once after they have changed: more may have to be removed than before.
    pub(crate) fn take_is_new(&self) -> bool {
        self.is_new.load(Ordering::Relaxed) && self.is_new.swap(false, Ordering::Relaxed)
    }
}
