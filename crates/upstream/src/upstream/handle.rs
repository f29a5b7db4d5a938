//! `Upstream`: one configured server.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use arc_swap::ArcSwapOption;
use pins::ServerPins;
use sandbox::confine::{Profile, StartedBy};
use tokio::sync::{broadcast, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tool_api::{AnyTool, Event, Sandboxed, ToolName};

use super::bridged_tasks::BridgedTasks;
use super::pool::Pool;
use super::starts::Starts;
use super::suspended_tasks::SuspendedTasks;
use crate::breaker::Breaker;
use crate::clock::now_ms;
use crate::connection::{Connection, Era, Notice, SandboxReport, Stderr, Subscribed};
use crate::habits::Habits;
use crate::kind::Kind;
use crate::offer::{Offer, State};
use crate::renewal::Renewal;
use crate::settings::{Endpoint, Settings};
use crate::slots::CallSlots;
use crate::status::{self, Report, SandboxState, Status, is_stale};
use crate::world::World;

/// Events of one upstream that a reader has not taken yet; who falls behind misses the oldest.
const EVENTS_WAITING_MAX: usize = 1_024;

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
    /// Holds back what was not accepted.
    pub(crate) pins: Arc<ServerPins>,
    /// In which era the server was met last, or an earlier run remembers it.
    pub(crate) era: Mutex<Option<Era>>,
    /// The resources that are watched, by the server's own URIs, whatever connection there is.
    pub(crate) subscribed: Arc<Subscribed>,
    pub(crate) live: ArcSwapOption<Connection>,
    pub(crate) pool: Pool,
    /// Which calls make it ask their clients.
    pub(crate) habits: Habits,
    pub(crate) slots: CallSlots,
    /// Its tasks of 2025-11-25 that modern clients were given.
    pub(crate) bridged_tasks: Arc<BridgedTasks>,
    /// Its tasks that wait for clients which know none.
    pub(crate) suspended_tasks: Arc<SuspendedTasks>,
    pub(crate) starts: Mutex<Starts>,
    /// How many calls of clients are under way, or wait for the server.
    pub(crate) calls: AtomicUsize,
    /// Refuses calls while too many fail.
    pub(crate) breaker: Breaker,
    /// How often it was connected to, beside `pool`.
    pub(crate) connected: AtomicU64,
    /// True if it is to be connected again by itself.
    pub(crate) staying: AtomicBool,
    /// The looks at its lists that somebody wants.
    pub(crate) renewal: Arc<Renewal>,
    pub(crate) stderr: Arc<Stderr>,
    /// What the program that was started last may touch, if it was confined.
    pub(crate) confined: Mutex<Option<Arc<SandboxReport>>>,
    pub(crate) closing: CancellationToken,
    /// The same for calls, which ask it each time and take no lock for it.
    pub(crate) is_closed: AtomicBool,
    /// Counts the lists of tools that there have been.
    pub(crate) generation: AtomicU64,
}

