//! Upstreams that are draining: whether calls keep them. When they are ended is for whoever keeps them to say.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::connection::Connection;
use crate::upstream::Upstream;

impl Upstream {
    /// Takes the place of `before`: what clients watch there is watched on if it is the same server. A call that waits
    /// there for its client has to be made anew.
    pub fn follow(&self, before: &Arc<Upstream>) {
        if self.fingerprint() == before.fingerprint() {
            self.subscribed.take_over(&before.subscribed);
        }
        self.pins.take_over(&before.pins);
    }

    /// True if calls are under way, or wait for the start of the server. Those that wait for their clients do not
    /// count.
    pub fn has_calls(&self) -> bool {
        let is_busy = |open: &Arc<Connection>| open.exchange().idle_after().is_none() && !open.suspends_any();
        self.calls.load(Ordering::Relaxed) > 0 || self.connections().iter().any(is_busy)
    }

    /// The connection on which a call waits that is named so.
    pub(crate) fn suspended_at(&self, state: &str) -> Option<Arc<Connection>> {
        let mut open = self.connections().into_iter();
        open.find(|open| !open.exchange().closed().is_cancelled() && open.has_suspended(state))
    }

    fn connections(&self) -> Vec<Arc<Connection>> {
        self.live.load_full().into_iter().chain(self.pool.open()).collect()
    }
}
