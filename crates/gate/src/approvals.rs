//! Approval of one exact call: a question to a person, bound to who calls which tool under which definition with which
//! arguments; its answer, which is good for one run of that call; and the standing permissions that can be given with
//! an answer.
//!
//! They are kept in the store, so every process that shares it can ask and answer, and a restart forgets nothing. The
//! step that a call passes is in `step`; who may answer is settled in `answer`. All that touches the disk here
//! blocks: the step does it on another thread, and only for calls that ask.

mod answer;
mod approval_store;
mod call;
mod canonical;
mod carried;
mod code;
mod config;
mod fault;
mod form;
mod form_wait;
mod forms;
mod granted;
mod in_run;
mod plan_shown;
mod presence;
mod record;
mod report;
mod reset;
mod step;
mod visible;
mod waiting;
mod wish;
mod would_change;

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use policy::Caller;
use store::{Kind, Store, StoreError, wait};
use tokio::sync::watch;
use tokio::time::Instant;

use crate::clock::{Clock, now_ms};
pub use answer::{Answer, Forgotten, Lasts, NOTE_CHARS_MAX, Scope};
use approval_store::{ApprovalStore, Kept, Standing};
pub use approval_store::{GRANTS_MAX, PENDING_MAX, PENDING_PER_CALLER_MAX};
pub(crate) use call::ExactCall;
pub(crate) use carried::{Brought, Carried, ClientQuestion};
pub use code::{CODE_BYTES_MAX, CODE_CHARS_MIN, Code, CodeFault};
pub use config::Config;
pub use fault::AnswerFault;
pub use form::{asked_for, is_question, unanswered};
pub use forms::Forms;
pub use granted::Pattern;
pub(crate) use in_run::InRun;
pub use in_run::{RUN_QUESTIONS_MAX, RUN_WAIT_MAX};
pub use presence::{Asker, NotAPerson, is_below, is_there, present};
pub(crate) use record::new_id;
pub use record::{Acted, Answered, Approval, Asked, Bound, Grant, Member, State, Through};
pub use record::{begin_with, is_wish, time};
pub use report::{AnswerReport, ApprovalReport, GrantReport};
pub(crate) use step::{Asking, STEP, Settled};
pub(crate) use wish::{Wish, Wishing};
pub use would_change::WouldChange;

/// How often a waiting call looks whether another process has written an answer.
pub const LOOK_EVERY: Duration = Duration::from_millis(250);

/// How often whoever waits for an answer says so, several times within the time that its question outlives them.
pub const SIGN_EVERY: Duration = Duration::from_secs(4);

/// Tells whether a caller may still come by what it has shown, or it was taken back. Blocks on the disk.
pub type StillKnown = Box<dyn Fn(&Caller) -> Result<bool, StoreError> + Send + Sync>;

/// Tells whether the client at these processes is a person's, so that what it says of its user counts. Blocks on the disk.
pub type IsAPersons = Box<dyn Fn(&[Asker]) -> bool + Send + Sync>;

/// The questions, answers and standing permissions of one store.
pub struct Approvals {
    store: ApprovalStore,
    /// Asked before a permission is used; without it, whoever calls is known.
    still_known: OnceLock<StillKnown>,
    /// Asked before a client is asked; without it, every client that may be.
    is_a_persons: OnceLock<IsAPersons>,
    /// One call of this process after the other looks and asks, so that the same call asks once.
    turn: Mutex<()>,
    /// Grows when something was answered, here or elsewhere.
    changes: watch::Sender<u64>,
    /// The questions that calls of this process wait for, each as often as calls do.
    awaited: Mutex<Vec<Arc<str>>>,
    /// When another process was last looked for, and how often it had changed something by then.
    looked: Mutex<Option<(Instant, u64)>>,
}

impl Approvals {
    /// Those in this store. Touches no disk until a call asks.
    pub fn new(store: Arc<dyn Store>) -> Arc<Approvals> {
        Approvals::with_clock(store, now_ms)
    }

    /// The same by a clock of one's own, in milliseconds since 1970.
    pub fn with_clock(store: Arc<dyn Store>, clock: Clock) -> Arc<Approvals> {
        // What has no name of its own would share the sessions of others; without randomness nothing is sealed either.
        let process = record::new_id().unwrap_or_else(|| format!("{}", std::process::id()).into());
        Arc::new(Approvals {
            store: ApprovalStore { store, clock, process },
            still_known: OnceLock::new(),
            is_a_persons: OnceLock::new(),
            turn: Mutex::new(()),
            changes: watch::Sender::new(0),
            awaited: Mutex::default(),
            looked: Mutex::new(None),
        })
    }

