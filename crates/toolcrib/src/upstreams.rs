//! The upstreams of one run: a task for each, which carries what it offers into the catalogue and what is
//! worth remembering into the store.

use std::sync::Arc;
use std::time::Duration;

use gate::{Catalog, Event};
use store::{DEFINITIONS_BYTES_MAX, Definitions, Store, StoreError};
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{broadcast, watch};
use tokio::task::JoinSet;
use upstream::{Offer, Settings, State, Upstream, World};

use crate::assemble::now_ms;

/// Remembered definitions older than this are asked for anew: servers are updated any day.
const REMEMBERED_FOR: Duration = Duration::from_secs(24 * 60 * 60);

/// Some servers change their lists all the time, and remembering one takes the disk.
const KEPT_EVERY: Duration = Duration::from_secs(60);

/// A server that is not ready by then is mentioned, since somebody may be waiting for its tools.
const START_USUAL: Duration = Duration::from_secs(5);

/// When upstreams are connected to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Start {
    /// At once: whoever serves many wants them ready.
    AtOnce,
    /// When somebody needs what is not remembered: one client may never ask.
    WhenWanted,
}

/// All upstreams of one run.
pub(crate) struct Upstreams {
    all: Vec<Arc<Upstream>>,
    tasks: JoinSet<()>,
}

impl Upstreams {
    /// Announces every upstream that is enabled, and starts its task.
    pub(crate) fn start(
        settings: Vec<Settings>,
        world: &World,
        catalog: &Arc<Catalog>,
        store: &Arc<dyn Store>,
        start: Start,
    ) -> Upstreams {
        let all: Vec<_> =
            settings.into_iter().map(|settings| Upstream::new(settings, world.clone())).collect();
        let mut tasks = JoinSet::new();
        for upstream in all.iter().filter(|upstream| upstream.offers().borrow().state != State::Disabled) {
            catalog.expect(upstream.name());
            let task = Task { upstream: upstream.clone(), catalog: catalog.clone(), store: store.clone() };
            tasks.spawn(task.run(start));
        }
        Upstreams { all, tasks }
    }

    /// Each of them, in the order of their names; disabled ones too.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Arc<Upstream>> {
        self.all.iter()
    }

    /// Ends all of them, side by side, each within its own bound.
    pub(crate) async fn end(mut self) {
        self.tasks.abort_all();
        futures_util::future::join_all(self.all.iter().map(|upstream| upstream.end())).await;
    }
}

/// What carries one upstream's offers.
struct Task {
    upstream: Arc<Upstream>,
    catalog: Arc<Catalog>,
    store: Arc<dyn Store>,
}

