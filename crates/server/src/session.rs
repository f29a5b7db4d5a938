//! What we remember of one client between its messages.

mod seen;

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use bytes::Bytes;
use gate::approvals::Asker;
use gate::jobs::{JobId, Watcher};
use gate::{Caller, Cancel, Client, Event, Gate, HeaderCheck, Via};
use sandbox::Process;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use wire::message::Text;
use wire::{Id, LogLevel, Revision};

use crate::abilities;
use crate::subscription::ResourceSubscription;
use crate::watched_tasks::WatchedTasks;
pub(crate) use seen::Seen;

/// Most calls that one client may have unanswered.
pub(crate) const CALLS_IN_FLIGHT_MAX: usize = 10_000;

/// Most resources that one session may subscribe to.
pub(crate) const SUBSCRIBED_MAX: usize = 1_000;

/// Most subscriptions that may be open on one connection of the modern revision.
pub(crate) const LISTENS_MAX: usize = 64;

/// Most requests of ours that one client may leave unanswered.
const QUESTIONS_MAX: usize = 1_000;

/// Longest capabilities, and longest information about itself, that are kept of a client, in bytes.
const SAID_BYTES_MAX: usize = 4 * 1024;

/// Which log messages a legacy client gets that has not said which it wants.
const LOG_LEVEL_UNSAID: LogLevel = LogLevel::INFO;

/// Tells conversations apart. 0 is for clients in none.
static CONVERSATIONS: AtomicU64 = AtomicU64::new(1);

/// A result, or an error object, as JSON text.
pub(crate) type Answer = Result<Text, Text>;

/// One client's conversation: a connection on stdio, a session over HTTP. A modern request over HTTP stands
/// alone and has one for itself.
pub(crate) struct Session {
    /// Who it is.
    pub(crate) caller: Caller,
    /// Its number, unlike that of any other.
    pub(crate) conversation: u64,
    /// Which states of the lists it was shown.
    pub(crate) seen: Seen,
    /// Its tasks of 2025-11-25 that are jobs of ours.
    pub(crate) tasks: WatchedTasks,
    /// Holds calls of tools to the head of their request, where a request has one and must repeat itself in it.
    pub(crate) header_check: OnceLock<HeaderCheck>,
    /// The processes at its other end, as far as the system tells.
    askers: OnceLock<Arc<[Asker]>>,
    revision: AtomicU8,
    /// Room for more subscriptions of the modern revision.
    listens: Arc<Semaphore>,
    state: Mutex<State>,
}

/// What changes with the messages of a conversation.
#[derive(Default)]
struct State {
    /// The least grave log messages that the client wants, once it has said so.
    log_level: Option<LogLevel>,
    /// What the client says in its handshake that it can do.
    capabilities: Bytes,
    /// What it says there about itself.
    info: Option<Bytes>,
    /// True if there is anything that it can be asked for.
    can_be_asked: bool,
    /// Set when the conversation ends; nothing before the handshake.
    over: Option<Cancel>,
    /// Whether the client has said that it is ready.
    is_ready: bool,
    calls: HashMap<Id, Cancel>,
    /// The number of our latest request.
    asked: u64,
    /// Our requests that the client has not answered.
    unanswered: HashMap<u64, oneshot::Sender<Answer>>,
    subscribed: HashMap<Arc<str>, ResourceSubscription>,
}

fn next_conversation() -> u64 {
    CONVERSATIONS.fetch_add(1, Ordering::Relaxed)
}

impl Session {
    /// The number that a modern request's call goes by. Behind a pipe there is one client; a socket may carry the
    /// requests of many, and nothing in them says whose they are.
    pub(crate) fn conversation_of_request(&self) -> u64 {
        if self.caller.via() == Via::Socket { next_conversation() } else { self.conversation }
    }

    /// A conversation in `revision` until the client settles on another.
    pub(crate) fn new(caller: Caller, revision: Revision) -> Arc<Session> {
        let state = State { capabilities: Bytes::from_static(b"{}"), ..State::default() };
        let session = Session {
            caller,
            conversation: next_conversation(),
            seen: Seen::default(),
            tasks: WatchedTasks::default(),
            header_check: OnceLock::new(),
            askers: OnceLock::new(),
            revision: AtomicU8::new(0),
            listens: Arc::new(Semaphore::new(LISTENS_MAX)),
            state: Mutex::new(state),
        };
        session.settle(revision);
        Arc::new(session)
    }

