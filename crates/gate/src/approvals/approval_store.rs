//! The approvals and standing permissions in the store, found by what is asked of them. Everything here blocks: it
//! belongs on a thread that may wait.

use std::sync::Arc;

use serde::{Serialize, de::DeserializeOwned};
use store::{Cell, Change, Content, Kind, Query, Store, StoreError, every, wait};

use super::call::ExactCall;
use super::record::{Answered, Approval, Bound, Grant, State, Through, new_id};
use super::would_change::WouldChange;
use crate::clock::Clock;

/// Most open questions of one caller. A person who is asked more at once only clicks.
pub const PENDING_PER_CALLER_MAX: usize = 20;

/// Most open questions in all.
pub const PENDING_MAX: usize = 200;

/// Most standing permissions.
pub const GRANTS_MAX: usize = 1_000;

/// Most questions that are kept besides the open ones, for people to look up.
const SETTLED_MAX: u64 = 200;

/// Most records that one call tidies away.
const SWEPT_AT_ONCE_MAX: u64 = 16;

/// How often a change is tried again that somebody else came before.
pub(super) const RACES_MAX: usize = 16;

/// How long a question outlives the last sign of a call that waits for it, in milliseconds: its process may have been
/// killed.
pub(super) const AWAITED_MS: i64 = 15_000;

/// A kept record with its version.
pub(super) struct Kept<T> {
    pub(super) version: u64,
    pub(super) record: T,
}

/// How things stand for a call.
#[derive(Debug)]
pub(super) enum Standing {
    /// A standing permission answers it.
    Granted(Grant),
    /// A person has allowed exactly this call; the permission is used up by it.
    Allowed(Approval),
    /// A person has refused it.
    Denied(Approval),
    /// It waits for a person.
    Pending(Approval),
    /// The question it waited for has ended.
    Expired(Approval),
    /// What the caller was let in by has been taken back.
    Stranger,
    /// Too many questions are open: how many may be, and whether it is this caller's share.
    Full { max: usize, is_own_share: bool },
}

/// Reads and writes them.
pub(super) struct ApprovalStore {
    pub(super) store: Arc<dyn Store>,
    pub(super) clock: Clock,
    /// This run of the program.
    pub(super) process: Arc<str>,
}

impl ApprovalStore {
    pub(super) fn now_ms(&self) -> i64 {
        (self.clock)()
    }

    /// The questions that are meant, the latest change last. What another version wrote and this one cannot read is
    /// passed over: it permits nothing.
    fn find<T: DeserializeOwned>(&self, query: &Query) -> Result<Vec<Kept<T>>, StoreError> {
        Ok(wait(self.store.cells(query))?.iter().filter_map(read).collect())
    }

    /// All questions that are kept: the open ones, and those of late.
    pub(super) fn approvals(&self) -> Result<Vec<Kept<Approval>>, StoreError> {
        let all = wait(every(&*self.store, Query::all(Kind::Approval)))?;
        Ok(all.iter().filter_map(read).collect())
    }

    /// The questions of one caller that are open, and the permissions that were not used yet.
    pub(super) fn open_of(&self, caller: &str) -> Result<Vec<Kept<Approval>>, StoreError> {
        let states = vec![State::Pending.as_str(), State::Approved.as_str()];
        self.find(&Query { owner: Some(caller.to_owned()), states, ..self.unended(Kind::Approval) })
    }

    /// The standing permissions that are in force, all of them or one caller's.
    pub(super) fn grants(&self, caller: Option<&str>) -> Result<Vec<Kept<Grant>>, StoreError> {
        self.find(&Query { owner: caller.map(str::to_owned), ..self.unended(Kind::Grant) })
    }

    fn unended(&self, kind: Kind) -> Query {
        Query { ends_after_ms: Some(self.now_ms()), ..Query::all(kind) }
    }

    /// The question of this id.
    pub(super) fn approval(&self, id: &str) -> Result<Option<Kept<Approval>>, StoreError> {
        Ok(wait(self.store.cell(Kind::Approval, id))?.as_ref().and_then(read))
    }