impl Task {
    async fn run(self, start: Start) {
        // Before the first await, so that no change is missed.
        let (offers, events) = (self.upstream.offers(), self.upstream.events());
        let remembered = self.remembered().await;
        let offered = remembered.as_ref().is_some_and(|known| self.upstream.offer_cached(&known.tools_json));
        let connect = async {
            match start {
                Start::AtOnce => self.connect().await,
                Start::WhenWanted if !offered => {
                    self.catalog.wanted().await;
                    self.connect().await;
                }
                Start::WhenWanted => {}
            }
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

    /// Connects, mentions it if that takes long, and keeps trying. How it went is the offer's to say.
    async fn connect(&self) {
        let connecting = self.upstream.connect();
        tokio::pin!(connecting);
        if tokio::time::timeout(START_USUAL, &mut connecting).await.is_err() {
            let upstream = self.upstream.name();
            tracing::warn!(upstream, "not ready yet; its tools will be listed as soon as it is");
            // The upstream has logged an error, and its offer shows it.
            let _ = connecting.await;
        }
        self.upstream.stay_connected().await;
    }

    /// Carries what changes in the offer: its tools into the catalogue, and what was seen in this run to where it
    /// is remembered.
    async fn carry(&self, mut offers: watch::Receiver<Offer>, seen: &watch::Sender<Option<Arc<str>>>) {
        let mut carried = None;
        offers.mark_changed();
        while offers.changed().await.is_ok() {
            let offer = offers.borrow_and_update().clone();
            // A list that reads as before is not announced as a change to every client.
            if offer.definitions.is_some() && offer.definitions != carried {
                self.replace(&offer);
                carried = offer.definitions.clone();
            }
            // The first failure is a report, too: nobody needs to wait for this one any longer.
            if carried.is_none() && matches!(offer.state, State::Failed { .. }) {
                self.replace(&offer);
                carried = Some("".into());
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
        for collision in self.catalog.replace(self.upstream.name(), offer.tools.clone(), offer.shelf.clone())
        {
            let (upstream, tool) = (&collision.source, &collision.name);
            tracing::warn!(%upstream, %tool, "not offered: another one has its name; set another `prefix`");
        }
    }

    async fn remembered(&self) -> Option<Definitions> {
        let (name, fingerprint) = (self.upstream.name().to_owned(), self.upstream.fingerprint());
        let found = self.stored(move |store| store.definitions(&name, &fingerprint)).await.flatten()?;
        let age_ms = now_ms().saturating_sub(found.fetched_at_ms);
        let usable = u64::try_from(age_ms).is_ok_and(|age| Duration::from_millis(age) < REMEMBERED_FOR);
        usable.then_some(found)
    }

    async fn keep(&self, definitions: Arc<str>) {
        if definitions.len() > DEFINITIONS_BYTES_MAX {
            tracing::warn!(upstream = self.upstream.name(), "the list of tools is too long to be remembered");
            return;
        }
        let definitions = Definitions {
            upstream: self.upstream.name().to_owned(),
            fingerprint: self.upstream.fingerprint(),
            tools_json: definitions.to_string(),
            fetched_at_ms: now_ms(),
        };
        self.stored(move |store| store.keep_definitions(&definitions)).await;
    }

    /// Asks the store, on a thread that may wait for the disk. What cannot be remembered is fetched anew.
    async fn stored<T: Send + 'static>(
        &self,
        work: impl FnOnce(&dyn Store) -> Result<T, StoreError> + Send + 'static,
    ) -> Option<T> {
        let store = self.store.clone();
        match tokio::task::spawn_blocking(move || work(&*store)).await {
            Ok(Ok(done)) => Some(done),
            Ok(Err(error)) => {
                tracing::warn!(upstream = self.upstream.name(), %error, "the list of tools is not remembered");
                None
            }
            // The program is ending.
            Err(_) => None,
        }
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
            tokio::time::sleep(KEPT_EVERY).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use store::SqliteStore;

    use super::*;
    use crate::assemble::world;

    const DAY_MS: i64 = 24 * 60 * 60 * 1000;

    /// An upstream whose program does not exist: whoever starts it finds out.
    fn settings(name: &str, prefix: &str, enabled: bool) -> Settings {
        let command = Some("/does/not/exist".to_owned());
        let config =
            upstream::Config { command, prefix: Some(prefix.to_owned()), enabled, ..Default::default() };
        config.settle(name, Duration::from_secs(1), &|_| Err(String::new())).expect("a sound table")
    }

    /// What is listed and how each upstream is doing, once every source has reported.
    #[track_caller]
    fn check(upstreams: Vec<Settings>, remembered: &[(&str, i64)], start: Start, expected: &[&str]) {
        let folder = tempfile::tempdir().expect("a folder");
        let store: Arc<dyn Store> = Arc::new(SqliteStore::at(folder.path()));
        for (name, age_ms) in remembered {
            let fingerprint =
                upstreams.iter().find(|settings| settings.name() == *name).expect("a name").fingerprint();
            let tools_json = r#"[{"name":"a","inputSchema":{}}]"#.to_owned();
            let fetched_at_ms = now_ms() - age_ms;
            let definitions =
                Definitions { upstream: (*name).to_owned(), fingerprint, tools_json, fetched_at_ms };
            store.keep_definitions(&definitions).expect("a store");
        }
        let found = crate::runtime::run(async {
            let catalog = Catalog::new(Vec::new());
            let upstreams =
                Upstreams::start(upstreams, &world().expect("a program"), &catalog, &store, start);
            let offer = catalog.settled().await;
            let tools = offer.tools().iter().map(|tool| tool.definition().name.to_string());
            let states = upstreams.iter().map(|upstream| {
                let state = upstream.offers().borrow().state.to_string();
                format!("{} {}", upstream.name(), state.split(':').next().unwrap_or_default())
            });
            let left_out = offer.collisions().iter().map(|one| format!("{} has no {}", one.source, one.name));
            let found: Vec<String> = tools.chain(states).chain(left_out).collect();
            upstreams.end().await;
            found
        });
        assert_eq!(found.expect("a runtime"), expected);
    }

    #[test]
    fn what_is_remembered_is_listed_and_nothing_starts() {
        let known = vec![settings("x", "x", true)];
        check(known, &[("x", DAY_MS - 60_000)], Start::WhenWanted, &["x_a", "x not running"]);
    }

    #[test]
    fn what_was_remembered_too_long_ago_is_asked_for_anew() {
        for age_ms in [DAY_MS, -60_000] {
            check(vec![settings("x", "x", true)], &[("x", age_ms)], Start::WhenWanted, &["x failed"]);
        }
    }

    #[test]
    fn one_that_fails_keeps_nobody_waiting() {
        check(vec![settings("x", "x", true)], &[], Start::WhenWanted, &["x failed"]);
        check(vec![settings("x", "x", true)], &[], Start::AtOnce, &["x failed"]);
    }

    #[test]
    fn one_that_is_switched_off_is_not_waited_for() {
        let both = vec![settings("off", "off", false), settings("x", "x", true)];
        check(both, &[("x", 0)], Start::WhenWanted, &["x_a", "off disabled", "x not running"]);
    }

    #[test]
    fn the_first_by_name_wins_a_tool() {
        let both = vec![settings("x", "", true), settings("y", "", true)];
        let expected = ["a", "x not running", "y not running", "y has no a"];
        check(both, &[("x", 0), ("y", 0)], Start::WhenWanted, &expected);
    }

    #[tokio::test(start_paused = true)]
    async fn a_list_that_changes_all_the_time_is_remembered_once_a_minute() {
        let (seen, kept) = (watch::Sender::new(None), std::sync::Mutex::new(Vec::new()));
        let begun = tokio::time::Instant::now();
        let keep = |definitions: Arc<str>| {
            kept.lock().expect("sound").push((begun.elapsed().as_secs(), definitions.to_string()));
            std::future::ready(())
        };
        let changes = async {
            for second in 0..150 {
                seen.send_replace(Some(second.to_string().into()));
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
            tokio::time::sleep(KEPT_EVERY).await;
        };
        tokio::select! {
            biased;
            () = changes => {}
            () = remember(seen.subscribe(), keep) => unreachable!("the sender lives"),
        }
        let kept = kept.into_inner().expect("sound");
        let expected = [(0, "0"), (60, "60"), (120, "120"), (180, "149")];
        assert_eq!(kept, expected.map(|(second, what)| (second, what.to_owned())));
    }
}
