//! `Pinning`: what it takes to hold definitions back.

use std::sync::Arc;

use crate::neighbours::Neighbours;
use crate::pin_store::PinStore;

/// What it takes to hold definitions back.
#[derive(Clone)]
pub struct Pinning {
    /// Keeps what was accepted.
    pub store: PinStore,
    /// The names that others offer tools under.
    pub neighbours: Arc<Neighbours>,
    /// Knows what must not stand in a name.
    pub conceal: Conceal,
}

/// A name or URI without the secrets that it holds; nothing if it holds none.
pub type Conceal = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;