    /// The standing permission of this id.
    pub(super) fn grant(&self, id: &str) -> Result<Option<Kept<Grant>>, StoreError> {
        Ok(wait(self.store.cell(Kind::Grant, id))?.as_ref().and_then(read))
    }

    /// Puts a question in place of the version that was read, together with the permission that its answer gives; false
    /// if somebody else came before.
    fn put(
        &self,
        version: Option<u64>,
        approval: &Approval,
        grant: Option<&Grant>,
    ) -> Result<bool, StoreError> {
        let mut changes = vec![Change::put(Kind::Approval, &approval.id, version, approval_cell(approval))];
        changes.extend(grant.map(|grant| Change::put(Kind::Grant, &grant.id, None, grant_cell(grant))));
        if approval.is_cut && approval.state != State::Pending {
            // Nobody looks at all of the arguments any more.
            let whole = wait(self.store.cell(Kind::ApprovalArguments, &approval.id))?;
            changes.extend(
                whole.map(|whole| Change::remove(Kind::ApprovalArguments, &whole.key, whole.version)),
            );
        }
        Ok(wait(self.store.commit(changes))?.is_some())
    }

    /// The arguments of an open question that are too long to be kept with it.
    pub(super) fn whole(&self, id: &str) -> Result<Option<String>, StoreError> {
        let kept = wait(self.store.cell(Kind::ApprovalArguments, id))?;
        Ok(kept.and_then(|kept| String::from_utf8(kept.value).ok()))
    }

    /// Whether there is no room for another standing permission.
    pub(super) fn has_all_grants(&self) -> Result<bool, StoreError> {
        wait(self.store.remove_ended(Kind::Grant, self.now_ms()))?;
        Ok(wait(self.store.count(&Query::all(Kind::Grant)))? >= GRANTS_MAX as u64)
    }

    /// Takes a standing permission out; what it was, if there was one.
    pub(super) fn remove(&self, id: &str) -> Result<Option<Grant>, StoreError> {
        for _ in 0..RACES_MAX {
            let Some(Kept { version, record }) = self.grant(id)? else { return Ok(None) };
            if wait(self.store.commit(vec![Change::remove(Kind::Grant, id, version)]))?.is_some() {
                return Ok(Some(record));
            }
        }
        Ok(None)
    }

    /// The standing permission that answers all that is asked about a call, if there is one.
    pub(super) fn granted(&self, call: &ExactCall) -> Result<Option<Grant>, StoreError> {
        let granted = self.find::<Grant>(&Query {
            owner: Some(call.question.caller.to_string()),
            topic: Some(call.question.tool.clone()),
            ..self.unended(Kind::Grant)
        })?;
        let now_ms = self.now_ms();
        let mut granted = granted.into_iter().map(|kept| kept.record);
        Ok(granted.find(|grant| call.is_granted_by(grant, &self.process, now_ms)))
    }

    /// What somebody has said no to, in another call, as long as its question would have been open.
    pub(super) fn denied_of_late(&self, call: &ExactCall) -> Result<Option<Approval>, StoreError> {
        let denied = self.find::<Approval>(&Query {
            owner: Some(call.question.caller.to_string()),
            states: vec![State::Denied.as_str()],
            ..self.unended(Kind::Approval)
        })?;
        let mut denied = denied.into_iter().map(|kept| kept.record);
        Ok(denied.rfind(|denied| call.wants_the_same(denied)))
    }

    /// What people were shown that such a call would change and may still answer, or have answered; the latest first.
    pub(super) fn shown(&self, call: &ExactCall) -> Result<Vec<(Arc<str>, WouldChange)>, StoreError> {
        let now_ms = self.now_ms();
        let same = Query { topic: Some(call.question.call_sha256.to_string()), ..Query::all(Kind::Approval) };
        let mut mine: Vec<Approval> = self.find(&same)?.into_iter().map(|kept| kept.record).collect();
        mine.retain(|it| match it.status(now_ms) {
            State::Pending | State::Approved => true,
            State::Denied => now_ms < it.expires_at_ms,
            State::Used | State::Expired => false,
        });
        let shown = |it: Approval| Some((it.id, it.would_change?));
        Ok(mine.into_iter().rev().filter_map(shown).collect())
    }

