//! Answering: who may, what an answer can be, and what follows from it.

use std::sync::Arc;

use policy::{Caller, CallerKind, Roles, Via};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Approvals;
use super::approval_store::{AWAITED_MS, ApprovalStore, no_randomness};
use super::call::WHOLE_KEPT_BYTES_MAX;
use super::code::Code;
use super::fault::AnswerFault;
use super::granted::{Pattern, beginnings, members, no_member};
use super::record::{Answered, Approval, Bound, Grant, State, Through, new_id, time};

/// How long "for this session" lasts at most, in milliseconds: a working day.
const SESSION_MS_MAX: i64 = 8 * 60 * 60 * 1000;

/// Longest remark that is kept with an answer, in characters.
pub const NOTE_CHARS_MAX: usize = 500;

/// What a person says to a question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Answer {
    /// The call may run.
    Approve {
        /// And which calls after it.
        scope: Scope,
        /// A remark, for whoever looks it up later.
        #[serde(default)]
        note: Option<String>,
    },
    /// It may not.
    Deny {
        /// Why, for the model to read.
        #[serde(default)]
        reason: Option<String>,
    },
}

/// How far a permission goes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// This call, once.
    Once,
    /// And every call of this tool, as it is now, by this caller in this session; of what acts on a resource, prompt or
    /// task, only that on the same one.
    Session,
    /// And every call of this tool, as it is now, by this caller with such arguments, until it is revoked.
    Always(Pattern),
    /// And every call of this tool, as it is now, by this caller whose commands all begin as those of this one.
    Beginnings(Lasts),
}

/// How long a standing permission is good.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Lasts {
    /// In this session.
    Session,
    /// Until it is revoked.
    Always,
}

/// What was ended with a caller.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Forgotten {
    /// Standing permissions.
    pub grants: usize,
    /// Questions that were open, and permissions that were not used yet.
    pub approvals: usize,
}

impl Approvals {
    /// Answers a question, over the command line or over HTTP, with the code if there is one. That a command line is a
    /// person's is seen to by [`present`](super::present) before. Blocks on the disk.
    ///
    /// # Errors
    /// Why the answer is not taken. Nothing has changed then.
    pub fn answer(
        &self,
        id: &str,
        answer: &Answer,
        by: &Caller,
        code: Option<&Code>,
    ) -> Result<Approval, AnswerFault> {
        let through = if by.via() == Via::CommandLine { Through::Terminal } else { Through::Rest };
        self.settle(id, answer, by, (through, code))
    }

    /// Takes an answer that was given in this way, with the code if there is one. Blocks on the disk.
    pub(super) fn settle(
        &self,
        id: &str,
        answer: &Answer,
        by: &Caller,
        (through, code): (Through, Option<&Code>),
    ) -> Result<Approval, AnswerFault> {
        let store = &self.store;
        let unknown = || AnswerFault::Unknown(id.to_owned());
        let mut answer = answer.clone();
        if let Answer::Approve { scope, .. } = &mut answer {
            // Whoever may not answer learns nothing of the code, and uses up no tries of it.
            let approval = store.approval(id)?.ok_or_else(unknown)?.record;
            may_answer(&approval, by, through)?;
            is_open(&approval, store.now_ms())?;
            if approval.is_for_once() && *scope != Scope::Once {
                return Err(AnswerFault::OnceOnly(approval.id));
            }
            self.check_code(code)?;
            if *scope == Scope::Once && approval.covers_session() {
                *scope = Scope::Session;
            }
        }
        let grant = match &answer {
            Answer::Approve { scope: Scope::Session | Scope::Always(_) | Scope::Beginnings(_), .. } => {
                Some(new_id().ok_or_else(no_randomness)?)
            }
            Answer::Approve { scope: Scope::Once, .. } | Answer::Deny { .. } => None,
        };
        // Never more than there may be; the answer itself counts all the same.
        let has_room = grant.is_none() || !store.has_all_grants()?;
        let changed: Result<_, AnswerFault> = store.change(id, |approval| {
            may_answer(&approval, by, through)?;
            is_open(&approval, store.now_ms())?;
            let grant = grant.clone().filter(|_| has_room);
            let answered = answered(store, &approval, &answer, by, through, grant.clone());
            let grant = match (&answer, grant) {
                (Answer::Approve { scope, .. }, Some(id)) => self.grant(&approval, scope, id, &answered)?,
                (Answer::Approve { .. } | Answer::Deny { .. }, _) => None,
            };
            let state = match &answer {
                Answer::Approve { .. } => State::Approved,
                Answer::Deny { .. } => State::Denied,
            };
            Ok(Some((Approval { state, answered: Some(answered), ..approval }, grant)))
        });
        let approval = changed?.ok_or_else(unknown)?;
        let (id, tool, by) = (&*approval.id, &*approval.tool, &**by.id());
        tracing::info!(id, tool, by, through = through.as_str(), state = ?approval.state, "an approval was answered");
        self.tell();
        if has_room { Ok(approval) } else { Err(AnswerFault::TooManyGrants(approval.id)) }
    }

