//! What a server asks in the middle of calls. A question that several clients' calls may have asked waits until those
//! that were answered leave one; it is never put to a client whose call may not be the one.

use std::sync::Arc;

use wire::{Code, Id, WireError};

use super::super::asked::{Kind, Question};
use super::{Happening, Held, Nobody, Pending, QUESTIONS_BYTES_MAX, Table, Via};
use crate::habits::Habit;

/// Questions of one connection that wait to be known whose they are.
pub(super) const HELD_MAX: usize = 1_000;

/// Whose a question can be.
enum Owner {
    Call(u64),
    /// Of several clients, still.
    Several,
    /// Nobody's who could be told.
    Nobody,
}

impl Pending {
    /// Puts a question of the server to the client of the call that it belongs to, now or as soon as that is known.
    ///
    /// # Errors
    /// What the server is told instead.
    pub(crate) fn ask(&self, via: Via, question: Question) -> Result<(), WireError> {
        let task = question.task();
        self.with(|table| {
            let Some(question) = table.ask_of_task(via, task.as_deref(), question)? else { return Ok(()) };
            match table.attribute(via, |caller| caller.may_be_asked, |_| true) {
                Ok((call, _)) => table.put(call, via, question),
                Err(Nobody::NoCall) => Err(unknown(question.kind)),
                Err(Nobody::SeveralClients) => table.hold(question),
            }
        })
    }

    /// The questions that nobody can be asked any more, with what the server is to be told.
    pub(crate) fn take_refused(&self) -> Vec<(Id, WireError)> {
        self.with(|table| std::mem::take(&mut table.refused))
    }
}

impl Table {
    pub(super) fn put(&mut self, call: u64, via: Via, mut question: Question) -> Result<(), WireError> {
        let caller = self.open.get(&call).and_then(|entry| entry.caller.as_ref());
        let caller = caller.ok_or_else(|| unknown(question.kind))?;
        question.of = (via == Via::Shared).then_some(caller.conversation);
        let lacking = question.lacks(&caller.capabilities);
        // Servers ask for roots on their own account as soon as they are connected, whatever call is under way; no
        // call depends on the answer then.
        let is_unrelated = via == Via::Shared && question.kind == Kind::Roots;
        if let Some(habit) = caller.habit.as_ref().filter(|_| lacking.is_none() || !is_unrelated) {
            habit.asks(question.kind.is_for_somebody());
        }
        if let Some(required) = lacking {
            if !is_unrelated {
                self.happened(call, Happening::Lacking(required));
            }
            let method = question.kind.method();
            let why = format!("Method not found: {method}; the client of this call has not declared it");
            return Err(WireError::new(Code::MethodNotFound, why));
        }
        if !self.happened(call, Happening::Asked(question)) {
            return Err(WireError::new(Code::InternalError, "too many requests wait for the client"));
        }
        Ok(())
    }

    /// Keeps a question until it is known whose it is.
    fn hold(&mut self, question: Question) -> Result<(), WireError> {
        let is_full = self.held.len() + self.of_tasks.len() >= HELD_MAX
            || self.questions_bytes + question.bytes() > QUESTIONS_BYTES_MAX;
        // Nothing is heard any more of what was given up, so it would never be known.
        if is_full || self.given_up.iter().any(|one| one.may_be_asked && one.is_recent()) {
            return Err(several());
        }
        let mut calls = Vec::new();
        for (&id, entry) in self.open.iter().filter(|(_, entry)| entry.answer.is_none()) {
            if let Some(caller) = entry.caller.as_ref().filter(|caller| caller.may_be_asked) {
                calls.push((id, caller.habit.clone()));
            }
        }
        self.questions_bytes += question.bytes();
        self.held.push(Held { question, calls });
        Ok(())
    }

    /// Puts those questions that can be one client's only, now that a call has ended.
    pub(super) fn settle_held(&mut self) {
        self.settle_tasks();
        for mut held in std::mem::take(&mut self.held) {
            match self.owner(&mut held.calls) {
                Owner::Several => self.held.push(held),
                Owner::Call(call) => {
                    self.questions_bytes -= held.question.bytes();
                    let id = held.question.id.clone();
                    if let Err(error) = self.put(call, Via::Shared, held.question) {
                        self.refused.push((id, error));
                    }
                }
                Owner::Nobody => {
                    // Each of them may be what asked. From now on each has its turn.
                    held.calls
                        .iter()
                        .filter_map(|(_, habit)| habit.as_ref())
                        .for_each(|habit| habit.asks(held.question.kind.is_for_somebody()));
                    self.questions_bytes -= held.question.bytes();
                    self.refused.push((held.question.id, several()));
                }
            }
        }
    }

    /// Who is left of `calls`, those that were answered taken out: a server that asks does not answer before.
    fn owner(&self, calls: &mut Vec<(u64, Option<Arc<Habit>>)>) -> Owner {
        let is_open = |id: &u64| self.open.get(id).is_some_and(|entry| entry.answer.is_none());
        let conversation_of = |id: &u64| {
            let caller = self.open.get(id).and_then(|entry| entry.caller.as_ref());
            let given_up = || self.given_up.iter().find(|one| one.id == *id).map(|one| one.conversation);
            caller.map(|caller| caller.conversation).or_else(given_up)
        };
        let is_sole = |calls: &[u64]| {
            let mut all = calls.iter().map(conversation_of);
            let first = all.next().flatten();
            calls.len() == 1 || (first != Some(0) && all.all(|one| one == first))
        };
        calls.retain(|(id, _)| is_open(id) || self.given_up.iter().any(|one| one.id == *id));
        let all: Vec<u64> = calls.iter().map(|(id, _)| *id).collect();
        let open: Vec<u64> = all.iter().copied().filter(is_open).collect();
        match open.iter().max() {
            Some(_) if !is_sole(&open) => Owner::Several,
            Some(&newest) if is_sole(&all) => Owner::Call(newest),
            // Nothing more is heard of what was given up, so it stays unknown.
            Some(_) | None => Owner::Nobody,
        }
    }
}

pub(super) fn unknown(kind: Kind) -> WireError {
    WireError::new(Code::MethodNotFound, format!("Method not found: {}", kind.method()))
}

fn several() -> WireError {
    let why = "calls of several clients are under way, or were until a moment ago, and nothing says which of them is \
               asked; call again later";
    WireError::new(Code::InternalError, why)
}
