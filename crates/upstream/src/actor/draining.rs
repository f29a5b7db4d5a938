//! Upstreams that are draining: whether calls keep them, and how a call that waits for its client finds the
//! one that knows of it. When they are ended is for whoever keeps them to say.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};

use crate::connection::Connection;
use crate::upstream::Upstream;

impl Upstream {
    /// Takes the place of `before`: what clients watch there is watched on if it is the same server, and calls that
    /// wait there for their clients go on there.
    pub fn follow(&self, before: &Arc<Upstream>) {
        if self.fingerprint() == before.fingerprint() {
            self.subscribed.take_over(&before.subscribed);
        }
        self.pins.take_over(&before.pins);
        let mut all = before.predecessors().clone();
        all.push(Arc::downgrade(before));
        all.retain(|one| one.strong_count() > 0);
        *self.predecessors() = all;
    }

    /// True if calls are under way, or wait for the start of the server; those that wait for their clients are another
    /// matter ([`Upstream::asks_anybody`]).
    pub fn has_calls(&self) -> bool {
        // A call that an upstream in its place goes on with is not counted here, but has a connection of it.
        let is_busy = |open: &Arc<Connection>| open.exchange().idle_after().is_none() && !open.suspends_any();
        self.calls.load(Ordering::Relaxed) > 0 || self.connections().iter().any(is_busy)
    }

    /// True if a call waits for its client, who may come back with what it was asked for.
    pub fn asks_anybody(&self) -> bool {
        self.connections().iter().any(|open| open.suspends_any())
    }

    /// The connection on which a call waits that is named so: here, or at one that has left.
    pub(crate) fn suspended_at(&self, state: &str) -> Option<Arc<Connection>> {
        let here = |upstream: &Upstream| {
            let live = upstream.live_connection().filter(|live| live.has_suspended(state));
            live.or_else(|| upstream.pool.suspended_at(state))
        };
        let before = || self.predecessors().iter().filter_map(Weak::upgrade).find_map(|one| here(&one));
        here(self).or_else(before)
    }

    fn connections(&self) -> Vec<Arc<Connection>> {
        self.live.load_full().into_iter().chain(self.pool.all()).collect()
    }
}
