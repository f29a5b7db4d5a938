//! What we remember of one client between its messages.

mod questions;
mod seen;

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use bytes::Bytes;
use gate::approvals::Asker;
use gate::{Caller, Cancel, Client, Event, HeaderCheck, Via};
use sandbox::Process;
use wire::{Id, LogLevel, Revision};

use crate::abilities;
use crate::subscription::ResourceSubscription;
use questions::Questions;
pub(crate) use questions::{Answer, Question};
pub(crate) use seen::Seen;

/// Most calls that one client may have unanswered.
pub(crate) const CALLS_IN_FLIGHT_MAX: usize = 10_000;

/// Most resources that one session may subscribe to.
pub(crate) const SUBSCRIBED_MAX: usize = 1_000;

/// Most subscriptions that may be open on one connection of the modern revision.
pub(crate) const LISTENS_MAX: usize = 64;

/// Longest capabilities, and longest information about itself, that are kept of a client, in bytes.
const SAID_BYTES_MAX: usize = 4 * 1024;

/// Which log messages a legacy client gets that has not said which it wants.
const LOG_LEVEL_UNSAID: LogLevel = LogLevel::Info;

/// Tells conversations apart. 0 is for clients in none.
static CONVERSATIONS: AtomicU64 = AtomicU64::new(1);

/// One client's conversation: a connection on stdio, a session over HTTP. A modern request over HTTP stands
/// alone and has one for itself.
pub(crate) struct Session {
    /// Who it is.
    pub(crate) caller: Caller,
    /// Its number, unlike that of any other.
    pub(crate) conversation: u64,
    /// Which states of the lists it was shown.
    pub(crate) seen: Seen,
    revision: AtomicU8,
    log_level: AtomicU8,
    said: Mutex<Said>,
    /// Whether the client has said that it is ready.
    is_ready: AtomicBool,
    calls: Mutex<HashMap<Id, Cancel>>,
    questions: Questions,
    subscribed: Mutex<HashMap<Arc<str>, ResourceSubscription>>,
    listens: AtomicUsize,
    /// Holds calls of tools to the head of their request, where a request has one and must repeat itself in it.
    pub(crate) header_check: OnceLock<HeaderCheck>,
    /// The processes at its other end, as far as the system tells.
    askers: OnceLock<Arc<[Asker]>>,
}

fn next_conversation() -> u64 {
    CONVERSATIONS.fetch_add(1, Ordering::Relaxed)
}

/// What a legacy client says when it connects.
struct Said {
    capabilities: Bytes,
    info: Option<Bytes>,
    /// True if there is anything that it can be asked for.
    can_be_asked: bool,
    /// Set when the conversation ends; nothing before the handshake.
    over: Option<Cancel>,
}

impl Session {
    /// The number that a modern request's call goes by. Behind a pipe there is one client; a socket may carry the
    /// requests of many, and nothing in them says whose they are.
    pub(crate) fn conversation_of_request(&self) -> u64 {
        if self.caller.via() == Via::Socket { next_conversation() } else { self.conversation }
    }

    /// A conversation in `revision` until the client settles on another.
    pub(crate) fn new(caller: Caller, revision: Revision) -> Arc<Session> {
        let session = Session {
            caller,
            conversation: next_conversation(),
            seen: Seen::default(),
            revision: AtomicU8::new(0),
            log_level: AtomicU8::new(LOG_LEVEL_UNSAID as u8),
            is_ready: AtomicBool::new(false),
            said: Mutex::new(Said {
                capabilities: Bytes::from_static(b"{}"),
                info: None,
                can_be_asked: false,
                over: None,
            }),
            calls: Mutex::default(),
            questions: Questions::default(),
            subscribed: Mutex::default(),
            listens: AtomicUsize::new(0),
            header_check: OnceLock::new(),
            askers: OnceLock::new(),
        };
        session.settle(revision);
        Arc::new(session)
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
        let can_be_asked = abilities::can_be_asked(&capabilities);
        let info = info.as_ref().and_then(kept);
        *lock(&self.said) = Said { capabilities, info, can_be_asked, over: Some(Cancel::new()) };
    }

    /// The client of a legacy call, and whether there is anything that it can be asked for.
    pub(crate) fn client(&self) -> (Client, bool) {
        let said = lock(&self.said);
        let client = Client {
            capabilities: said.capabilities.clone(),
            info: said.info.clone(),
            log_level: Some(self.log_level().name()),
            conversation: self.conversation,
            over: said.over.clone(),
            ..Client::default()
        };
        (client, said.can_be_asked)
    }