    /// The standing permission that an answer gives.
    fn grant(
        &self,
        approval: &Approval,
        scope: &Scope,
        id: Arc<str>,
        answered: &Answered,
    ) -> Result<Option<Grant>, AnswerFault> {
        let (bound, members, beginnings) = match scope {
            Scope::Once => return Ok(None),
            Scope::Session => (self.session(approval), Vec::new(), Vec::new()),
            Scope::Always(pattern) => (Bound::Always, members(approval, pattern)?, Vec::new()),
            Scope::Beginnings(lasts) => {
                let bound = match lasts {
                    Lasts::Session => self.session(approval),
                    Lasts::Always => Bound::Always,
                };
                (bound, vec![no_member(approval)], beginnings(approval)?)
            }
        };
        Ok(Some(Grant {
            id,
            caller: approval.caller.clone(),
            key: approval.key.clone(),
            tool: approval.tool.clone(),
            upstream: approval.upstream.clone(),
            workspace: approval.workspace.clone(),
            definition_sha256: approval.definition_sha256,
            target: approval.target.clone(),
            beside_sha256: approval.beside.as_ref().map(|beside| beside.sha256),
            rules: approval.questions.iter().map(|asked| asked.rule.clone()).collect(),
            members,
            beginnings,
            bound,
            approval: approval.id.clone(),
            by: answered.by.clone(),
            at_ms: answered.at_ms,
        }))
    }

    /// The session of the call that asked. Who has neither a conversation nor a key is known by nothing but this process.
    fn session(&self, approval: &Approval) -> Bound {
        let is_anywhere = approval.key.is_some() && approval.conversation.is_none();
        Bound::Session {
            process: (!is_anywhere).then(|| approval.process.clone()),
            conversation: approval.conversation,
            until_ms: self.store.now_ms().saturating_add(SESSION_MS_MAX),
        }
    }

    /// Takes a standing permission back. Blocks on the disk.
    ///
    /// # Errors
    /// There is none of this id that this caller may take back.
    pub fn revoke(&self, id: &str, by: &Caller) -> Result<Grant, AnswerFault> {
        let unknown = || AnswerFault::UnknownGrant(id.to_owned());
        let grant = self.store.grant(id)?.ok_or_else(unknown)?.record;
        // Giving up a permission of one's own harms nobody.
        if grant.is_over(self.now_ms()) {
            return Err(unknown());
        }
        if !rules_here(by) && grant.caller != *by.id() {
            return Err(unknown());
        }
        let removed = self.store.remove(id)?.ok_or_else(unknown)?;
        // And the permission for the one call that it was given with, if that has not been used.
        self.end(&removed.approval, &[State::Approved])?;
        let (tool, by) = (&*removed.tool, &**by.id());
        tracing::info!(id, tool, by, "a grant was revoked");
        Ok(removed)
    }

    /// Ends all that a caller was permitted or waits for, since who holds its name is nobody any more. Blocks on the
    /// disk.
    ///
    /// # Errors
    /// The store does not do its work; some of it may have ended.
    pub fn forget(&self, caller: &str) -> Result<Forgotten, AnswerFault> {
        let mut forgotten = Forgotten::default();
        for kept in self.store.grants(Some(caller))? {
            forgotten.grants += usize::from(self.store.remove(&kept.record.id)?.is_some());
        }
        for kept in self.store.open_of(caller)? {
            forgotten.approvals +=
                usize::from(self.end(&kept.record.id, &[State::Pending, State::Approved])?);
        }
        self.tell();
        Ok(forgotten)
    }

    /// Ends an open question whose caller has gone, so that nobody answers it for nothing; the same call would ask anew.
    /// Blocks on the disk.
    ///
    /// # Errors
    /// If the store cannot be used: the question then ends by itself, in time.
    pub fn withdraw(&self, id: &str) -> Result<(), AnswerFault> {
        self.end(id, &[State::Pending])?;
        self.tell();
        Ok(())
    }

