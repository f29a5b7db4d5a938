//! Tools that live elsewhere, in other MCP servers, made to look like ours.
//!
//! One `Upstream` is one configured server: started or dialled when it is needed, shared by all callers,
//! started again after it died. Who may call its tools, how long a call may take and what is recorded is
//! left to the gate; this crate believes nothing a server says of itself where that would loosen a rule.

mod answer;
mod backoff;
mod catalogue;
mod clean;
mod config;
mod connection;
mod error;
mod handshake;
mod legacy_task;
mod listing;
mod lists;
mod naming;
mod offer;
mod profiles;
mod publish;
mod remote_action;
mod remote_tool;
mod round;
mod settings;
mod shelf;
mod start;
mod stay;
mod tend;
mod uri_map;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use arc_swap::ArcSwapOption;
use futures_util::future::join_all;
use tokio::sync::{broadcast, watch};
use tokio_util::sync::CancellationToken;
use tool_api::{AnyTool, Event};
use wire::initialize::Ourselves;

pub use config::{Config, Reference, Timeout, Transport, Value};
pub use error::ConnectError;
pub use listing::{ENTRIES_MAX, LIST_BYTES_MAX, PAGES_MAX};
pub use offer::{Offer, State, Withheld};
pub use remote_tool::SCOPE;
pub use settings::{CALL_TIMEOUT_MAX, CALL_TIMEOUT_MIN, Settings};
pub use start::{LIST_TIMEOUT, START_TIMEOUT};

use connection::{Connection, Era, Exchange, Heard, Stderr, Subscribed};
use lists::Lists;
use profiles::Profiles;
use start::{Demand, Starts};

/// How long `Upstream::end` waits at most.
pub const END_TIMEOUT: Duration = Duration::from_millis(2_500);

/// Events of one upstream that a reader has not taken yet; who falls behind misses the oldest.
const EVENTS_WAITING_MAX: usize = 1_024;

/// What an upstream needs of the outside world.
#[derive(Clone)]
pub struct World {
    /// Starts programs.
    pub launcher: sandbox::Launcher,
    /// Reaches addresses.
    pub client: sandbox::Client,
    /// Who we say we are.
    pub ourselves: Ourselves<'static>,
}

/// One configured server. Lives on the runtime that first connects to it, and may be used from any.
pub struct Upstream {
    me: Weak<Upstream>,
    settings: Settings,
    world: World,
    offers: watch::Sender<Offer>,
    events: broadcast::Sender<Event>,
    /// What the offer was made from.
    lists: Mutex<Option<Lists>>,
    /// In which era the server was met last, or an earlier run remembers it.
    era: Mutex<Option<Era>>,
    /// The resources that are watched, whatever connection there is.
    subscribed: Arc<Subscribed>,
    live: ArcSwapOption<Connection>,
    /// Sessions for clients that cannot do everything.
    profiles: Profiles,
    starts: Mutex<Starts>,
    /// True if it is to be connected again by itself.
    staying: AtomicBool,
    stderr: Arc<Stderr>,
    closing: CancellationToken,
    /// Counts the lists of tools that there have been.
    generation: AtomicU64,
}

impl Upstream {
    /// The server that `settings` name. Starts nothing.
    pub fn new(settings: Settings, world: World) -> Arc<Upstream> {
        let state = if settings.is_enabled() { State::Idle } else { State::Disabled };
        Arc::new_cyclic(|me| Upstream {
            me: me.clone(),
            settings,
            world,
            offers: watch::Sender::new(Offer::empty(state)),
            events: broadcast::Sender::new(EVENTS_WAITING_MAX),
            lists: Mutex::default(),
            era: Mutex::default(),
            subscribed: Arc::default(),
            live: ArcSwapOption::empty(),
            profiles: Profiles::default(),
            starts: Mutex::default(),
            staying: AtomicBool::new(false),
            stderr: Arc::default(),
            closing: CancellationToken::new(),
            generation: AtomicU64::new(1),
        })
    }

    pub(crate) fn profiles(&self) -> &Profiles {
        &self.profiles
    }

    pub(crate) fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The name of its table.
    pub fn name(&self) -> &str {
        self.settings.name()
    }

    /// What identifies the server; see [`Settings::fingerprint`].
    pub fn fingerprint(&self) -> String {
        self.settings.fingerprint()
    }

    /// What it offers, now and after every change.
    pub fn offers(&self) -> watch::Receiver<Offer> {
        self.offers.subscribe()
    }

