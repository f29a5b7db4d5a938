//! What one workspace has of a server: a task that carries what the server offers into the workspace's catalogue, and what
//! it tells to whoever listens there.

use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::time::Duration;

use gate::{Catalog, Event};
use pins::HeldBack;
use redact::Redactor;
use store::Store;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{broadcast, watch};
use tokio::task::JoinSet;
use tokio::time::sleep;
use upstream::{Offer, State, Upstream, Withheld};

use super::remember::{Known, kept};
use super::servers::{Before, Server};
use super::start::Start;

/// A client that starts a process for a moment must not start servers with it only because what is remembered of them
/// is stale.
const REFRESH_AFTER: Duration = Duration::from_secs(1);

/// What a server is shared with.
#[derive(Clone)]
pub(super) struct Workspace {
    pub(super) catalog: Arc<Catalog>,
    /// What holds a secret of this is not remembered.
    pub(super) redactor: Redactor,
    pub(super) start: Start,
}

/// What one workspace has of a server.
pub(super) struct Share {
    workspace: Workspace,
    /// Another one once it has been exchanged.
    upstream: Mutex<Arc<Upstream>>,
    /// What carries its offers, unless it is disabled; ends with this.
    carrying: Mutex<JoinSet<()>>,
}

impl Share {
    pub(super) fn of(workspace: Workspace, upstream: Arc<Upstream>) -> Share {
        Share { workspace, upstream: Mutex::new(upstream), carrying: Mutex::default() }
    }

    pub(super) fn upstream(&self) -> Arc<Upstream> {
        self.upstream.lock().expect("nothing panics while it holds the lock").clone()
    }

    pub(super) fn has_secret(&self, json: &str) -> bool {
        self.workspace.redactor.json(json.as_bytes()).is_some()
    }

    /// Carries nothing any more: what the server still offers or says is no news.
    pub(super) fn abort(&self) {
        self.carrying().abort_all();
    }

    pub(super) fn take_task(&self) -> JoinSet<()> {
        std::mem::take(&mut *self.carrying())
    }

    /// Carries what `server` offers from now on. What is known of it is on offer when this returns, without a gap if it
    /// takes the place of another.
    pub(super) fn carry(&self, server: &Arc<Server>, store: &Arc<dyn Store>, before: Option<&Before>) {
        let Workspace { catalog, start, .. } = &self.workspace;
        let upstream = server.upstream.clone();
        *self.upstream.lock().expect("nothing panics while it holds the lock") = upstream.clone();
        if !server.settings.enabled {
            catalog.remove(upstream.name());
            return;
        }
        let start = if before.is_some_and(|before| before.was_connected) { Start::AtOnce } else { *start };
        let (catalog, store, server) = (catalog.clone(), store.clone(), Arc::downgrade(server));
        let task = Task { upstream, server, catalog, store };
        let offered = task.is_known();
        if offered {
            task.replace(&task.upstream.offers().borrow().clone());
        } else {
            // What another server offered is not to be called any longer.
            task.catalog.remove(task.upstream.name());
            task.catalog.expect(task.upstream.name());
        }
        self.carrying().spawn(task.run(start, offered, before.map(|before| before.has_left.clone())));
    }

    fn carrying(&self) -> MutexGuard<'_, JoinSet<()>> {
        self.carrying.lock().expect("nothing panics while it holds the lock")
    }
}

/// What an offer that was carried into the catalogue followed from.
type Carried = (Option<Arc<str>>, Vec<Withheld>, Vec<HeldBack>);

/// What carries one upstream's offers.
struct Task {
    upstream: Arc<Upstream>,
    /// Weak, since the server has this in a list.
    server: Weak<Server>,
    catalog: Arc<Catalog>,
    store: Arc<dyn Store>,
}

impl Task {
    /// True if there is something to offer.
    fn is_known(&self) -> bool {
        self.upstream.offers().borrow().definitions.is_some()
    }

