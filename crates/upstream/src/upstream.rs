//! One configured server, and the world it lives in.

use crate::connection::{Connection, Era, Exchange, Fault, Heard, Parting, Stderr, Subscribed};
use crate::leaving::Succession;
use crate::lists::Lists;
use crate::pool::Pool;
use crate::start::{Demand, Rest, Starts};
use crate::turns::Turns;
use crate::{ConnectError, Offer, Settings, State, Status, Trace};
use crate::{status, trust};
use arc_swap::ArcSwapOption;
use futures_util::future::join_all;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;
use tokio::sync::{broadcast, watch};
use tokio_util::sync::CancellationToken;
use tool_api::{AnyTool, Event, ToolName};
use wire::initialize::Ourselves;

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
    /// Keeps what we are signed in with.
    pub keeper: Arc<dyn oauth::TokenStore>,
    /// What it takes to hold definitions back. Without it everything is offered: for a look at a server whose tools
    /// nobody is going to call.
    pub pins: Option<trust::Pins>,
    /// Hears what is said with servers, if somebody wants to know.
    pub trace: Option<Trace>,
}

/// One configured server. Lives on the runtime that first connects to it, and may be used from any.
pub struct Upstream {
    pub(crate) me: Weak<Upstream>,
    pub(crate) settings: Settings,
    pub(crate) world: World,
    pub(crate) offers: watch::Sender<Offer>,
    pub(crate) events: broadcast::Sender<Event>,
    pub(crate) statuses: broadcast::Sender<Status>,
    /// What went wrong last.
    pub(crate) last_error: Mutex<Option<String>>,
    /// When what is offered was read, in milliseconds since 1970; 0 if nothing was.
    pub(crate) fetched_at_ms: AtomicI64,
    /// Holds back what was not accepted.
    pub(crate) watch: Arc<trust::Watch>,
    /// What the offer was made from.
    pub(crate) lists: Mutex<Option<Lists>>,
    /// In which era the server was met last, or an earlier run remembers it.
    pub(crate) era: Mutex<Option<Era>>,
    /// The resources that are watched, whatever connection there is.
    pub(crate) subscribed: Arc<Subscribed>,
    pub(crate) live: ArcSwapOption<Connection>,
    pub(crate) pool: Pool,
    pub(crate) turns: Turns,
    pub(crate) starts: Mutex<Starts>,
    pub(crate) succession: Succession,
    /// How often it was connected to, beside `pool`.
    pub(crate) connected: AtomicU64,
    /// True if it is to be connected again by itself.
    pub(crate) staying: AtomicBool,
    pub(crate) stderr: Arc<Stderr>,
    pub(crate) closing: CancellationToken,
    /// The same for calls, which ask it each time and take no lock for it.
    pub(crate) is_closed: AtomicBool,
    /// Counts the lists of tools that there have been.
    pub(crate) generation: AtomicU64,
}

impl Upstream {
    /// The server that `settings` name. Starts nothing.
    pub fn new(settings: Settings, world: World) -> Arc<Upstream> {
        let state = if settings.is_enabled() { State::Stopped } else { State::Disabled };
        let turns = Turns::new(settings.limits.concurrency);
        let settings = settings.signed_by(&world);
        let stderr = Arc::new(Stderr::masking(settings.mask()));
        let watch = Arc::new(trust::Watch::new(&settings, world.pins.clone()));
        Arc::new_cyclic(|me| Upstream {
            me: me.clone(),
            settings,
            world,
            watch,
            offers: watch::Sender::new(Offer::empty(state)),
            events: broadcast::Sender::new(EVENTS_WAITING_MAX),
            statuses: broadcast::Sender::new(status::STATUSES_WAITING_MAX),
            last_error: Mutex::default(),
            fetched_at_ms: AtomicI64::new(0),
            lists: Mutex::default(),
            era: Mutex::default(),
            subscribed: Arc::default(),
            live: ArcSwapOption::empty(),
            pool: Pool::default(),
            turns,
            starts: Mutex::default(),
            succession: Succession::default(),
            connected: AtomicU64::new(0),
            staying: AtomicBool::new(false),
            stderr,
            closing: CancellationToken::new(),
            is_closed: AtomicBool::new(false),
            generation: AtomicU64::new(1),
        })
    }

    pub(crate) fn pool(&self) -> &Pool {
        &self.pool
    }

    pub(crate) fn turns(&self) -> &Turns {
        &self.turns
    }

    pub(crate) fn settings(&self) -> &Settings {
        &self.settings
    }