impl Upstream {
    /// The server that `settings` name. Starts nothing.
    pub fn new(settings: Settings, world: World) -> Arc<Upstream> {
        let state = if settings.enabled { State::Stopped } else { State::Disabled };
        let slots = CallSlots::new(settings.limits.concurrency);
        let settings = settings.signed_by(&world.client, &world.keeper);
        let stderr = Arc::new(Stderr::masking(settings.mask()));
        let pins = Arc::new(ServerPins::new(
            settings.name.clone(),
            settings.trust_key(),
            settings.trust,
            world.pins.clone(),
        ));
        Arc::new_cyclic(|me| Upstream {
            me: me.clone(),
            settings,
            world,
            pins,
            offers: watch::Sender::new(Offer { state, ..Offer::default() }),
            events: broadcast::Sender::new(EVENTS_WAITING_MAX),
            statuses: broadcast::Sender::new(status::STATUSES_WAITING_MAX),
            last_error: Mutex::default(),
            era: Mutex::default(),
            subscribed: Arc::default(),
            live: ArcSwapOption::empty(),
            pool: Pool::default(),
            habits: Habits::default(),
            slots,
            bridged_tasks: Arc::default(),
            suspended_tasks: Arc::default(),
            starts: Mutex::default(),
            calls: AtomicUsize::new(0),
            breaker: Breaker::default(),
            connected: AtomicU64::new(0),
            staying: AtomicBool::new(false),
            renewal: Arc::default(),
            stderr,
            confined: Mutex::default(),
            closing: CancellationToken::new(),
            is_closed: AtomicBool::new(false),
            generation: AtomicU64::new(1),
        })
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

    /// The end of what the program wrote on its stderr, at most 64 KiB, without its secrets; empty for a server with
    /// a `url`.
    pub fn last_stderr(&self) -> String {
        self.stderr.text()
    }

    /// What the program that was started last may touch, and what it was refused; nothing for one that is not confined, or
    /// was not started yet.
    pub fn sandbox(&self) -> Option<Arc<SandboxReport>> {
        self.confined.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// How its program is confined, if it does without layers of the sandbox, or another than we has started it.
    pub(crate) fn sandboxed(&self) -> Option<Sandboxed> {
        let report = self.sandbox()?;
        let degraded: Vec<_> = report.without.iter().map(|layer| layer.name()).collect();
        let is_usual = degraded.is_empty() && report.started_by == StartedBy::Own;
        let (profile, launcher) = (Profile::upstream().name, report.started_by.name());
        (!is_usual).then_some(Sandboxed { profile, launcher, degraded })
    }

    /// `text`, which may hold words of the server, without its secrets, those that it was signed in to with included;
    /// see [`Settings::masked`].
    pub fn masked(&self, text: &str) -> String {
        self.settings.masked(text)
    }

    /// Counts a call until what is returned is dropped.
    pub(crate) fn count_call(&self) -> CountedCall<'_> {
        self.calls.fetch_add(1, Ordering::Relaxed);
        CountedCall(&self.calls)
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
            live.exchange().notices.hear(Notice::ListChanged(Kind::Tools));
        }
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

    /// Every change of its state from now on, one by one. Who takes them slower than they come misses the oldest.
    pub fn statuses(&self) -> broadcast::Receiver<Status> {
        self.statuses.subscribe()
    }

    /// How many calls wait for their slot.
    pub fn queued(&self) -> usize {
        self.slots.waiting()
    }

    /// How it is doing.
    pub fn status(&self) -> Report {
        let offer = self.offers.borrow().clone();
        Report {
            name: self.name().to_owned(),
            transport: self.transport(),
            tools: offer.tools.len(),
            prompts: offer.features.prompts.len(),
            resources: offer.features.resources.len() + offer.features.templates.len(),
            withheld: offer.withheld.len(),
            held_back: offer.held.iter().filter(|held| held.why.awaits()).count(),
            held_back_why: pins::held_in_short(&offer.held),
            stale: offer.fetched_at_ms.is_some_and(|fetched| is_stale(&offer, fetched, now_ms())),
            fetched_at_ms: offer.fetched_at_ms,
            restarts: self.connected.load(Ordering::Relaxed).saturating_sub(1),
            processes: self.processes(),
            circuit_open_ms: self
                .breaker
                .open_for(Instant::now())
                .map(|wait| u64::try_from(wait.as_millis()).unwrap_or(u64::MAX)),
            last_error: self.last_error().clone(),
            sandbox: SandboxState::of(&self.settings, self.sandbox().as_deref()),
            state: offer.state,
        }
    }

    /// Something is wrong that does not change how it is doing. False if that went wrong last, too.
    pub(crate) fn note_error(&self, error: &str) -> bool {
        let before = self.last_error().replace(error.to_owned());
        before.as_deref() != Some(error)
    }

    fn last_error(&self) -> MutexGuard<'_, Option<String>> {
        self.last_error.lock().expect("nothing panics while it holds the lock")
    }

    fn transport(&self) -> &'static str {
        let is_sse = self.live_connection().is_some_and(|live| live.transport.is_sse());
        if is_sse { "sse" } else { self.settings.endpoint.transport_name() }
    }

    fn processes(&self) -> usize {
        match &self.settings.endpoint {
            Endpoint::Program(_) => usize::from(self.live_connection().is_some()) + self.pool.open().len(),
            Endpoint::Socket(_) | Endpoint::Address { .. } => 0,
        }
    }

    /// Tells the change from `before`, if it is one, and takes note of what went wrong. Called while the offer is
    /// changed, so that changes are told in their order.
    pub(crate) fn tell_status(&self, before: &State, state: &State) {
        if before == state {
            return;
        }
        if let Some(error) = state.error() {
            *self.last_error() = Some(error.to_owned());
        }
        let (name, state) = (self.name().to_owned(), state.clone());
        // Nobody may be listening just now.
        let _ = self.statuses.send(Status { name, state, at_ms: now_ms() });
    }
}

/// A call that is under way.
pub(crate) struct CountedCall<'u>(&'u AtomicUsize);

impl Drop for CountedCall<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
