//! What all transports share: the gate behind them, the lists they answer, the end.

use crate::{Instructions, lists::Lists};
use gate::{Cancel, Gate};
use std::sync::Arc;

/// What all doors share.
pub struct Server {
    pub(crate) gate: Arc<Gate>,
    pub(crate) lists: Lists,
    pub(crate) instructions: Instructions,
    pub(crate) stopping: Cancel,
}

impl Server {
    /// A server over one gate. `instructions` are told to every client that connects.
    pub fn new(gate: Arc<Gate>, instructions: Instructions) -> Arc<Server> {
        Arc::new(Server { gate, lists: Lists::default(), instructions, stopping: Cancel::new() })
    }

    /// The gate behind the doors.
    pub fn gate(&self) -> &Arc<Gate> {
        &self.gate
    }

    /// Says that the doors are closing: subscriptions end in peace, with their final result.
    pub(crate) fn stop(&self) {
        self.stopping.cancel();
    }

    /// Set once the doors are closing.
    pub(crate) fn stopping(&self) -> &Cancel {
        &self.stopping
    }
}
