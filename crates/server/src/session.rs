//! What we remember of one client between its messages.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use gate::Caller;
use gate::Cancel;
use wire::{Id, Revision};

/// Most calls that one client may have unanswered.
pub(crate) const CALLS_IN_FLIGHT_MAX: usize = 10_000;

/// One client's conversation.
pub(crate) struct Session {
    /// Who it is.
    pub(crate) caller: Caller,
    revision: AtomicU8,
    calls: Mutex<HashMap<Id, Cancel>>,
    /// The version of the catalogue that the client has seen; 0 if it never asked.
    listed: AtomicU64,
}

impl Session {
    /// A conversation in `revision` until the client settles on another.
    pub(crate) fn new(caller: Caller, revision: Revision) -> Arc<Session> {
        let session = Session {
            caller,
            revision: AtomicU8::new(0),
            calls: Mutex::default(),
            listed: AtomicU64::new(0),
        };
        session.settle(revision);
        Arc::new(session)
    }

    /// The revision spoken.
    pub(crate) fn revision(&self) -> Revision {
        Revision::ALL[usize::from(self.revision.load(Ordering::Relaxed))]
    }

    /// Settles on a revision.
    pub(crate) fn settle(&self, revision: Revision) {
        let index = Revision::ALL.iter().position(|known| *known == revision);
        self.revision.store(index.and_then(|index| u8::try_from(index).ok()).unwrap_or(0), Ordering::Relaxed);
    }

    /// Begins a call under `id`.
    pub(crate) fn begin(self: &Arc<Session>, id: &Id) -> Result<InFlight, BeginFault> {
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        if calls.len() >= CALLS_IN_FLIGHT_MAX {
            return Err(BeginFault::TooMany);
        }
        if calls.contains_key(id) {
            return Err(BeginFault::Duplicate);
        }
        let cancel = Cancel::new();
        calls.insert(id.clone(), cancel.clone());
        Ok(InFlight { session: self.clone(), id: id.clone(), cancel })
    }

    /// True if a call under `id` has not been answered.
    pub(crate) fn is_running(&self, id: &Id) -> bool {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner).contains_key(id)
    }

    /// Cancels the call under `id`, if it is still running.
    pub(crate) fn cancel(&self, id: &Id) {
        if let Some(cancel) = self.calls.lock().unwrap_or_else(PoisonError::into_inner).get(id) {
            cancel.cancel();
        }
    }

    /// Cancels every call.
    pub(crate) fn cancel_all(&self) {
        for cancel in self.calls.lock().unwrap_or_else(PoisonError::into_inner).values() {
            cancel.cancel();
        }
    }

    /// Notes which state of the catalogue the client was shown.
    pub(crate) fn saw(&self, version: u64) {
        self.listed.fetch_max(version, Ordering::Relaxed);
    }

    /// True once for every change that the client should hear of.
    pub(crate) fn should_hear_of(&self, version: u64) -> bool {
        let listed = self.listed.load(Ordering::Relaxed);
        listed != 0 && listed < version && {
            self.saw(version);
            true
        }
    }
}

/// Why a call cannot begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BeginFault {
    /// A call under this id has not been answered.
    Duplicate,
    /// The client has too many unanswered calls.
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
        self.session.calls.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.id);
    }
}

#[cfg(test)]
mod tests {
    use gate::Via;

    use super::*;

    fn session() -> Arc<Session> {
        Session::new(Caller::local_user(Via::Stdio), Revision::LATEST)
    }

    #[test]
    fn an_id_is_free_again_once_its_call_has_ended() {
        let session = session();
        let id = Id::number(1);
        let running = session.begin(&id).expect("free");
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
    fn only_who_has_listed_hears_of_changes_and_each_once() {
        let session = session();
        assert!(!session.should_hear_of(2));
        session.saw(2);
        assert_eq!([2, 3, 3, 5].map(|version| session.should_hear_of(version)), [false, true, false, true]);
    }

    #[test]
    fn every_revision_can_be_settled_on() {
        let session = session();
        for revision in Revision::ALL {
            session.settle(revision);
            assert_eq!(session.revision(), revision);
        }
    }
}
