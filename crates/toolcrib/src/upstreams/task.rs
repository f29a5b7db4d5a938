//! The task of one upstream: it carries what the upstream offers into the catalogue, what is worth remembering into
//! the store, and what the upstream tells to whoever listens.

use std::sync::Arc;
use std::time::Duration;

use gate::{Catalog, Event};
use pins::HeldBack;
use redact::Redactor;
use store::{DEFINITIONS_BYTES_MAX, Definitions, Store, StoreError};
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{broadcast, oneshot, watch};
use tokio::time::sleep;
use upstream::{Offer, State, Upstream, Withheld};

use super::Start;
use crate::times::now_ms;

/// Remembered definitions older than this are not offered: nobody has used them for so long, and the server may be
/// any by now. Younger ones are offered at once, and asked for anew behind that when they are stale.
const REMEMBERED_FOR: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// A client that starts a process for a moment must not start servers with it only because what is remembered of them
/// is stale.
const REFRESH_AFTER: Duration = Duration::from_secs(1);

/// Some servers change their lists all the time, and remembering one takes the disk.
const KEPT_EVERY: Duration = Duration::from_secs(60);

/// What is known of a server without asking it.
pub(super) struct Known {
    definitions: Arc<str>,
    fetched_at_ms: i64,
}

impl Known {
    /// What an upstream offers.
    pub(super) fn of(upstream: &Upstream) -> Option<Known> {
        let definitions = upstream.offers().borrow().definitions.clone()?;
        Some(Known { definitions, fetched_at_ms: upstream.status().fetched_at_ms? })
    }
}

/// What an offer that was carried into the catalogue followed from.
type Carried = (Option<Arc<str>>, Vec<Withheld>, Vec<HeldBack>);

/// What carries one upstream's offers.
pub(super) struct Task {
    pub(super) upstream: Arc<Upstream>,
    pub(super) catalog: Arc<Catalog>,
    pub(super) store: Arc<dyn Store>,
    pub(super) redactor: Redactor,
}

impl Task {
    /// Offers what is known of the server, before this returns. False if it cannot be read.
    pub(super) fn offer_known(&self, known: &Known) -> bool {
        let offered = self.upstream.offer_cached(&known.definitions, known.fetched_at_ms);
        if offered {
            self.replace(&self.upstream.offers().borrow().clone());
        }
        offered
    }

    /// Runs until it is dropped. `offered` says that something known is on offer already. Before the server is started
    /// unasked `has_left` is waited for.
    pub(super) fn run(
        self,
        start: Start,
        offered: bool,
        has_left: Option<oneshot::Receiver<()>>,
    ) -> impl Future<Output = ()> + Send {
        // Now and not with the first poll, so that no change is missed.
        let (offers, events) = (self.upstream.offers(), self.upstream.events());
        async move {
            let offered = offered || self.offer_remembered().await;
            if start == Start::Never && !offered {
                // Nobody is to wait for a report that does not come.
                self.replace(&self.upstream.offers().borrow().clone());
            }
            let connect = async {
                if let Some(has_left) = has_left {
                    // It says so by being dropped.
                    let _ = has_left.await;
                }
                self.connect_when_due(start, offered).await;
            };
            let seen = watch::Sender::new(None);
            let keep = |definitions| self.keep(definitions);
            tokio::join!(
                connect,
                self.carry(offers, &seen),
                remember(seen.subscribe(), keep),
                self.pass_on(events)
            );
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

    /// Connects, and keeps trying.
    async fn connect(&self) {
        // The upstream has logged an error, and its offer shows it.
        let _ = self.upstream.connect().await;
        self.upstream.stay_connected().await;
    }

    /// Carries what changes in the offer: its tools into the catalogue, and what was seen in this run to where it
    /// is remembered.
    async fn carry(&self, mut offers: watch::Receiver<Offer>, seen: &watch::Sender<Option<Arc<str>>>) {
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
            if offer.fresh {
                seen.send_if_modified(|seen| {
                    let is_other = *seen != offer.definitions;
                    seen.clone_from(&offer.definitions);
                    is_other
                });
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
        let (name, fingerprint) = (self.upstream.name().to_owned(), self.upstream.fingerprint());
        let found = self.kept(self.store.definitions(&name, &fingerprint).await).flatten();
        let usable = found.and_then(|found| {
            let age_ms = now_ms().saturating_sub(found.fetched_at_ms);
            let usable = u64::try_from(age_ms).is_ok_and(|age| Duration::from_millis(age) < REMEMBERED_FOR);
            usable.then_some(found)
        });
        match usable {
            Some(found) => self.upstream.recall(&found.tools_json, found.fetched_at_ms).await,
            None => false,
        }
    }

    async fn keep(&self, definitions: Arc<str>) {
        if definitions.len() > DEFINITIONS_BYTES_MAX {
            tracing::warn!(upstream = self.upstream.name(), "the list of tools is too long to be remembered");
            return;
        }
        // Without the secret it would be another list, and calls by it would be refused.
        if self.redactor.json(definitions.as_bytes()).is_some() {
            tracing::warn!(
                upstream = self.upstream.name(),
                "the list of tools holds a secret and is not remembered"
            );
            return;
        }
        let definitions = Definitions {
            upstream: self.upstream.name().to_owned(),
            fingerprint: self.upstream.fingerprint(),
            tools_json: definitions.to_string(),
            fetched_at_ms: now_ms(),
        };
        self.kept(self.store.keep_definitions(definitions).await);
    }

    /// What the store answered. What cannot be remembered is fetched anew.
    fn kept<T>(&self, answer: Result<T, StoreError>) -> Option<T> {
        let upstream = self.upstream.name();
        answer
            .inspect_err(|error| tracing::warn!(upstream, %error, "the list of tools is not remembered"))
            .ok()
    }
}

/// True if nothing more is to be expected by itself.
fn has_failed(state: &State) -> bool {
    match state {
        State::Failed { .. } | State::NeedsAuth | State::NeedsClientRegistration { .. } => true,
        State::Disabled | State::Stopped | State::Connecting | State::Connected { .. } => false,
    }
}

/// Keeps what was seen last: at once the first time, and then as often as [`KEPT_EVERY`].
async fn remember<F: Future<Output = ()>>(
    mut seen: watch::Receiver<Option<Arc<str>>>,
    keep: impl Fn(Arc<str>) -> F,
) {
    while seen.changed().await.is_ok() {
        let definitions = seen.borrow_and_update().clone();
        if let Some(definitions) = definitions {
            keep(definitions).await;
            sleep(KEPT_EVERY).await;
        }
    }
}
