//! What models are told of us when their client connects: our own words, which change when the configuration does.

use std::sync::Arc;

use arc_swap::ArcSwapOption;

/// Our own words for models, for every client that connects from now on. Copies share them.
#[derive(Debug, Clone, Default)]
pub struct Instructions(Arc<ArcSwapOption<String>>);

impl Instructions {
    /// Says this from now on, or nothing.
    pub fn set(&self, text: Option<String>) {
        self.0.store(text.map(Arc::new));
    }

    pub(crate) fn now(&self) -> Option<Arc<String>> {
        self.0.load_full()
    }
}
