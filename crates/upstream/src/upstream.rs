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
mod listing;
mod naming;
mod offer;
mod remote_tool;
mod settings;
mod start;
mod tend;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use arc_swap::ArcSwapOption;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tool_api::AnyTool;
use wire::initialize::Ourselves;

pub use config::{Config, Reference, Timeout, Transport, Value};
pub use error::ConnectError;
pub use listing::{DEFINITIONS_BYTES_MAX, PAGES_MAX, TOOLS_MAX};
pub use offer::{Offer, State, Withheld};
pub use remote_tool::SCOPE;
pub use settings::{CALL_TIMEOUT_MAX, CALL_TIMEOUT_MIN, Settings};
pub use start::{LIST_TIMEOUT, START_TIMEOUT};

use connection::{Connection, Exchange, Stderr};
use listing::Listed;
use start::{Demand, Starts};

/// How long `Upstream::end` waits at most.
pub const END_TIMEOUT: Duration = Duration::from_millis(2_500);

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
    live: ArcSwapOption<Connection>,
    starts: Mutex<Starts>,
    stderr: Arc<Stderr>,
    closing: CancellationToken,
    /// Counts the lists of tools there have been.
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
            live: ArcSwapOption::empty(),
            starts: Mutex::default(),
            stderr: Arc::default(),
            closing: CancellationToken::new(),
            generation: AtomicU64::new(1),
        })
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

    /// Offers tools remembered from an earlier run (`Offer::definitions`) without starting anything; the
    /// first call starts the server. False, and no change, if they cannot be read, if the server is
    /// disabled, or if its tools have been seen in this run.
    pub fn offer_cached(&self, definitions: &str) -> bool {
        let Some(listed) = Listed::remembered(definitions).filter(|_| self.settings.is_enabled()) else {
            return false;
        };
        self.offers.send_if_modified(|offer| {
            let is_news = !offer.fresh;
            if is_news {
                *offer = catalogue::offer(&listed, &self.settings, &self.me, offer.state.clone(), false);
            }
            is_news
        })
    }

    /// Starts or dials the server, if it is not connected, and reads its list of tools. However many ask,
    /// it happens once, and goes on if they give up.
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
            if let Some(connection) = self.live.swap(None) {
                connection.end().await;
            }
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
        if !is_current || self.closing.is_cancelled() {
            return;
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
            live.exchange().note_change();
        }
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
