//! `Endpoint`: what all requests to one workspace over HTTP share.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use gate::Caller;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::event_log::Total;
use super::intake;
use super::sessions::{Sessions, good_until_s};
use super::sockets::Sockets;
use super::visitor::Visitors;
use crate::identity::Identity;
use crate::{Config, Server};

/// Most open connections. Beyond it new ones wait in the system's queue.
pub(super) const CONNECTIONS_MAX: usize = 10_000;

/// Most legacy calls that go on although their clients have hung up. Of more, the rest is given up.
pub(super) const DETACHED_MAX: usize = 1_000;

/// Most legacy calls at once whose answers are streams: as many as connections, so that there is room for all that
/// are read.
pub(super) const STREAMING_MAX: usize = CONNECTIONS_MAX;

/// How often events are looked for that were kept long enough, and sessions that were left behind or whose callers are
/// known no longer.
pub(super) const SWEEP_EVERY: Duration = Duration::from_secs(60);

/// What the requests to one workspace share. All but its server and its sessions is the same for every workspace.
pub(super) struct Endpoint {
    pub(super) server: Arc<Server>,
    /// What this process is called in what it answers: another one for each, and no more.
    pub(super) worker: Arc<str>,
    pub(super) visitors: Arc<Visitors>,
    /// Knows who comes over HTTP.
    pub(super) identity: Arc<Identity>,
    /// Sessions of Streamable HTTP.
    pub(super) sessions: Sessions,
    /// Sessions of HTTP+SSE, which live as long as their connections.
    pub(super) channels: Sessions,
    /// What is kept for all streams.
    total: Total,
    /// Calls and streams that go on beside their connections.
    pub(super) tasks: TaskTracker,
    /// How many more calls may go on that nobody waits for.
    pub(super) detached: Arc<Semaphore>,
    /// How many more calls may answer by a stream, be it read or not.
    pub(super) streaming: Arc<Semaphore>,
    pub(super) sockets: Arc<Sockets>,
    /// Room for bodies that arrive.
    pub(super) bodies: Arc<Semaphore>,
    /// Ends those that are left when the endpoint closes.
    pub(super) closing: CancellationToken,
}

impl Endpoint {
    pub(super) fn new(server: Arc<Server>, identity: Arc<Identity>, config: &Config) -> Arc<Endpoint> {
        let total = Total::default();
        Arc::new(Endpoint {
            server,
            worker: worker_id().into(),
            visitors: Arc::new(Visitors::new(config)),
            identity,
            sessions: Sessions::new(total.clone()),
            channels: Sessions::new(total.clone()),
            total,
            bodies: intake::room(),
            tasks: TaskTracker::new(),
            detached: Arc::new(Semaphore::new(DETACHED_MAX)),
            streaming: Arc::new(Semaphore::new(STREAMING_MAX)),
            sockets: Arc::default(),
            closing: CancellationToken::new(),
        })
    }

    /// The endpoint of another workspace, within the same bounds.
    pub(super) fn beside(&self, server: Arc<Server>) -> Arc<Endpoint> {
        Arc::new(Endpoint {
            server,
            worker: self.worker.clone(),
            visitors: self.visitors.clone(),
            identity: self.identity.clone(),
            sessions: Sessions::new(self.total.clone()),
            channels: Sessions::new(self.total.clone()),
            total: self.total.clone(),
            bodies: self.bodies.clone(),
            tasks: self.tasks.clone(),
            detached: self.detached.clone(),
            streaming: self.streaming.clone(),
            sockets: self.sockets.clone(),
            closing: self.closing.clone(),
        })
    }

    /// Looks for sessions that are to end and events that were kept long enough.
    pub(super) async fn sweep(&self) {
        self.sessions.sweep(&self.identity).await;
        self.channels.sweep(&self.identity).await;
    }

    /// Ends its sessions, and what stands without one.
    pub(super) fn end(&self) {
        self.server.stop();
        self.sessions.close();
        self.channels.close();
    }

    /// Waits until nobody knows this caller any more: its key was revoked, its token has run out, or whose word counts
    /// has changed.
    pub(super) async fn until_unknown(&self, caller: &Caller) {
        let (good_until_s, known_at) = (good_until_s(caller), Instant::now());
        let mut changes = self.identity.changes();
        loop {
            // It changes, or its time has come; which one does not matter.
            let _ = tokio::time::timeout(SWEEP_EVERY, changes.changed()).await;
            if !self.identity.still_knows(caller, good_until_s, known_at).await {
                return;
            }
        }
    }
}

/// A process id comes again, so the time belongs to it.
fn worker_id() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    format!("{:x}-{:x}", std::process::id(), since.as_millis())
}

#[cfg(test)]
impl Endpoint {
    /// One that is open to whoever is on this machine.
    pub(super) fn sample(server: Arc<Server>) -> Arc<Endpoint> {
        let store = Arc::new(store::SqliteStore::at(std::path::Path::new("nothing is kept here")));
        let (config, client) = (crate::identity::Config::default(), sandbox::Client::new());
        let identity = Identity::new(&config, Some(true), store, client, || 0);
        Endpoint::new(server, Arc::new(identity), &Config::default())
    }
}
