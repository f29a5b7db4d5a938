//! The sessions of HTTP clients: unguessable, each bound to one caller, bounded in number, ended by the client, by
//! silence, or to make room.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use data_encoding::HEXLOWER;
use gate::{Caller, Proof};
use hyper::StatusCode;
use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use wire::http::SESSION_ID;
use wire::{Code, WireError};

use super::answer::{self, Answer};
use super::event_log::{EventId, Total};
use super::outbound::Outbound;
use super::streams::{Kind, NothingKept, Reader, Streams, Writer};
use crate::Server;
use crate::identity::Identity;
use crate::notifier::Notifier;
use crate::session::Session;

/// Names the session of a request. Every request is asked for it, so it is not read anew each time.
static SESSION: HeaderName = HeaderName::from_static(SESSION_ID);

/// Most sessions at once. When it is reached, one makes room: of those that nothing goes on in, one of the caller who has
/// most, one that was only opened before one that was used, and then the one that was silent longest. So a flood of new
/// ones ends its own.
const SESSIONS_MAX: usize = 10_000;

/// A session that was silent for so long has been left behind by its client. A day, since few clients manage to
/// open another session after a night.
const SILENCE_MAX: Duration = Duration::from_secs(24 * 60 * 60);

/// How often those left behind are looked for, at most.
const SWEEP_EVERY: Duration = Duration::from_secs(60);

/// Randomness in a session id, in bytes.
const ID_BYTES: usize = 16;

/// One client's session, or the place of a request that stands alone.
pub(super) struct Open {
    /// The conversation.
    pub(super) session: Arc<Session>,
    /// Its event streams.
    pub(super) streams: Arc<Streams>,
    /// The way to the client of the HTTP+SSE transport, which has but one.
    pub(super) outbound: Option<Arc<Outbound>>,
    notifier: OnceLock<Box<tokio::sync::Mutex<Notifier>>>,
    /// Seconds since the endpoint opened, at the last sign of the client.
    heard_s: AtomicU64,
    /// The end of the latest token that the client came with, in seconds since 1970.
    good_until_s: AtomicI64,
    /// When it was opened.
    opened_at: Instant,
    /// True once the client has come back to it.
    is_used: AtomicBool,
}

impl Open {
    /// For a request that stands alone: nothing of it is kept.
    pub(super) fn passing(session: Arc<Session>, total: Total) -> Arc<Open> {
        Arc::new(Open::new(session, total, Kind::Passing, None, 0))
    }

    fn new(
        session: Arc<Session>,
        total: Total,
        kind: Kind,
        outbound: Option<Arc<Outbound>>,
        now_s: u64,
    ) -> Open {
        let (streams, notifier) = (Arc::new(Streams::new(kind, total)), OnceLock::new());
        let (heard_s, is_used) = (AtomicU64::new(now_s), AtomicBool::new(false));
        let (good_until_s, opened_at) = (AtomicI64::new(good_until_s(&session.caller)), Instant::now());
        Open { session, streams, outbound, notifier, heard_s, good_until_s, opened_at, is_used }
    }

    /// The next thing to say without being asked. Whoever listens first takes it; what happens while nobody does
    /// is told to the next who does.
    pub(super) async fn announced(&self, server: &Arc<Server>) -> Vec<u8> {
        let new = || Box::new(tokio::sync::Mutex::new(Notifier::new(server, self.session.clone())));
        self.notifier.get_or_init(new).lock().await.next().await
    }

    /// Opens a stream for the messages of one POST.
    pub(super) fn begin(&self) -> (Writer, Reader) {
        Streams::begin(&self.streams, self.is_primed())
    }

    /// Takes over the standing stream; see [`Streams::stand`].
    pub(super) fn stand(&self, last: Option<u64>) -> Result<Reader, NothingKept> {
        Streams::stand(&self.streams, self.is_primed(), last)
    }

    /// Takes over the stream of a POST; see [`Streams::resume`].
    pub(super) fn resume(&self, last: EventId) -> Result<Reader, NothingKept> {
        Streams::resume(&self.streams, self.is_primed(), last)
    }

    /// True if its streams begin with an event that has an id and says nothing (2025-11-25): a client can then ask
    /// for the rest of a stream that broke before its first message. Clients of older revisions take the empty
    /// event for a broken message.
    pub(super) fn is_primed(&self) -> bool {
        self.streams.have_ids() && self.session.revision().has_polling()
    }

