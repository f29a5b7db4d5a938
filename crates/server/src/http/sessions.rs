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
use wire::param_headers::HeaderText;
use wire::{Code, WireError};

use super::answer::{self, Answer, Answered};
use super::event_log::Total;
use super::head;
use super::outbound::Outbound;
use super::streams::Streams;
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

/// Randomness in a session id, in bytes.
const ID_BYTES: usize = 16;

/// One client's session.
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
    /// The next thing to say without being asked. Whoever listens first takes it; what happens while nobody does
    /// is told to the next who does.
    pub(super) async fn announced(&self, server: &Arc<Server>) -> Vec<u8> {
        let new = || Box::new(tokio::sync::Mutex::new(Notifier::new(server, self.session.clone())));
        self.notifier.get_or_init(new).lock().await.next().await
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

type Table = HashMap<Box<str>, Arc<Open>>;

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
    /// The answer if there is no room for it, or no id.
    pub(super) fn open(
        &self,
        session: Arc<Session>,
        outbound: Option<Arc<Outbound>>,
    ) -> Result<(String, Arc<Open>), Box<Answer>> {
        let mut random = [0u8; ID_BYTES];
        getrandom::fill(&mut random).map_err(|_| {
            answer::refusal(StatusCode::INTERNAL_SERVER_ERROR, "the system gives no randomness")
        })?;
        let id: String = HEXLOWER.encode(&random);
        let now_s = self.now_s();
        let opened = Arc::new(Open {
            streams: Arc::new(Streams::new(session.revision(), self.total.clone())),
            outbound,
            notifier: OnceLock::new(),
            heard_s: AtomicU64::new(now_s),
            good_until_s: AtomicI64::new(good_until_s(&session.caller)),
            opened_at: Instant::now(),
            is_used: AtomicBool::new(false),
            session,
        });
        let mut table = self.lock();
        let ended = if table.len() >= SESSIONS_MAX { take_out_one(&mut table) } else { None };
        if table.len() >= SESSIONS_MAX {
            let why = "too many sessions are in use; try again later";
            return Err(answer::refusal(StatusCode::SERVICE_UNAVAILABLE, why));
        }
        table.insert(id.as_str().into(), opened.clone());
        drop(table);
        ended.iter().for_each(|open| open.end());
        Ok((id, opened))
    }

    /// The session that the header of a request names; nothing if it names none.
    ///
    /// # Errors
    /// The answer if that session has ended, belongs to somebody else, or never was.
    pub(super) fn named(&self, head: &HeaderMap, caller: &Caller) -> Result<Option<Arc<Open>>, Box<Answer>> {
        match head::said(head, &SESSION) {
            HeaderText::Absent => Ok(None),
            HeaderText::Once(id) => self.get(id, caller).map(Some).ok_or_else(unknown),
            HeaderText::Repeated | HeaderText::Unreadable => Err(unknown()),
        }
    }

    /// The session of this id, if it is open and the caller's. Hearing of it keeps it open.
    pub(super) fn get(&self, id: &str, caller: &Caller) -> Option<Arc<Open>> {
        let open = self.lock().get(id).filter(|open| open.is_for(caller)).cloned()?;
        open.heard_s.store(self.now_s(), Ordering::Relaxed);
        open.is_used.store(true, Ordering::Relaxed);
        open.good_until_s.fetch_max(good_until_s(caller), Ordering::Relaxed);
        Some(open)
    }

    /// Ends a session. False if the caller has none of this id.
    pub(super) fn end(&self, id: &str, caller: &Caller) -> bool {
        let Some(open) = self.get(id, caller) else { return false };
        self.remove(id, &open);
        true
    }

    /// Answers `DELETE`: the client ends its session.
    pub(super) fn end_named(&self, caller: &Caller, head: &HeaderMap) -> Answered {
        match head::said(head, &SESSION) {
            HeaderText::Absent => {
                Err(answer::refusal(StatusCode::BAD_REQUEST, "the header Mcp-Session-Id is missing"))
            }
            HeaderText::Once(id) if self.end(id, caller) => Ok(answer::empty(StatusCode::NO_CONTENT)),
            _ => Err(unknown()),
        }
    }

    /// Ends the sessions that were left behind, and those of callers whom nobody knows any more, with the streams that they
    /// still read. Of the others it forgets the events that were kept long enough.
    pub(super) async fn sweep(&self, identity: &Identity) {
        // Not under the lock, which every request needs.
        let all: Vec<(Box<str>, Arc<Open>)> =
            self.lock().iter().map(|(id, open)| (id.clone(), open.clone())).collect();
        let oldest_s = self.now_s().saturating_sub(SILENCE_MAX.as_secs());
        for (id, open) in all {
            open.streams.forget_old();
            let good_until_s = open.good_until_s.load(Ordering::Relaxed);
            let was_left = open.heard_s.load(Ordering::Relaxed) < oldest_s && !open.streams.are_read();
            if was_left || !identity.still_knows(&open.session.caller, good_until_s, open.opened_at).await {
                self.remove(&id, &open);
            }
        }
    }

    /// True while a call runs in one of them, or a stream of one is read.
    pub(super) fn are_busy(&self) -> bool {
        self.lock().values().any(|open| open.is_busy())
    }

    /// Ends every session.
    pub(super) fn close(&self) {
        let all = std::mem::take(&mut *self.lock());
        all.values().for_each(|session| session.end());
    }

    fn remove(&self, id: &str, open: &Open) {
        self.lock().remove(id);
        open.end();
    }

    fn now_s(&self) -> u64 {
        self.since.elapsed().as_secs()
    }
}

/// Takes out the session that makes room first; nothing if something goes on in all of them.
fn take_out_one(table: &mut Table) -> Option<Arc<Open>> {
    let mut first = None;
    let mut counts: HashMap<&str, usize> = HashMap::new();
    for open in table.values() {
        *counts.entry(&**open.session.caller.id()).or_default() += 1;
    }
    for (id, open) in &*table {
        let rank = (Reverse(counts[&**open.session.caller.id()]), open.rank());
        // Asked last, since it takes locks and most are not ahead of the best so far.
        if first.as_ref().is_none_or(|(least, _)| rank < *least) && !open.is_busy() {
            first = Some((rank, id));
        }
    }
    let id = first.map(|(_, id)| id.clone())?;
    table.remove(&id)
}

/// Until when a caller may go on by what it came with, in seconds since 1970.
pub(super) fn good_until_s(caller: &Caller) -> i64 {
    match caller.proof() {
        Proof::Until(end_s) => *end_s,
        Proof::Key(_) | Proof::None => i64::MAX,
    }
}

/// The answer that makes a client open a new session (2025-03-26, "Session Management").
pub(super) fn unknown() -> Box<Answer> {
    let error = WireError::new(Code::InvalidRequest, "Session not found; initialize again");
    answer::error(StatusCode::NOT_FOUND, None, &error).into()
}

/// The id of a session as a header's value.
pub(super) fn header(id: &str) -> HeaderValue {
    HeaderValue::from_str(id).expect("hexadecimal digits are legal in a header")
}

#[cfg(test)]
mod tests;