    /// Runs until it is dropped. `offered` says that something known is on offer already. Before the server is started
    /// unasked `has_left` is waited for.
    fn run(
        self,
        start: Start,
        offered: bool,
        has_left: Option<watch::Receiver<()>>,
    ) -> impl Future<Output = ()> + Send {
        // Now and not with the first poll, so that no change is missed.
        let (offers, events) = (self.upstream.offers(), self.upstream.events());
        async move {
            let offered = offered || self.offer_remembered().await || self.is_known();
            if start == Start::Never && !offered {
                // Nobody is to wait for a report that does not come.
                self.replace(&self.upstream.offers().borrow().clone());
            }
            let connect = async {
                if let Some(mut has_left) = has_left {
                    // It says so by being dropped.
                    let _ = has_left.changed().await;
                }
                self.connect_when_due(start, offered).await;
            };
            tokio::join!(connect, self.carry(offers), self.pass_on(events));
        }
    }

    async fn connect_when_due(&self, start: Start, offered: bool) {
        // Of one that is watched news are wanted, which it tells only while it is connected.
        match (start, offered, self.upstream.starts_on_demand()) {
            (Start::Never, ..) => return,
            _ if self.upstream.is_watched() => {}
            (Start::AtOnce, _, false) => {}
            // The first call starts it.
            (_, true, true) => return,
            (Start::WhenWanted, true, false) => {
                if !self.upstream.status().stale {
                    return;
                }
                sleep(REFRESH_AFTER).await;
            }
            (_, false, true) | (Start::WhenWanted, false, false) => self.catalog.wanted().await,
        }
        self.connect().await;
    }

    /// Connects, and has the server keep trying, which goes on when this workspace has gone.
    async fn connect(&self) {
        // The upstream has logged an error, and its offer shows it.
        let _ = self.upstream.connect().await;
        if let Some(server) = self.server.upgrade() {
            server.stay_connected();
        }
    }

    /// Carries what changes in the offer into the catalogue.
    async fn carry(&self, mut offers: watch::Receiver<Offer>) {
        // Another text, other names of other upstreams, by which more or less is withheld, or a decision by which more
        // or less is held back.
        let mut carried: Option<Carried> = None;
        offers.mark_changed();
        while offers.changed().await.is_ok() {
            let offer = offers.borrow_and_update().clone();
            // A list that reads as before is not announced as a change to every client.
            let is_carried = carried.as_ref().is_some_and(|(definitions, withheld, held)| {
                (definitions, withheld, held) == (&offer.definitions, &offer.withheld, &offer.held)
            });
            if offer.definitions.is_some() && !is_carried {
                self.replace(&offer);
                carried = Some((offer.definitions.clone(), offer.withheld.clone(), offer.held.clone()));
            }
            // The first failure is a report, too: nobody needs to wait for this one any longer.
            if carried.is_none() && has_failed(&offer.state) {
                self.replace(&offer);
                carried = Some((None, Vec::new(), Vec::new()));
            }
        }
    }

    /// Passes on what the server tells unasked, to whoever listens at the doors.
    async fn pass_on(&self, mut events: broadcast::Receiver<Event>) {
        loop {
            match events.recv().await {
                Ok(event) => self.catalog.announce(event),
                Err(RecvError::Lagged(missed)) => {
                    tracing::warn!(
                        upstream = self.upstream.name(),
                        missed,
                        "it tells more than can be passed on"
                    );
                }
                Err(RecvError::Closed) => return,
            }
        }
    }

    fn replace(&self, offer: &Offer) {
        for collision in
            self.catalog.replace(self.upstream.name(), offer.tools.clone(), offer.features.clone())
        {
            let (upstream, tool) = (&collision.source, &collision.name);
            tracing::warn!(%upstream, %tool, "not offered: another one has its name; set another `prefix`");
        }
    }

    async fn offer_remembered(&self) -> bool {
        match kept(&*self.store, &self.upstream).await {
            Some(Known { definitions, fetched_at_ms }) => {
                self.upstream.recall(&definitions, fetched_at_ms).await
            }
            None => false,
        }
    }
}

/// True if nothing more is to be expected by itself.
fn has_failed(state: &State) -> bool {
    match state {
        State::Failed { .. } | State::NeedsAuth | State::NeedsClientRegistration { .. } => true,
        State::Disabled | State::Stopped | State::Connecting | State::Connected { .. } => false,
    }
}