    /// True if this caller may use it.
    fn is_for(&self, caller: &Caller) -> bool {
        let own = &self.session.caller;
        own.id() == caller.id()
            && own.kind() == caller.kind()
            // A later key of the same name is somebody else's.
            && own.key_id() == caller.key_id()
            && own.via() == caller.via()
            && own.roles() == caller.roles()
            && own.scopes() == caller.scopes()
    }

    /// True while a call runs or a stream is read: nobody else takes its place then.
    fn is_busy(&self) -> bool {
        self.session.is_busy() || self.streams.are_read()
    }

    /// Which of a caller's that are not busy makes room first: the least.
    fn rank(&self) -> (bool, u64) {
        (self.is_used.load(Ordering::Relaxed), self.heard_s.load(Ordering::Relaxed))
    }

    pub(super) fn end(&self) {
        self.session.end();
        self.streams.close();
    }
}

/// All open sessions of one transport.
pub(super) struct Sessions {
    table: Mutex<Table>,
    since: Instant,
    total: Total,
}

#[derive(Default)]
struct Table {
    open: HashMap<Box<str>, Arc<Open>>,
    swept_s: u64,
}

/// Why no session can be opened.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum OpenFault {
    /// Without randomness there are no unguessable ids.
    NoRandomness,
    /// There are too many, and something goes on in each.
    Full,
}

/// What the session header of a request says.
pub(super) enum Named {
    /// Nothing: the request stands alone.
    None,
    /// A session that is open.
    Open(Arc<Open>),
    /// A session that has ended, belongs to somebody else, or never was.
    Unknown,
}

impl Sessions {
    /// None yet.
    pub(super) fn new(total: Total) -> Sessions {
        Sessions { table: Mutex::default(), since: Instant::now(), total }
    }

    fn lock(&self) -> MutexGuard<'_, Table> {
        // What it guards is sound between any two statements.
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens a session and gives its id.
    ///
    /// # Errors
    /// If there is no room for it, or no id.
    pub(super) fn open(
        &self,
        session: Arc<Session>,
        outbound: Option<Arc<Outbound>>,
    ) -> Result<(String, Arc<Open>), OpenFault> {
        let mut random = [0u8; ID_BYTES];
        getrandom::fill(&mut random).map_err(|_| OpenFault::NoRandomness)?;
        let id: String = HEXLOWER.encode(&random);
        let now_s = self.now_s();
        let opened = Arc::new(Open::new(session, self.total.clone(), Kind::Kept, outbound, now_s));
        let mut table = self.lock();
        let ended = table.make_room(now_s);
        if table.open.len() >= SESSIONS_MAX {
            return Err(OpenFault::Full);
        }
        table.open.insert(id.as_str().into(), opened.clone());
        drop(table);
        ended.iter().for_each(|session| session.end());
        Ok((id, opened))
    }

    /// The session that the header of a request names.
    pub(super) fn named(&self, headers: &HeaderMap, caller: &Caller) -> Named {
        let mut ids = headers.get_all(&SESSION).iter();
        match (ids.next(), ids.next()) {
            (None, _) => Named::None,
            (Some(id), None) => match id.to_str().ok().and_then(|id| self.get(id, caller)) {
                Some(open) => Named::Open(open),
                None => Named::Unknown,
            },
            _ => Named::Unknown,
        }
    }

    /// The session of this id, if it is open and the caller's. Hearing of it keeps it open.
    pub(super) fn get(&self, id: &str, caller: &Caller) -> Option<Arc<Open>> {
        let open = self.lock().open.get(id).filter(|open| open.is_for(caller)).cloned()?;
        let now_s = self.now_s();
        let heard_s = open.heard_s.swap(now_s, Ordering::Relaxed);
        open.is_used.store(true, Ordering::Relaxed);
        open.good_until_s.fetch_max(good_until_s(caller), Ordering::Relaxed);
        if now_s.saturating_sub(heard_s) <= SILENCE_MAX.as_secs() || open.streams.are_read() {
            return Some(open);
        }
        // Silent too long, and only not found yet.
        if let Some(open) = self.remove(id) {
            open.end();
        }
        None
    }

