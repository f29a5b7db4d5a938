//! Whose turn it is on a pipe: a call that may ask its client begins when calls of its own conversation alone are under
//! way there. One that is known to be quiet goes at once.

use tokio::time::Instant;

use super::super::caller::Caller;
use super::{GIVEN_UP_MEMORY, Pending};
use crate::fault::Fault;

/// What comes of a call that wants to be sent.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Turn<T> {
    /// It may be sent.
    Taken(T),
    /// Another conversation has the pipe.
    Blocked(Blocked),
}

/// What keeps a call from being sent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Blocked {
    /// Somebody there thinks about an answer, which may take long.
    pub(crate) by_person: bool,
    /// Until then the server may still be busy with a call that was given up, and ask.
    pub(crate) until: Option<Instant>,
}

impl Pending {
    /// Opens a request for `caller` if no question can be taken for that of another conversation.
    pub(crate) fn enter(&self, caller: &Caller) -> Result<Turn<u64>, Fault> {
        self.with(|table| {
            let is_other = |conversation| conversation != caller.conversation || conversation == 0;
            let mut blocked = None;
            if !caller.may_ask() {
                return table.open(Some(caller.clone())).map(Turn::Taken);
            }
            for entry in table.open.values().filter(|entry| entry.answer.is_none()) {
                let Some(other) = entry.caller.as_ref().filter(|other| other.may_be_asked) else { continue };
                if is_other(other.conversation) {
                    blocked.get_or_insert_with(Blocked::default).by_person |= entry.is_asked;
                }
            }
            for one in table.given_up.iter().filter(|one| one.may_be_asked && one.is_recent()) {
                if is_other(one.conversation) {
                    let blocked = blocked.get_or_insert_with(Blocked::default);
                    blocked.until = blocked.until.max(Some(one.since + GIVEN_UP_MEMORY));
                }
            }
            match blocked {
                Some(blocked) => Ok(Turn::Blocked(blocked)),
                None => table.open(Some(caller.clone())).map(Turn::Taken),
            }
        })
    }
}

impl Blocked {
    /// What keeps a call from both of two connections.
    pub(crate) fn and(self, other: Blocked) -> Blocked {
        Blocked { by_person: self.by_person || other.by_person, until: self.until.max(other.until) }
    }
}