    /// Ends a question, or a permission that was not used, since its call would do something else by now. Blocks on the disk.
    ///
    /// # Errors
    /// If the store cannot be used.
    pub(crate) fn outdated(&self, id: &str) -> Result<(), AnswerFault> {
        self.end(id, &[State::Pending, State::Approved])?;
        self.tell();
        Ok(())
    }

    /// Says that whoever made this call in this process still waits for its answer, and has nobody else come back for it: the
    /// question ends soon after this was said last. To be said every [`SIGN_EVERY`](super::SIGN_EVERY). Blocks on the disk.
    ///
    /// # Errors
    /// If the store cannot be used.
    pub fn still_waits(&self, id: &str) -> Result<(), AnswerFault> {
        let until_ms = self.store.now_ms().saturating_add(AWAITED_MS);
        self.put_off(id, Some(until_ms), |approval, own| *approval.process == *own)
    }

    /// The same for a call of any client. A question whose id somebody has stays open in any case.
    pub(super) fn still_awaited(&self, id: &str) -> Result<(), AnswerFault> {
        let until_ms = self.store.now_ms().saturating_add(AWAITED_MS);
        self.put_off(id, Some(until_ms), |approval, _| approval.awaited_until_ms.is_some())
    }

    /// Leaves a question open until its end, since somebody who may come back has its id. Blocks on the disk.
    ///
    /// # Errors
    /// If the store cannot be used.
    pub fn leave_open(&self, id: &str) -> Result<(), AnswerFault> {
        self.put_off(id, None, |approval, _| approval.awaited_until_ms.is_some())
    }

    fn put_off(
        &self,
        id: &str,
        until_ms: Option<i64>,
        is_due: fn(&Approval, &str) -> bool,
    ) -> Result<(), AnswerFault> {
        let store = &self.store;
        // One that was answered or tidied away, or stays open anyway, is left as it is.
        let put_off = store.change(id, |approval| {
            let is_due = approval.state == State::Pending && is_due(&approval, &store.process);
            Ok(is_due.then_some((Approval { awaited_until_ms: until_ms, ..approval }, None)))
        });
        put_off.map(drop)
    }

    /// Ends a question, or what was its answer, before its time, if it is in one of these states.
    pub(super) fn end(&self, id: &str, states: &[State]) -> Result<bool, AnswerFault> {
        let now_ms = self.now_ms();
        let ended = self.store.change(id, |approval| {
            let ended = match (approval.state, &approval.answered) {
                (state, _) if !states.contains(&state) => None,
                (State::Pending | State::Denied, _) => Some(Approval { expires_at_ms: now_ms, ..approval }),
                (State::Approved, Some(answered)) => {
                    let answered = Some(Answered { use_until_ms: now_ms, ..answered.clone() });
                    Some(Approval { answered, ..approval })
                }
                (State::Approved | State::Used | State::Expired, _) => None,
            };
            Ok::<_, AnswerFault>(ended.map(|ended| (ended, None)))
        });
        Ok(ended?.is_some())
    }

    /// The standing permissions that a caller may know of, the latest last. Blocks on the disk.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn grants(&self, by: &Caller) -> Result<Vec<Grant>, AnswerFault> {
        let own = (!sees_all(by)).then_some(&**by.id());
        Ok(self.store.grants(own)?.into_iter().map(|kept| kept.record).collect())
    }

    /// The one of this id, if the caller may know of it. Blocks on the disk.
    ///
    /// # Errors
    /// There is none, or the store cannot be read.
    pub fn find_grant(&self, id: &str, by: &Caller) -> Result<Grant, AnswerFault> {
        let found = self.grants(by)?.into_iter().find(|grant| *grant.id == *id);
        found.ok_or_else(|| AnswerFault::UnknownGrant(id.to_owned()))
    }

    /// The questions that a caller may know of, in the order they were asked. Blocks on the disk.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn approvals(&self, by: &Caller) -> Result<Vec<Approval>, AnswerFault> {
        let all = self.store.approvals()?.into_iter().map(|kept| kept.record);
        let mut seen: Vec<_> = all.filter(|approval| may_see(approval, by)).collect();
        seen.sort_by_key(|approval| approval.asked_at_ms);
        Ok(seen)
    }

    /// One question. Blocks on the disk.
    ///
    /// # Errors
    /// There is none of this id that this caller may know of.
    pub fn approval(&self, id: &str, by: &Caller) -> Result<Approval, AnswerFault> {
        let kept = self.store.approval(id)?.map(|kept| kept.record);
        kept.filter(|approval| may_see(approval, by)).ok_or_else(|| AnswerFault::Unknown(id.to_owned()))
    }

    /// The same with all of the arguments, as long as it is open, where they are too long to be kept with it; of very long
    /// ones the beginning. Blocks on the disk.
    ///
    /// # Errors
    /// There is none that this caller may see.
    pub fn whole_approval(&self, id: &str, by: &Caller) -> Result<Approval, AnswerFault> {
        let approval = self.approval(id, by)?;
        let is_open = approval.status(self.now_ms()) == State::Pending;
        let whole = if approval.is_cut && is_open { self.store.whole(&approval.id)? } else { None };
        Ok(match whole {
            Some(arguments) => {
                let is_cut = arguments.len() > WHOLE_KEPT_BYTES_MAX;
                Approval { arguments, is_cut, ..approval }
            }
            None => approval,
        })
    }
}