    /// Ends a session. False if the caller has none of this id.
    pub(super) fn end(&self, id: &str, caller: &Caller) -> bool {
        let Some(open) = self.get(id, caller) else { return false };
        self.remove(id);
        open.end();
        true
    }

    /// Answers `DELETE`: the client ends its session.
    pub(super) fn end_named(&self, caller: &Caller, headers: &HeaderMap) -> Answer {
        let mut ids = headers.get_all(&SESSION).iter();
        match (ids.next(), ids.next()) {
            (None, _) => answer::text(StatusCode::BAD_REQUEST, "the header Mcp-Session-Id is missing\n"),
            (Some(id), None) if id.to_str().is_ok_and(|id| self.end(id, caller)) => {
                answer::empty(StatusCode::NO_CONTENT)
            }
            _ => unknown(),
        }
    }

    /// Forgets the events that were kept long enough, in all sessions.
    pub(super) fn forget_old_events(&self) {
        // Not under the lock, which every request needs.
        let all: Vec<Arc<Open>> = self.lock().open.values().cloned().collect();
        all.iter().for_each(|open| open.streams.forget_old());
    }

    /// Ends the sessions of callers whom nobody knows any more, and with them the streams that they still read.
    pub(super) async fn end_unauthenticated(&self, identity: &Identity) {
        // Not under the lock, which every request needs.
        let all: Vec<(Box<str>, Arc<Open>)> =
            self.lock().open.iter().map(|(id, open)| (id.clone(), open.clone())).collect();
        for (id, open) in all {
            let good_until_s = open.good_until_s.load(Ordering::Relaxed);
            if !identity.still_knows(&open.session.caller, good_until_s, open.opened_at).await {
                self.remove(&id);
                open.end();
            }
        }
    }

    /// Ends every session.
    pub(super) fn close(&self) {
        let all = std::mem::take(&mut self.lock().open);
        all.values().for_each(|session| session.end());
    }

    fn remove(&self, id: &str) -> Option<Arc<Open>> {
        self.lock().open.remove(id)
    }

    fn now_s(&self) -> u64 {
        self.since.elapsed().as_secs()
    }
}

impl Table {
    /// Takes out those that were left behind and, if there is no room then, one that is not busy.
    fn make_room(&mut self, now_s: u64) -> Vec<Arc<Open>> {
        let mut ended = Vec::new();
        if self.open.len() >= SESSIONS_MAX || now_s >= self.swept_s + SWEEP_EVERY.as_secs() {
            self.swept_s = now_s;
            let oldest = now_s.saturating_sub(SILENCE_MAX.as_secs());
            let left =
                |open: &Open| open.heard_s.load(Ordering::Relaxed) < oldest && !open.streams.are_read();
            ended.extend(self.open.extract_if(|_, open| left(open)).map(|(_, open)| open));
        }
        if self.open.len() >= SESSIONS_MAX {
            let first = self.first_to_go();
            ended.extend(first.and_then(|id| self.open.remove(&id)));
        }
        ended
    }

    fn first_to_go(&self) -> Option<Box<str>> {
        let mut first = None;
        let mut counts: HashMap<&str, usize> = HashMap::new();
        for open in self.open.values() {
            *counts.entry(&**open.session.caller.id()).or_default() += 1;
        }
        for (id, open) in &self.open {
            let rank = (Reverse(counts[&**open.session.caller.id()]), open.rank());
            // Asked last, since it takes locks and most are not ahead of the best so far.
            if first.is_none_or(|(least, _)| rank < least) && !open.is_busy() {
                first = Some((rank, id));
            }
        }
        first.map(|(_, id)| id.clone())
    }
}

/// Until when a caller may go on by what it came with, in seconds since 1970.
pub(super) fn good_until_s(caller: &Caller) -> i64 {
    match caller.proof() {
        Proof::Until(end_s) => *end_s,
        Proof::Key(_) | Proof::None => i64::MAX,
    }
}

/// The answer that makes a client open a new session (2025-03-26, "Session Management").
pub(super) fn unknown() -> Answer {
    let error = WireError::new(Code::InvalidRequest, "Session not found; initialize again");
    answer::error(StatusCode::NOT_FOUND, None, &error)
}

/// The id of a session as a header's value.
pub(super) fn header(id: &str) -> HeaderValue {
    HeaderValue::from_str(id).expect("hexadecimal digits are legal in a header")
}

#[cfg(test)]
mod tests;
