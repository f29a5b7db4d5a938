//! The sessions of HTTP clients: unguessable, bounded in number, ended by the client or to make room.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use hyper::StatusCode;
use hyper::header::{HeaderMap, HeaderValue};
use tokio::sync::watch;
use wire::http::SESSION_ID;

use super::Door;
use super::answer::{self, Answer};
use crate::session::Session;

/// Most sessions at once. When it is reached, the one that was silent longest makes room.
const SESSIONS_MAX: usize = 10_000;

/// A session that was silent for so long has been left behind by its client; it goes first when there is no
/// room for another.
const SILENCE_MAX: Duration = Duration::from_secs(24 * 60 * 60);

/// Randomness in a session id, in bytes.
const ID_BYTES: usize = 16;

/// One client's session.
pub(super) struct Open {
    /// The conversation.
    pub(super) session: Arc<Session>,
    /// Turns true when the session ends; its streams hear it.
    pub(super) ended: watch::Sender<bool>,
    /// Seconds since the door opened, at the last request.
    heard_s: AtomicU64,
}

impl Open {
    fn end(&self) {
        self.session.cancel_all();
        self.ended.send_replace(true);
    }
}

/// All open sessions.
pub(super) struct Sessions {
    open: Mutex<HashMap<Box<str>, Arc<Open>>>,
    since: Instant,
}

impl Default for Sessions {
    fn default() -> Sessions {
        Sessions { open: Mutex::default(), since: Instant::now() }
    }
}

/// What the session header of a request says.
pub(super) enum Named {
    /// Nothing: the request stands alone.
    None,
    /// A session that is open.
    Open(Arc<Open>),
    /// A session that has ended, or never was.
    Unknown,
}

impl Sessions {
    /// Opens a session and gives its id for the header.
    pub(super) fn open(&self, session: Arc<Session>) -> Result<HeaderValue, getrandom::Error> {
        let mut random = [0u8; ID_BYTES];
        getrandom::fill(&mut random)?;
        let id: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
        let header = HeaderValue::from_str(&id).expect("hexadecimal digits are legal in a header");
        let opened =
            Open { session, ended: watch::Sender::new(false), heard_s: AtomicU64::new(self.now_s()) };
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if open.len() >= SESSIONS_MAX {
            self.make_room(&mut open);
        }
        open.insert(id.into(), Arc::new(opened));
        Ok(header)
    }

    /// Drops what was left behind, or else the session that was silent longest.
    fn make_room(&self, open: &mut HashMap<Box<str>, Arc<Open>>) {
        let oldest = self.now_s().saturating_sub(SILENCE_MAX.as_secs());
        open.retain(|_, session| {
            let stays = session.heard_s.load(Ordering::Relaxed) >= oldest;
            if !stays {
                session.end();
            }
            stays
        });
        if open.len() < SESSIONS_MAX {
            return;
        }
        let silent = open.iter().min_by_key(|(_, session)| session.heard_s.load(Ordering::Relaxed));
        if let Some(id) = silent.map(|(id, _)| id.clone())
            && let Some(session) = open.remove(&id)
        {
            session.end();
        }
    }

    /// The session that a request names.
    pub(super) fn named(&self, headers: &HeaderMap) -> Named {
        let mut ids = headers.get_all(SESSION_ID).iter();
        let (Some(id), None) = (ids.next(), ids.next()) else {
            return if headers.contains_key(SESSION_ID) { Named::Unknown } else { Named::None };
        };
        let Ok(id) = id.to_str() else { return Named::Unknown };
        match self.open.lock().unwrap_or_else(PoisonError::into_inner).get(id) {
            Some(session) => {
                session.heard_s.store(self.now_s(), Ordering::Relaxed);
                Named::Open(session.clone())
            }
            None => Named::Unknown,
        }
    }

    /// Ends every session.
    pub(super) fn close(&self) {
        for (_, session) in self.open.lock().unwrap_or_else(PoisonError::into_inner).drain() {
            session.end();
        }
    }

    fn remove(&self, id: &str) -> Option<Arc<Open>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner).remove(id)
    }

    fn now_s(&self) -> u64 {
        self.since.elapsed().as_secs()
    }
}

/// Answers `DELETE`: the client ends its session.
pub(super) fn end(door: &Door, headers: &HeaderMap) -> Answer {
    let id = headers.get(SESSION_ID).and_then(|id| id.to_str().ok());
    match id.map(|id| door.sessions.remove(id)) {
        None => answer::text(StatusCode::BAD_REQUEST, "the header Mcp-Session-Id is missing\n"),
        Some(None) => unknown(),
        Some(Some(session)) => {
            session.end();
            answer::empty(StatusCode::NO_CONTENT)
        }
    }
}

/// The answer that makes a client open a new session (2025-03-26, "Session Management").
pub(super) fn unknown() -> Answer {
    let error = wire::WireError::new(wire::Code::InvalidRequest, "Session not found; initialize again");
    answer::error(StatusCode::NOT_FOUND, None, &error)
}

#[cfg(test)]
mod tests {
    use gate::{Caller, Via};
    use wire::Revision;

    use super::*;

    fn open_one(sessions: &Sessions) -> HeaderMap {
        let session = Session::new(Caller::local_user(Via::Http), Revision::LATEST);
        let id = sessions.open(session).expect("the system has randomness");
        HeaderMap::from_iter([(hyper::header::HeaderName::from_static(SESSION_ID), id)])
    }

    #[test]
    fn only_an_open_session_is_found() {
        let sessions = Sessions::default();
        let headers = open_one(&sessions);
        assert!(matches!(sessions.named(&headers), Named::Open(_)));
        assert!(matches!(sessions.named(&HeaderMap::new()), Named::None));
        let mut twice = headers.clone();
        twice.append(SESSION_ID, HeaderValue::from_static("x"));
        assert!(matches!(sessions.named(&twice), Named::Unknown));
        let id = headers[SESSION_ID].to_str().expect("text");
        assert_eq!(id.len(), 2 * ID_BYTES);
        sessions.remove(id).expect("open").end();
        assert!(matches!(sessions.named(&headers), Named::Unknown));
    }

    #[test]
    fn the_number_of_sessions_is_bounded() {
        let sessions = Sessions::default();
        let first = open_one(&sessions);
        let Named::Open(oldest) = sessions.named(&first) else { panic!("just opened") };
        for _ in 0..SESSIONS_MAX {
            let headers = open_one(&sessions);
            let Named::Open(session) = sessions.named(&headers) else { panic!("just opened") };
            session.heard_s.store(1, Ordering::Relaxed);
        }
        assert_eq!(sessions.open.lock().expect("not poisoned").len(), SESSIONS_MAX);
        assert!(matches!(sessions.named(&first), Named::Unknown));
        assert!(*oldest.ended.borrow());
    }
}
