//! Telling how an upstream is doing.

use std::sync::MutexGuard;
use std::sync::atomic::Ordering;

use tokio::sync::broadcast;
use tokio::time::Instant;

use crate::clock::now_ms;
use crate::offer::State;
use crate::settings::Endpoint;
use crate::status::{Report, Status, is_stale};
use crate::upstream::Upstream;

impl Upstream {
    /// Every change of its state from now on, one by one. Who takes them slower than they come misses the oldest.
    pub fn statuses(&self) -> broadcast::Receiver<Status> {
        self.statuses.subscribe()
    }

    /// How many calls wait for their slot.
    pub fn queued(&self) -> usize {
        self.slots.waiting()
    }

    /// How it is doing.
    pub fn status(&self) -> Report {
        let offer = self.offers.borrow().clone();
        let fetched_at_ms = self.fetched_at_ms();
        Report {
            name: self.settings.name.clone(),
            transport: self.transport(),
            tools: offer.tools.len(),
            prompts: offer.features.prompts.len(),
            resources: offer.features.resources.len() + offer.features.templates.len(),
            withheld: offer.withheld.len(),
            held_back: offer.held.iter().filter(|held| held.why.awaits()).count(),
            stale: fetched_at_ms.is_some_and(|fetched| is_stale(&offer, fetched, now_ms())),
            fetched_at_ms,
            restarts: self.connected.load(Ordering::Relaxed).saturating_sub(1),
            processes: self.processes(),
            circuit_open_ms: self
                .breaker
                .open_for(Instant::now())
                .map(|wait| u64::try_from(wait.as_millis()).unwrap_or(u64::MAX)),
            last_error: self.last_error().clone(),
            state: offer.state,
        }
    }

    /// Something is wrong that does not change how it is doing. False if that went wrong last, too.
    pub(crate) fn note_error(&self, error: &str) -> bool {
        let before = self.last_error().replace(error.to_owned());
        before.as_deref() != Some(error)
    }

    fn last_error(&self) -> MutexGuard<'_, Option<String>> {
        self.last_error.lock().expect("nothing panics while it holds the lock")
    }

    fn transport(&self) -> &'static str {
        let is_sse = self.live_connection().is_some_and(|live| live.is_sse());
        if is_sse { "sse" } else { self.settings.endpoint.transport_name() }
    }

    fn processes(&self) -> usize {
        match &self.settings.endpoint {
            Endpoint::Program(_) => usize::from(self.live_connection().is_some()) + self.pool.open().len(),
            Endpoint::Socket(_) | Endpoint::Address { .. } => 0,
        }
    }

    /// Tells the change from `before`, if it is one, and takes note of what went wrong. Called while the offer is
    /// changed, so that changes are told in their order.
    pub(crate) fn tell_status(&self, before: &State, state: &State) {
        if before == state {
            return;
        }
        if let Some(error) = state.error() {
            *self.last_error() = Some(error.to_owned());
        }
        let (name, state) = (self.settings.name.clone(), state.clone());
        // Nobody may be listening just now.
        let _ = self.statuses.send(Status { name, state, at_ms: now_ms() });
    }
}