    /// How things stand for a call, which waits for the question `known` if it has asked before. Asks if nobody has;
    /// takes the permission if there is one.
    pub(super) fn stand(&self, call: &ExactCall, known: Option<&str>) -> Result<Standing, StoreError> {
        for _ in 0..RACES_MAX {
            if let Some(standing) = self.look(call, known)? {
                return Ok(standing);
            }
        }
        Err(StoreError::Busy)
    }

    /// The same; nothing if somebody else changed what was looked at.
    fn look(&self, call: &ExactCall, known: Option<&str>) -> Result<Option<Standing>, StoreError> {
        let now_ms = self.now_ms();
        let same = Query { topic: Some(call.question.call_sha256.to_string()), ..Query::all(Kind::Approval) };
        let mut mine: Vec<Kept<Approval>> = self.find(&same)?;
        mine.retain(|kept| call.is_asked_by(&kept.record));
        if let Some(kept) = mine.iter().find(|kept| kept.record.status(now_ms) == State::Approved) {
            let used = Approval { state: State::Used, used_at_ms: Some(now_ms), ..kept.record.clone() };
            // It is used once, whichever process is first.
            let is_ours = self.put(Some(kept.version), &used, None)?;
            return Ok(is_ours.then_some(Standing::Allowed(used)));
        }
        let open = mine.iter().find(|kept| kept.record.status(now_ms) == State::Pending);
        if let Some(grant) = self.granted(call)? {
            // A question that is settled by it need not be answered any more.
            if let Some(open) = open {
                let answered = answered_by(&grant, now_ms);
                let settled = Approval {
                    state: State::Used,
                    used_at_ms: Some(now_ms),
                    answered,
                    ..open.record.clone()
                };
                self.put(Some(open.version), &settled, None)?;
            }
            return Ok(Some(Standing::Granted(grant)));
        }
        // A refusal holds as long as its question would have been open: nobody is asked again at once.
        let refused =
            |kept: &&Kept<Approval>| kept.record.state == State::Denied && now_ms < kept.record.expires_at_ms;
        if let Some(kept) = mine.iter().rfind(refused) {
            return Ok(Some(Standing::Denied(kept.record.clone())));
        }
        if let Some(open) = open {
            return Ok(Some(Standing::Pending(open.record.clone())));
        }
        let known = mine.iter().find(|kept| Some(&*kept.record.id) == known);
        match known.map(|kept| (kept, kept.record.status(now_ms))) {
            Some((kept, State::Expired)) => Ok(Some(Standing::Expired(kept.record.clone()))),
            Some((kept, State::Denied)) => Ok(Some(Standing::Denied(kept.record.clone()))),
            _ => self.ask(call, now_ms).map(Some),
        }
    }

    /// Opens a question.
    fn ask(&self, call: &ExactCall, now_ms: i64) -> Result<Standing, StoreError> {
        let states = vec![State::Pending.as_str()];
        let open = Query { states, ..self.unended(Kind::Approval) };
        let own = Query { owner: Some(call.question.caller.to_string()), ..open.clone() };
        for (query, max, is_own_share) in [(own, PENDING_PER_CALLER_MAX, true), (open, PENDING_MAX, false)] {
            if wait(self.store.count(&query))? >= max as u64 {
                return Ok(Standing::Full { max, is_own_share });
            }
        }
        self.sweep(now_ms)?;
        let approval = Approval {
            id: new_id().ok_or_else(no_randomness)?,
            process: self.process.clone(),
            asked_at_ms: now_ms,
            expires_at_ms: now_ms.saturating_add(i64::try_from(call.lasts.as_millis()).unwrap_or(i64::MAX)),
            awaited_until_ms: Some(now_ms.saturating_add(AWAITED_MS)),
            ..call.question.clone()
        };
        let mut changes = vec![Change::put(Kind::Approval, &approval.id, None, approval_cell(&approval))];
        changes.extend(call.whole.as_ref().map(|whole| {
            let ends_at_ms = Some(approval.expires_at_ms);
            let content = Content { ends_at_ms, ..Content::from(whole.as_str()) };
            Change::put(Kind::ApprovalArguments, &approval.id, None, content)
        }));
        if wait(self.store.commit(changes))?.is_none() {
            // Two of one id at once: there are a million millions of them, and the next is another.
            return self.ask(call, now_ms);
        }
        let (id, tool, caller) = (&*approval.id, &*approval.tool, &*approval.caller);
        tracing::warn!(
            id,
            tool,
            caller,
            "a call waits for a person: toolcrib approvals show {id}, then approve {id} or deny {id}"
        );
        Ok(Standing::Pending(approval))
    }

