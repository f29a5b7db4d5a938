//! Upstreams that leave the configuration: whether calls keep them, and how a call that waits for its client finds the
//! one that knows of it. When they are ended is for whoever keeps them to say.

use std::ops::Deref;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};

use crate::connection::Connection;
use crate::upstream::Upstream;

/// A reference that is held for what the upstream does by itself. Every other one counts as a call's.
pub(crate) struct Own(Arc<Upstream>);

impl Own {
    pub(crate) fn new(upstream: Arc<Upstream>) -> Own {
        upstream.succession.own.fetch_add(1, Ordering::Relaxed);
        Own(upstream)
    }
}

impl Deref for Own {
    type Target = Arc<Upstream>;

    fn deref(&self) -> &Arc<Upstream> {
        &self.0
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        self.0.succession.own.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Upstream {
    /// Takes the place of `before`: what clients watch there is watched on if it is the same server, and calls that
    /// wait there for their clients go on there.
    pub fn follow(&self, before: &Arc<Upstream>) {
        if self.fingerprint() == before.fingerprint() {
            self.subscribed.take_over(&before.subscribed);
        }
        self.watch.take_over(&before.watch);
        let mut all = before.succession.before().clone();
        all.push(Arc::downgrade(before));
        all.retain(|one| one.strong_count() > 0);
        *self.succession.before() = all;
    }

    /// True if calls are under way, or wait for the start of the server; those that wait for their clients are another
    /// matter ([`Upstream::asks_anybody`]). Whoever asks holds the upstream once.
    pub fn has_calls(&self) -> bool {
        // Whoever calls holds it until the answer is there; one that has come from a successor holds a connection.
        let own = self.succession.own.load(Ordering::Relaxed);
        let is_busy = |open: &Arc<Connection>| open.exchange().idle_after().is_none() && !open.parks_any();
        self.me.strong_count() > own + 1 || self.connections().iter().any(is_busy)
    }

    /// True if a call waits for its client, who may come back with what it was asked for.
    pub fn asks_anybody(&self) -> bool {
        self.connections().iter().any(|open| open.parks_any())
    }

    /// The connection on which a call waits that is named so: here, or at one that has left.
    pub(crate) fn parked_at(&self, state: &str) -> Option<Arc<Connection>> {
        let here = |upstream: &Upstream| {
            let live = upstream.live_connection().filter(|live| live.has_parked(state));
            live.or_else(|| upstream.pool.parked_at(state))
        };
        let before = || self.succession.before().iter().filter_map(Weak::upgrade).find_map(|one| here(&one));
        here(self).or_else(before)
    }

    fn connections(&self) -> Vec<Arc<Connection>> {
        self.live.load_full().into_iter().chain(self.pool.all()).collect()
    }
}
