//! What all transports share: the gate behind them, the lists they answer, the end.

use crate::lists::Lists;
use crate::partial_answers::Partial;
use arc_swap::ArcSwapOption;
use gate::{Cancel, Gate};
use std::sync::Arc;

/// Our own words for models, told to every client that connects from now on. Copies share them.
pub type Instructions = Arc<ArcSwapOption<String>>;

/// What all transports share.
pub struct Server {
    pub(crate) gate: Arc<Gate>,
    pub(crate) lists: Arc<Lists>,
    pub(crate) instructions: Instructions,
    /// Answers to jobs that wait for more of them.
    pub(crate) partial: Arc<Partial>,
    /// Cancelled once the transports close: subscriptions then end in peace, with their final result.
    pub(crate) stopping: Cancel,
}

impl Server {
    /// A server over one gate. `instructions` are told to every client that connects.
    pub fn new(gate: Arc<Gate>, instructions: Instructions) -> Arc<Server> {
        let (lists, partial) = (Arc::default(), Arc::default());
        Arc::new(Server { gate, lists, instructions, partial, stopping: Cancel::new() })
    }

    /// The same for other clients, who are told that it ends once `stopping` is cancelled, and not before.
    pub(crate) fn apart(&self, stopping: Cancel) -> Arc<Server> {
        let (gate, lists, partial) = (self.gate.clone(), self.lists.clone(), self.partial.clone());
        Arc::new(Server { gate, lists, instructions: self.instructions.clone(), partial, stopping })
    }

    /// Ends what stands: subscriptions get their final result, and whoever serves this lets go of it.
    pub fn stop(&self) {
        self.stopping.cancel();
    }

    /// Whether calls can become jobs.
    pub(crate) fn has_jobs(&self) -> bool {
        self.gate.jobs().is_some()
    }

    /// The gate behind the transports.
    pub fn gate(&self) -> &Arc<Gate> {
        &self.gate
    }
}