    /// What we are to a server that may want us to sign in; nothing for one at which we never do.
    pub fn account(&self) -> Option<&Arc<oauth::Session>> {
        self.settings.signer.as_ref().map(|signer| signer.account())
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

    /// Offers what is remembered from an earlier run (`Offer::definitions`), which was read at `fetched_at_ms`
    /// (milliseconds since 1970), without starting anything; the first call starts the server. False, and no change, if
    /// it cannot be read, if the server is disabled, if it has been seen in this run, or if it is not known what was
    /// accepted of it ([`Upstream::recall`] finds out).
    pub fn offer_cached(&self, definitions: &str, fetched_at_ms: i64) -> bool {
        let lists = self.remembered(definitions).filter(|_| self.settings.is_enabled());
        let Some((lists, judge)) = lists.zip(self.watch.judge()) else { return false };
        let is_news = self.offers.send_if_modified(|offer| {
            let is_news = !offer.fresh;
            if is_news {
                *offer = self.offer_of(&lists, offer.state.clone(), &judge, false);
            }
            is_news
        });
        if is_news {
            self.note_fetched(fetched_at_ms);
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

    /// Ends all connections that there are, and waits for that, for a bounded time.
    async fn drop_connections(&self, pooled: Vec<Arc<Connection>>) {
        let open = self.live.swap(None).into_iter().chain(pooled);
        let ends = open.map(|connection| async move {
            connection.exchange().part(Parting::Dismissed);
            connection.end().await;
        });
        join_all(ends).await;
    }

    /// Takes no more calls, which are told that it has left; those that the server has seen go on. A start under way is
    /// given up.
    pub fn close(&self) {
        self.is_closed.store(true, Ordering::SeqCst);
        self.closing.cancel();
    }

    /// Ends the server for good: nothing starts it again. Calls under way are lost. Waits for the program's
    /// end, but never longer than [`END_TIMEOUT`]; what is left then ends by itself.
    pub async fn end(&self) {
        self.close();
        self.watch.leave();
        // A start under way hears `closing`, and cannot become live any more.
        let (pooled, mut under_way) = self.pool.take();
        under_way.extend(self.starts().take_attempt());
        // They fail, as they should.
        let starts = async { drop(join_all(under_way).await) };
        let ending = async { tokio::join!(self.drop_connections(pooled), starts) };
        let _ = tokio::time::timeout(END_TIMEOUT, ending).await;
        self.say(State::Stopped);
    }

    /// The end of what the program wrote on its stderr, at most 64 KiB, without its secrets; empty for a server with
    /// a `url`.
    pub fn last_stderr(&self) -> String {
        self.stderr.text()
    }

    /// `text`, which may hold words of the server, without its secrets, those that it was signed in to with included;
    /// see [`Settings::masked`].
    pub fn masked(&self, text: &str) -> String {
        self.settings.masked(text)
    }

    /// A connection for a call.
    pub(crate) async fn connection(&self) -> Result<Arc<Connection>, ConnectError> {
        if self.is_closed.load(Ordering::SeqCst) {
            return Err(ConnectError::Ended);
        }
        self.connected(Demand::Call).await
    }

    /// Lets go of a connection that is of no use, unless another one has taken its place.
    /// From then on the server is in this state.
    pub(crate) fn give_up(&self, exchange: &Arc<Exchange>, state: State) {
        if self.closing.is_cancelled() {
            return;
        }
        if !self.let_go(exchange) {
            drop(self.give_up_pooled(exchange, state.error()));
            return;
        }
        let error = state.to_string();
        tracing::warn!(target: "upstream", upstream = %self.name(), state = error, "connection lost");
        if self.stays_ended() {
            self.starts().rest = Rest::UntilAsked(state.error().unwrap_or(&error).to_owned());
        }
        self.say(state);
    }

    /// Lets go of a connection that has shown itself to be of no use.
    pub(crate) fn lose(&self, exchange: &Arc<Exchange>, fault: &Fault) {
        let sign_in = match fault {
            Fault::SignIn(error) => Some(ConnectError::SignIn(error.clone())),
            _ => None,
        };
        let sign_in = sign_in.filter(ConnectError::wants_sign_in);
        let failed = || State::Failed { error: self.settings.masked(&fault.to_string()) };
        self.give_up(exchange, sign_in.as_ref().map_or_else(failed, |error| self.state_after(error)));
        if let Some(error) = sign_in {
            self.starts().rest = Rest::UntilSignedIn(error);
        }
    }

    /// Lets go of the first connection if it is the one with this exchange; false if it is not.
    pub(crate) fn let_go(&self, exchange: &Arc<Exchange>) -> bool {
        let current = self.live.load();
        let is_current = current.as_ref().is_some_and(|live| Arc::ptr_eq(live.exchange(), exchange));
        if is_current {
            self.live.compare_and_swap(&current, None);
        }
        is_current
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

    /// What a caller is told of a tool that is held back; nothing if there is none of this name.
    pub(crate) fn held_tool(&self, name: &ToolName) -> Option<Arc<str>> {
        let offer = self.offers.borrow();
        let held = offer.features.held.iter().find(|held| held.tool.definition().name == *name);
        held.map(|held| held.why.clone())
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
    pub(crate) fn say(&self, state: State) {
        self.offers.send_if_modified(|offer| {
            let is_news = offer.state != state && offer.state != State::Disabled;
            if is_news {
                self.tell_status(&offer.state, &state);
                offer.state = state;
            }
            is_news
        });
    }

    /// What is offered was read at this time, in milliseconds since 1970.
    pub(crate) fn note_fetched(&self, at_ms: i64) {
        self.fetched_at_ms.store(at_ms, Ordering::Relaxed);
    }

    /// When what is offered was read, in milliseconds since 1970.
    pub(crate) fn fetched_at_ms(&self) -> Option<i64> {
        Some(self.fetched_at_ms.load(Ordering::Relaxed)).filter(|&at_ms| at_ms != 0)
    }
}