    /// The client has said that it is ready for requests.
    pub(crate) fn ready(&self) {
        self.is_ready.store(true, Ordering::Relaxed);
    }

    /// Whether it has, after a handshake.
    pub(crate) fn is_ready(&self) -> bool {
        self.is_ready.load(Ordering::Relaxed) && lock(&self.said).over.is_some()
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

    /// The least grave level of log messages that the client wants.
    pub(crate) fn log_level(&self) -> LogLevel {
        LogLevel::ALL[usize::from(self.log_level.load(Ordering::Relaxed))]
    }

    /// Changes it.
    pub(crate) fn set_log_level(&self, level: LogLevel) {
        self.log_level.store(level as u8, Ordering::Relaxed);
    }

    /// Begins a call under `id`.
    pub(crate) fn begin(self: &Arc<Session>, id: &Id) -> Result<InFlight, BeginFault> {
        let mut calls = lock(&self.calls);
        if calls.len() >= CALLS_IN_FLIGHT_MAX {
            return Err(BeginFault::TooMany);
        }
        let Entry::Vacant(free) = calls.entry(id.clone()) else { return Err(BeginFault::Duplicate) };
        let cancel = free.insert(Cancel::new()).clone();
        Ok(InFlight { session: self.clone(), id: id.clone(), cancel })
    }

    /// True if any call has not been answered.
    pub(crate) fn is_busy(&self) -> bool {
        !lock(&self.calls).is_empty()
    }

    /// True if a call under `id` has not been answered.
    pub(crate) fn is_running(&self, id: &Id) -> bool {
        lock(&self.calls).contains_key(id)
    }

    /// Cancels the call under `id`, if it is still running.
    pub(crate) fn cancel(&self, id: &Id) {
        if let Some(cancel) = lock(&self.calls).get(id) {
            cancel.cancel();
        }
    }

    /// Cancels every call.
    pub(crate) fn cancel_all(&self) {
        for cancel in lock(&self.calls).values() {
            cancel.cancel();
        }
    }

    /// Ends the conversation: cancels every call, stops watching resources, and tells whoever keeps something for it.
    pub(crate) fn end(&self) {
        self.cancel_all();
        let over = lock(&self.said).over.take();
        over.iter().for_each(Cancel::cancel);
        // Let go of outside the lock, since each then asks for something.
        let subscribed = std::mem::take(&mut *lock(&self.subscribed));
        drop(subscribed);
    }

    /// A request of ours to the client; nothing if too many are unanswered.
    pub(crate) fn ask(&self) -> Option<Question> {
        self.questions.ask()
    }

    /// Hands the client's answer to whoever asked. False if nobody did.
    pub(crate) fn answer(&self, id: &Id, answer: Answer) -> bool {
        self.questions.answer(id, answer)
    }

    /// True if the client is subscribed to the resource.
    pub(crate) fn is_subscribed(&self, uri: &str) -> bool {
        lock(&self.subscribed).contains_key(uri)
    }

    /// True if the client may subscribe to one more resource.
    pub(crate) fn may_subscribe(&self) -> bool {
        lock(&self.subscribed).len() < SUBSCRIBED_MAX
    }

    /// Keeps a subscription until the client ends it. What cannot be kept ends at once.
    pub(crate) fn keep_subscription(&self, subscription: ResourceSubscription) {
        let mut subscribed = lock(&self.subscribed);
        let surplus = if subscribed.len() < SUBSCRIBED_MAX || subscribed.contains_key(subscription.uri()) {
            subscribed.insert(subscription.uri().clone(), subscription)
        } else {
            Some(subscription)
        };
        drop(subscribed);
        drop(surplus);
    }

    /// Gives up a subscription, for its end to be told.
    pub(crate) fn end_subscription(&self, uri: &str) -> Option<ResourceSubscription> {
        lock(&self.subscribed).remove(uri)
    }

    /// All that is subscribed.
    pub(crate) fn subscribed(&self) -> Vec<Arc<str>> {
        lock(&self.subscribed).keys().cloned().collect()
    }

    /// True if a legacy client is told of this.
    pub(crate) fn wants(&self, event: &Event) -> bool {
        match event {
            Event::ResourceUpdated { uri } => self.is_subscribed(uri),
            Event::ElicitationComplete { conversation, .. } => {
                *conversation == self.conversation && abilities::has_url_elicitation(self.revision())
            }
            // Tasks of legacy revisions are not offered.
            Event::Task { .. } => false,
        }
    }

    /// Opens one more subscription of the modern revision; nothing if there are too many.
    pub(crate) fn listen(self: &Arc<Session>) -> Option<Listening> {
        let listening = Listening { session: self.clone() };
        // Counted before it is known to fit, so that letting go of it counts back either way.
        let open = self.listens.fetch_add(1, Ordering::Relaxed);
        (open < LISTENS_MAX).then_some(listening)
    }

    /// How many of the calls in flight are open subscriptions, which end only when somebody ends them.
    pub(crate) fn listens(&self) -> usize {
        self.listens.load(Ordering::Relaxed)
    }
}

/// A copy of what is kept as long as the session: a slice of the frame would hold all of the memory that the frame
/// was read into. Nothing if it is too long to be kept.
fn kept(said: &Bytes) -> Option<Bytes> {
    (said.len() <= SAID_BYTES_MAX).then(|| Bytes::copy_from_slice(said))
}

/// The locks are held for moments, and what they guard is sound between any two statements.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
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
        lock(&self.session.calls).remove(&self.id);
    }
}