    /// What it tells without being asked, from now on. Who takes events slower than they come misses the oldest.
    pub fn events(&self) -> broadcast::Receiver<Event> {
        self.events.subscribe()
    }

    /// Offers what is remembered from an earlier run (`Offer::definitions`) without starting anything; the first
    /// call starts the server. False, and no change, if it cannot be read, if the server is disabled, or if it
    /// has been seen in this run.
    pub fn offer_cached(&self, definitions: &str) -> bool {
        let Some(lists) = Lists::remembered(definitions).filter(|_| self.settings.is_enabled()) else {
            return false;
        };
        let is_news = self.offers.send_if_modified(|offer| {
            let is_news = !offer.fresh;
            if is_news {
                *offer = catalogue::offer(&lists, &self.settings, &self.me, offer.state.clone(), false);
            }
            is_news
        });
        if is_news {
            self.remember_era(lists.era);
        }
        is_news
    }

    /// Starts or dials the server, if it is not connected, and reads its lists. However many ask, it happens
    /// once, and goes on if they give up.
    ///
    /// # Errors
    /// If it cannot be connected to; `offers` then says so too. Unlike a call, this tries at once even
    /// after repeated failures.
    pub async fn connect(&self) -> Result<(), ConnectError> {
        self.connected(Demand::Person).await.map(drop)
    }

    /// Ends the server for good: nothing starts it again. Calls under way are lost. Waits for the program's
    /// end, but never longer than [`END_TIMEOUT`]; what is left then ends by itself.
    pub async fn end(&self) {
        self.closing.cancel();
        // A start under way hears `closing`, and cannot become live any more.
        let under_way = self.starts().take_attempt();
        let ending = async {
            let open = self.live.swap(None).into_iter().chain(self.profiles.take());
            join_all(open.map(|connection| async move { connection.end().await })).await;
            if let Some(attempt) = under_way {
                // It fails, as it should.
                let _ = attempt.await;
            }
        };
        let _ = tokio::time::timeout(END_TIMEOUT, ending).await;
        self.say(State::Idle);
    }

    /// The end of what the program wrote on its stderr, at most 64 KiB; empty for a server with a `url`.
    pub fn last_stderr(&self) -> String {
        self.stderr.text()
    }

    /// A connection for a call.
    pub(crate) async fn connection(&self) -> Result<Arc<Connection>, ConnectError> {
        self.connected(Demand::Call).await
    }

    /// Lets go of a connection that is of no use, unless another one has taken its place.
    pub(crate) fn give_up(&self, exchange: &Arc<Exchange>, error: &str) {
        let current = self.live.load();
        let is_current = current.as_ref().is_some_and(|live| Arc::ptr_eq(live.exchange(), exchange));
        if self.closing.is_cancelled() {
            return;
        }
        if !is_current {
            return self.profiles.give_up(exchange);
        }
        self.live.compare_and_swap(&current, None);
        let error = self.settings.masked(error);
        tracing::warn!(target: "upstream", upstream = %self.name(), error, "connection lost");
        self.say(State::Failed { error });
    }

    /// Which list of tools is in force.
    pub(crate) fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    /// The tools in force, and which list that is.
    pub(crate) fn offer_now(&self) -> (u64, Vec<Arc<dyn AnyTool>>) {
        // Read first: a list that comes in between is then looked at again.
        let generation = self.generation();
        (generation, self.offers.borrow().tools.clone())
    }

    /// A new list of tools has taken the place of the old one.
    pub(crate) fn next_generation(&self) {
        self.generation.fetch_add(1, Ordering::AcqRel);
    }

    /// Reads the list of tools again soon, since it seems to be out of date.
    pub(crate) fn look_again(&self) {
        if let Some(live) = &*self.live.load() {
            live.exchange().hear(Heard::ToolsChanged);
        }
    }

    /// The resources that are watched, by the server's own URIs.
    pub(crate) fn subscribed(&self) -> &Arc<Subscribed> {
        &self.subscribed
    }

    /// The era in which the server was met last.
    pub(crate) fn era(&self) -> Option<Era> {
        *self.era.lock().expect("nothing panics while it holds the lock")
    }

    /// Remembers the era in which the server was met, or forgets it.
    pub(crate) fn remember_era(&self, era: Option<Era>) {
        *self.era.lock().expect("nothing panics while it holds the lock") = era;
    }

    /// Publishes a state and keeps the tools.
    fn say(&self, state: State) {
        self.offers.send_if_modified(|offer| {
            let is_news = offer.state != state && offer.state != State::Disabled;
            if is_news {
                offer.state = state;
            }
            is_news
        });
    }
}