    /// The lock is held for moments, and what it guards is sound between any two statements.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The revision spoken, by the requests that do not name one themselves.
    pub(crate) fn revision(&self) -> Revision {
        Revision::ALL[usize::from(self.revision.load(Ordering::Relaxed))]
    }

    /// Settles on a revision.
    pub(crate) fn settle(&self, revision: Revision) {
        let index = Revision::ALL.iter().position(|known| *known == revision);
        self.revision.store(index.and_then(|index| u8::try_from(index).ok()).unwrap_or(0), Ordering::Relaxed);
    }

    /// Notes what the client says in the handshake: its capabilities as far as they can be used through us, and
    /// who it is.
    pub(crate) fn introduce(&self, capabilities: Bytes, info: Option<Bytes>) {
        let capabilities = kept(&capabilities).unwrap_or(Bytes::from_static(b"{}"));
        let mut state = self.state();
        state.can_be_asked = abilities::can_be_asked(&capabilities);
        state.capabilities = capabilities;
        state.info = info.as_ref().and_then(kept);
        state.over = Some(Cancel::new());
    }

    /// The client of a legacy call, and whether there is anything that it can be asked for.
    pub(crate) fn client(&self) -> (Client, bool) {
        let state = self.state();
        let client = Client {
            capabilities: state.capabilities.clone(),
            info: state.info.clone(),
            log_level: Some(state.log_level.unwrap_or(LOG_LEVEL_UNSAID).name()),
            conversation: self.conversation,
            knows_no_tasks: true,
            over: state.over.clone(),
            ..Client::default()
        };
        (client, state.can_be_asked)
    }

    /// The client has said that it is ready for requests.
    pub(crate) fn ready(&self) {
        self.state().is_ready = true;
    }

    /// Whether it has, after a handshake.
    pub(crate) fn is_ready(&self) -> bool {
        let state = self.state();
        state.is_ready && state.over.is_some()
    }

    /// Notes which processes are at its other end. Once; a second time changes nothing.
    pub(crate) fn comes_from(&self, processes: impl IntoIterator<Item = Process>) {
        let mut askers: Vec<Asker> = processes.into_iter().map(Asker::from).collect();
        askers.dedup();
        let _ = self.askers.set(askers.into());
    }

    /// The processes at its other end.
    pub(crate) fn askers(&self) -> Arc<[Asker]> {
        self.askers.get().cloned().unwrap_or_default()
    }

    /// Changes the least grave level of log messages that the client wants.
    pub(crate) fn set_log_level(&self, level: LogLevel) {
        self.state().log_level = Some(level);
    }

    /// Begins a call under `id`.
    pub(crate) fn begin(self: &Arc<Session>, id: &Id) -> Result<InFlight, BeginFault> {
        let mut state = self.state();
        if state.calls.len() >= CALLS_IN_FLIGHT_MAX {
            return Err(BeginFault::TooMany);
        }
        let Entry::Vacant(free) = state.calls.entry(id.clone()) else { return Err(BeginFault::Duplicate) };
        let cancel = free.insert(Cancel::new()).clone();
        Ok(InFlight { session: self.clone(), id: id.clone(), cancel })
    }

    /// True if any call has not been answered.
    pub(crate) fn is_busy(&self) -> bool {
        !self.state().calls.is_empty()
    }

    /// True if a call under `id` has not been answered.
    pub(crate) fn is_running(&self, id: &Id) -> bool {
        self.state().calls.contains_key(id)
    }

    /// Cancels the call under `id`, if it is still running.
    pub(crate) fn cancel(&self, id: &Id) {
        self.state().calls.get(id).into_iter().for_each(Cancel::cancel);
    }

    /// Ends the conversation: cancels every call, stops watching resources, and tells whoever keeps something for it.
    pub(crate) fn end(&self) {
        let mut state = self.state();
        state.calls.values().for_each(Cancel::cancel);
        let (over, subscribed) = (state.over.take(), std::mem::take(&mut state.subscribed));
        // Outside the lock, since each subscription then asks for something.
        drop(state);
        over.iter().for_each(Cancel::cancel);
        drop(subscribed);
    }

    /// A request of ours to the client; nothing if too many are unanswered. An answer is matched within its session, so
    /// no other client can give it.
    pub(crate) fn ask(self: &Arc<Session>) -> Option<Question> {
        let mut state = self.state();
        if state.unanswered.len() >= QUESTIONS_MAX {
            return None;
        }
        state.asked += 1;
        let number = state.asked;
        let (sender, answer) = oneshot::channel();
        state.unanswered.insert(number, sender);
        Some(Question { session: self.clone(), number, answer })
    }