/// An open subscription; no longer counted when dropped.
pub(crate) struct Listening {
    session: Arc<Session>,
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.session.listens.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session() -> Arc<Session> {
        Session::new(Caller::local_user(Via::Stdio), Revision::LATEST_LEGACY)
    }

    #[test]
    fn an_id_is_free_again_once_its_call_has_ended() {
        let session = session();
        let id = Id::number(1);
        assert!(!session.is_busy());
        let running = session.begin(&id).expect("free");
        assert!(session.is_busy());
        assert_eq!(session.begin(&id).err(), Some(BeginFault::Duplicate));
        session.cancel(&Id::number(2));
        assert!(!running.cancel.is_cancelled());
        session.cancel(&id);
        assert!(running.cancel.is_cancelled());
        drop(running);
        assert!(session.begin(&id).is_ok());
    }

    #[test]
    fn calls_in_flight_are_bounded() {
        let session = session();
        let running: Vec<_> =
            (0..CALLS_IN_FLIGHT_MAX as u64).map(|n| session.begin(&Id::number(n)).expect("free")).collect();
        let over = Id::number(u64::MAX);
        assert_eq!(session.begin(&over).err(), Some(BeginFault::TooMany));
        drop(running);
        assert!(session.begin(&over).is_ok());
    }

    #[test]
    fn what_is_kept_of_a_client_is_bounded() {
        for (length, is_kept) in [(0, true), (4 * 1024, true), (4 * 1024 + 1, false)] {
            let session = session();
            let said = Bytes::from(vec![b' '; length]);
            session.introduce(said.clone(), Some(said.clone()));
            let (client, _) = session.client();
            assert_eq!(client.info, is_kept.then_some(said.clone()), "{length}");
            let capabilities = if is_kept { said } else { Bytes::from_static(b"{}") };
            assert_eq!(client.capabilities, capabilities, "{length}");
        }
    }

    #[test]
    fn open_subscriptions_are_bounded() {
        let session = session();
        let open: Vec<_> = (0..LISTENS_MAX).map(|_| session.listen().expect("room")).collect();
        assert!(session.listen().is_none());
        assert_eq!(session.listens(), LISTENS_MAX, "one that was refused is not counted");
        drop(open);
        assert!(session.listen().is_some());
    }

    #[test]
    fn every_revision_and_level_can_be_settled_on() {
        let session = session();
        assert_eq!(session.log_level(), LogLevel::Info);
        for revision in Revision::ALL {
            session.settle(revision);
            assert_eq!(session.revision(), revision);
        }
        for level in LogLevel::ALL {
            session.set_log_level(level);
            assert_eq!(session.log_level(), level);
        }
    }

    #[test]
    fn modern_requests_behind_a_socket_are_of_nobody_known() {
        let number = |via| {
            let session = Session::new(Caller::local_user(via), Revision::LATEST_LEGACY);
            [session.conversation_of_request(), session.conversation_of_request()]
        };
        let [first, second] = number(Via::Stdio);
        assert_eq!(first, second);
        let [first, second] = number(Via::Socket);
        assert_ne!(first, second);
    }

    #[test]
    fn whoever_keeps_something_for_a_conversation_hears_of_its_end() {
        let session = session();
        assert!(session.client().0.over.is_none(), "before the handshake there is nothing to keep");
        session.introduce(Bytes::from_static(b"{}"), None);
        let over = session.client().0.over.expect("it is known now");
        assert!(!over.is_cancelled());
        session.end();
        assert!(over.is_cancelled());
    }

    #[test]
    fn conversations_have_numbers_of_their_own() {
        assert_ne!(session().conversation, session().conversation);
        assert_ne!(session().conversation, 0);
    }
}
