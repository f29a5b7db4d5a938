//! The settings that an audit log goes by just now. Another section may take their place while calls run.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arc_swap::ArcSwap;

use crate::config::{Arguments, Config, SyncPolicy};

/// Some are asked with every call, which takes no lock for it.
pub(crate) struct Settings {
    config: ArcSwap<Config>,
    /// True until somebody has looked what is to be removed by these settings.
    is_new: AtomicBool,
}

impl Settings {
    pub(crate) fn new(config: Config) -> Settings {
        Settings { config: ArcSwap::from_pointee(config), is_new: AtomicBool::new(false) }
    }

    /// Goes by another section from now on, which has been checked.
    pub(crate) fn set(&self, config: &Config) {
        if **self.config.load() != *config {
            self.config.store(Arc::new(config.clone()));
            self.is_new.store(true, Ordering::Relaxed);
        }
    }

    pub(crate) fn arguments(&self) -> Arguments {
        self.config.load().arguments
    }

    pub(crate) fn sync(&self) -> SyncPolicy {
        self.config.load().sync
    }

    pub(crate) fn config(&self) -> Config {
        Config::clone(&self.config.load())
    }

    /// True once after they have changed: more may have to be removed than before.
    pub(crate) fn take_is_new(&self) -> bool {
        self.is_new.load(Ordering::Relaxed) && self.is_new.swap(false, Ordering::Relaxed)
    }
}