    /// Where, and by which clock, all is kept that processes share about calls.
    pub(crate) fn store(&self) -> (Arc<dyn Store>, Clock) {
        (self.store.store.clone(), self.store.clock)
    }

    /// The time by the clock that questions end by, in milliseconds since 1970.
    pub fn now_ms(&self) -> i64 {
        self.store.now_ms()
    }

    /// Has callers asked after by `still_known` before a permission of theirs is used. Once; a second one changes nothing.
    pub fn ask_after_callers(&self, still_known: StillKnown) {
        // A permission must never be used on the word of a later one.
        let _ = self.still_known.set(still_known);
    }

    /// Has clients asked only if they are a person's. Once; a second one changes nothing.
    pub fn ask_clients_if(&self, is_a_persons: IsAPersons) {
        // A form must never be shown on the word of a later one.
        let _ = self.is_a_persons.set(is_a_persons);
    }

    /// Whether the client at these processes may be asked for a person. Looks at the processes of the machine.
    pub fn may_ask_client(&self, askers: &[Asker]) -> bool {
        self.is_a_persons.get().is_none_or(|is_a_persons| is_a_persons(askers))
    }

    /// A call may have waited for hours, and what it was let in by been taken back.
    pub(crate) fn is_known(&self, caller: &Caller) -> Result<bool, StoreError> {
        self.still_known.get().map_or(Ok(true), |still_known| still_known(caller))
    }

    /// What a person has said before of what a run asks, if it still holds. Blocks on the disk.
    fn settled_before(&self, caller: &Caller, call: &ExactCall) -> Result<Option<Standing>, StoreError> {
        if !self.is_known(caller)? {
            return Ok(None);
        }
        if let Some(grant) = self.store.granted(call)? {
            return Ok(Some(Standing::Granted(grant)));
        }
        Ok(self.store.denied_of_late(call)?.map(Standing::Denied))
    }

    /// What people were shown of such calls, each with its approval; the latest first. Blocks on the disk.
    pub(crate) fn shown(&self, call: &ExactCall) -> Result<Vec<(Arc<str>, WouldChange)>, StoreError> {
        self.store.shown(call)
    }

    /// How things stand for a call. Blocks on the disk.
    fn stand(&self, caller: &Caller, call: &ExactCall, known: Option<&str>) -> Result<Standing, StoreError> {
        if !self.is_known(caller)? {
            return Ok(Standing::Stranger);
        }
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        self.store.stand(call, known)
    }

    /// Notes that a call waits for this question, until what is returned is dropped.
    fn await_answer(&self, id: &Arc<str>) -> Waiter<'_> {
        self.awaited().push(id.clone());
        Waiter { approvals: self, id: id.clone() }
    }

    fn awaited(&self) -> MutexGuard<'_, Vec<Arc<str>>> {
        self.awaited.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn is_open(&self, id: &str) -> bool {
        let kept = self.store.approval(id).ok().flatten();
        kept.is_some_and(|kept| kept.record.status(self.now_ms()) == State::Pending)
    }

    /// Wakes whoever waits.
    fn tell(&self) {
        self.changes.send_modify(|changes| *changes += 1);
    }

    /// Sees whether another process has changed something, unless that was just looked at. Blocks on the disk.
    fn look(&self) {
        let mut looked = self.looked.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        if looked.is_some_and(|(at, _)| now.duration_since(at) < LOOK_EVERY / 2) {
            return;
        }
        // A store that cannot be read just now can be in a moment, or the wait ends.
        let changes = |kind| wait(self.store.store.changes(kind)).unwrap_or(0);
        let count = changes(Kind::Approval).wrapping_add(changes(Kind::Grant));
        if looked.replace((now, count)).is_none_or(|(_, last)| last != count) {
            self.tell();
        }
    }
}

/// A call that waits for a question.
struct Waiter<'a> {
    approvals: &'a Approvals,
    id: Arc<str>,
}

impl Waiter<'_> {
    /// True if no other call of this process waits for it.
    fn is_alone(&self) -> bool {
        self.approvals.awaited().iter().filter(|id| **id == self.id).count() == 1
    }
}

impl Drop for Waiter<'_> {
    fn drop(&mut self) {
        let mut awaited = self.approvals.awaited();
        if let Some(at) = awaited.iter().position(|id| *id == self.id) {
            awaited.swap_remove(at);
        }
    }
}