/// Whether a caller's roles are enough for every question.
pub(super) fn holds_roles(roles: Roles, approvers: &[Roles]) -> bool {
    approvers.iter().all(|needed| needed.meets(roles))
}

pub(super) fn rules_here(by: &Caller) -> bool {
    by.roles().contains(policy::Role::Owner) || by.roles().contains(policy::Role::Maintainer)
}

fn sees_all(by: &Caller) -> bool {
    rules_here(by) || by.roles().contains(policy::Role::Auditor)
}

fn may_see(approval: &Approval, by: &Caller) -> bool {
    sees_all(by) || approval.caller == *by.id() || holds_roles(by.roles(), &approval.approvers())
}

/// A right role, and nobody for themselves: an agent must not be able to allow its own call. So over HTTP whoever shows
/// nothing has no say either: an agent that leaves its key out is nobody in particular. And a key or token counts only if it
/// was said of it that people hold it, whatever its role: agents hold keys of owners, too.
fn may_answer(approval: &Approval, by: &Caller, through: Through) -> Result<(), AnswerFault> {
    if !may_see(approval, by) {
        return Err(AnswerFault::Unknown(approval.id.to_string()));
    }
    if !holds_roles(by.roles(), &approval.approvers()) {
        return Err(AnswerFault::WrongRole { id: approval.id.clone(), roles: approval.roles() });
    }
    let is_own = approval.caller == *by.id();
    match through {
        Through::Rest if by.kind() == CallerKind::LocalUser && !is_own => {
            Err(AnswerFault::Nobody(approval.id.clone()))
        }
        Through::Rest | Through::Grant if is_own => Err(AnswerFault::OwnQuestion(approval.id.clone())),
        Through::Rest if !by.is_person() => Err(AnswerFault::NotAPerson(approval.id.clone())),
        Through::Elicitation if !has_person_at_client(by) => {
            Err(AnswerFault::NotAPerson(approval.id.clone()))
        }
        Through::Rest | Through::Grant | Through::Terminal | Through::Elicitation => Ok(()),
    }
}

/// Whether what a client says of its user counts. Who starts us has a pipe to us that no other program has. Over HTTP and
/// a socket without a key every program of this machine's user may be the client, an agent's `curl` among them.
pub(super) fn has_person_at_client(caller: &Caller) -> bool {
    match caller.kind() {
        CallerKind::LocalUser => caller.via() == Via::Stdio,
        CallerKind::Key | CallerKind::Token => caller.is_person(),
    }
}

fn is_open(approval: &Approval, now_ms: i64) -> Result<(), AnswerFault> {
    if approval.status(now_ms) == State::Pending {
        return Ok(());
    }
    let id = approval.id.clone();
    match &approval.answered {
        Some(answered) => {
            let state = if approval.state == State::Denied { "denied" } else { "approved" };
            Err(AnswerFault::Answered { id, state, by: answered.by.clone(), at: time(answered.at_ms) })
        }
        None => Err(AnswerFault::Expired { id, at: time(approval.ends_at_ms()) }),
    }
}

fn answered(
    store: &ApprovalStore,
    approval: &Approval,
    answer: &Answer,
    by: &Caller,
    through: Through,
    grant: Option<Arc<str>>,
) -> Answered {
    let now_ms = store.now_ms();
    let note = match answer {
        Answer::Approve { note, .. } => note,
        Answer::Deny { reason } => reason,
    };
    let note = note.as_deref().map(str::trim).filter(|note| !note.is_empty());
    Answered {
        by: by.id().clone(),
        through,
        at_ms: now_ms,
        use_until_ms: now_ms.saturating_add(approval.expires_at_ms.saturating_sub(approval.asked_at_ms)),
        note: note.map(|note| {
            super::visible::visible(&note.chars().take(NOTE_CHARS_MAX).collect::<String>()).into()
        }),
        grant,
    }
}