    /// Hands the client's answer to whoever asked. False if nobody did.
    pub(crate) fn answer(&self, id: &Id, answer: Answer) -> bool {
        let waiting = id.as_number().and_then(|number| self.state().unanswered.remove(&number));
        // The call that waited may have ended meanwhile.
        waiting.is_some_and(|waiting| waiting.send(answer).is_ok())
    }

    /// True if the client is subscribed to the resource.
    pub(crate) fn is_subscribed(&self, uri: &str) -> bool {
        self.state().subscribed.contains_key(uri)
    }

    /// True if the client may subscribe to one more resource.
    pub(crate) fn may_subscribe(&self) -> bool {
        self.state().subscribed.len() < SUBSCRIBED_MAX
    }

    /// Keeps a subscription until the client ends it. What cannot be kept ends at once.
    pub(crate) fn keep_subscription(&self, subscription: ResourceSubscription) {
        let mut state = self.state();
        let has_room = state.subscribed.len() < SUBSCRIBED_MAX;
        let surplus = if has_room || state.subscribed.contains_key(subscription.uri()) {
            state.subscribed.insert(subscription.uri().clone(), subscription)
        } else {
            Some(subscription)
        };
        drop(state);
        drop(surplus);
    }

    /// Ends a subscription, if there is one.
    pub(crate) fn end_subscription(&self, uri: &str) {
        let ended = self.state().subscribed.remove(uri);
        // Outside the lock, since it then asks for something.
        drop(ended);
    }

    /// All that is subscribed.
    pub(crate) fn subscribed(&self) -> Vec<Arc<str>> {
        self.state().subscribed.keys().cloned().collect()
    }

    /// True if what is this `caller`'s, or everybody's, is this client's to know.
    pub(crate) fn may_know(&self, caller: &Option<Arc<str>>) -> bool {
        caller.as_ref().is_none_or(|caller| caller == self.caller.id())
    }

    /// True if a legacy client is told of this.
    pub(crate) fn wants(&self, event: &Event, gate: &Gate) -> bool {
        match event {
            Event::ResourceUpdated { uri, caller } => self.may_know(caller) && self.is_subscribed(uri),
            Event::ElicitationComplete { conversation, .. } => {
                *conversation == self.conversation && abilities::has_url_elicitation(self.revision())
            }
            // Tasks of legacy revisions are not offered.
            Event::Task { .. } => false,
            Event::Foreign { source, .. } => gate.may_hear(&self.caller, source),
        }
    }

    /// Opens one more subscription of the modern revision; nothing if there are too many.
    pub(crate) fn listen(&self) -> Option<OwnedSemaphorePermit> {
        self.listens.clone().try_acquire_owned().ok()
    }

    /// How many of the calls in flight are open subscriptions, which end only when somebody ends them.
    pub(crate) fn listens(&self) -> usize {
        LISTENS_MAX - self.listens.available_permits()
    }
}

impl Watcher for Session {
    fn job_changed(&self, id: &JobId) {
        self.tasks.job_changed(id);
    }
}

/// A copy of what is kept as long as the session: a slice of the frame would hold all of the memory that the frame
/// was read into. Nothing if it is too long to be kept.
fn kept(said: &Bytes) -> Option<Bytes> {
    (said.len() <= SAID_BYTES_MAX).then(|| Bytes::copy_from_slice(said))
}

/// Why a call cannot begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum BeginFault {
    #[error("a request with this id has not been answered yet")]
    Duplicate,
    #[error("too many requests wait for their answers; let some finish")]
    TooMany,
}

/// A running call; forgotten when dropped.
pub(crate) struct InFlight {
    session: Arc<Session>,
    id: Id,
    /// Heard by the call.
    pub(crate) cancel: Cancel,
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.session.state().calls.remove(&self.id);
    }
}

/// One request of ours; forgotten when dropped.
pub(crate) struct Question {
    session: Arc<Session>,
    number: u64,
    answer: oneshot::Receiver<Answer>,
}

impl Question {
    /// The id that it goes out under.
    pub(crate) fn id(&self) -> Id {
        Id::number(self.number)
    }

    /// What the client answers; nothing if its session ends before.
    pub(crate) async fn answered(&mut self) -> Option<Answer> {
        (&mut self.answer).await.ok()
    }
}

impl Drop for Question {
    fn drop(&mut self) {
        self.session.state().unanswered.remove(&self.number);
    }
}

#[cfg(test)]
mod tests;