    /// Tidies away the oldest of what is settled.
    fn sweep(&self, now_ms: i64) -> Result<(), StoreError> {
        wait(self.store.remove_ended(Kind::ApprovalArguments, now_ms))?;
        let settled = Query { ended_by_ms: Some(now_ms), ..Query::all(Kind::Approval) };
        let surplus = wait(self.store.count(&settled))?.saturating_sub(SETTLED_MAX).min(SWEPT_AT_ONCE_MAX);
        if surplus == 0 {
            return Ok(());
        }
        let oldest = wait(self.store.cells(&Query { limit: surplus as usize, ..settled }))?;
        let remove = |over: Cell| Change::remove(Kind::Approval, &over.key, over.version);
        // Whoever was faster has removed them.
        wait(self.store.commit(oldest.into_iter().map(remove).collect()))?;
        Ok(())
    }

    /// Changes a question as `change` says, which is asked again if somebody else came before, and keeps the permission
    /// that goes with it. Nothing if there is no such question, or `change` leaves it as it is.
    pub(super) fn change<E: From<StoreError>>(
        &self,
        id: &str,
        change: impl Fn(Approval) -> Result<Option<(Approval, Option<Grant>)>, E>,
    ) -> Result<Option<Approval>, E> {
        for _ in 0..RACES_MAX {
            let Some(kept) = self.approval(id)? else { return Ok(None) };
            let Some((changed, grant)) = change(kept.record)? else { return Ok(None) };
            if self.put(Some(kept.version), &changed, grant.as_ref())? {
                return Ok(Some(changed));
            }
        }
        Err(StoreError::Busy.into())
    }
}

/// A question as it is kept: it ends when it can be tidied away.
fn approval_cell(approval: &Approval) -> Content {
    let ends_at_ms = match (approval.state, &approval.answered) {
        (State::Pending, _) => approval.ends_at_ms(),
        (State::Approved, Some(answered)) => answered.use_until_ms,
        (State::Used, _) => approval.used_at_ms.unwrap_or(approval.expires_at_ms),
        // A refusal holds as long as its question would have been open.
        (State::Denied | State::Approved | State::Expired, _) => approval.expires_at_ms,
    };
    Content {
        owner: approval.caller.to_string(),
        topic: approval.call_sha256.to_string(),
        state: approval.state.as_str().to_owned(),
        ends_at_ms: Some(ends_at_ms),
        ..Content::from(text(approval))
    }
}

fn grant_cell(grant: &Grant) -> Content {
    let ends_at_ms = match grant.bound {
        Bound::Session { until_ms, .. } => Some(until_ms),
        Bound::Always => None,
    };
    let (owner, topic) = (grant.caller.to_string(), grant.tool.clone());
    Content { owner, topic, ends_at_ms, ..Content::from(text(grant)) }
}

/// The answer of a standing permission.
fn answered_by(grant: &Grant, now_ms: i64) -> Option<Answered> {
    Some(Answered {
        by: grant.by.clone(),
        through: Through::Grant,
        at_ms: now_ms,
        use_until_ms: now_ms,
        note: None,
        grant: Some(grant.id.clone()),
    })
}

pub(super) fn no_randomness() -> StoreError {
    StoreError::Database("the system gives no randomness for an id".into())
}

fn read<T: DeserializeOwned>(cell: &Cell) -> Option<Kept<T>> {
    Some(Kept { version: cell.version, record: serde_json::from_slice(&cell.value).ok()? })
}

fn text(record: &impl Serialize) -> String {
    serde_json::to_string(record).expect("records are written without maps of other keys")
}
