//! The approvals and standing permissions in the store. Everything here blocks on the disk.

use std::sync::Arc;

use serde::{Serialize, de::DeserializeOwned};
use store::{Store, StoreError, StoredRecord};

use super::call::ExactCall;
use super::record::{Answered, Approval, Grant, State, Status, Through, new_id};
use crate::clock::Clock;

/// Under which kind questions are kept.
pub(super) const APPROVAL: &str = "approval";

/// Under which kind standing permissions are kept.
pub(super) const GRANT: &str = "grant";

/// Under which kind the arguments of open questions are kept that are too long to be kept with them.
const WHOLE: &str = "approval_arguments";

/// Most open questions of one caller. A person who is asked more at once only clicks.
pub const PENDING_PER_CALLER_MAX: usize = 20;

/// Most open questions in all.
pub const PENDING_MAX: usize = 200;

/// Most standing permissions.
pub const GRANTS_MAX: usize = 1_000;

/// Most questions that are kept besides the open ones, for people to look up.
const SETTLED_MAX: usize = 200;

/// Most records that one call tidies away: each is a write of its own.
const SWEPT_AT_ONCE_MAX: usize = 16;

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
pub(super) struct Ledger {
    pub(super) store: Arc<dyn Store>,
    pub(super) clock: Clock,
    /// This run of the program.
    pub(super) process: Arc<str>,
}

impl Ledger {
    pub(super) fn now_ms(&self) -> i64 {
        (self.clock)()
    }

    /// All questions that are kept, the latest change last. What another version wrote and this one cannot read is
    /// passed over: it permits nothing.
    pub(super) fn approvals(&self) -> Result<Vec<Kept<Approval>>, StoreError> {
        Ok(self.store.records(APPROVAL)?.iter().filter_map(read).collect())
    }

    /// All standing permissions that are in force.
    pub(super) fn grants(&self) -> Result<Vec<Kept<Grant>>, StoreError> {
        let now_ms = self.now_ms();
        let kept = self.store.records(GRANT)?;
        Ok(kept.iter().filter_map(read).filter(|kept: &Kept<Grant>| !kept.record.is_over(now_ms)).collect())
    }

    /// The question of this id.
    pub(super) fn approval(&self, id: &str) -> Result<Option<Kept<Approval>>, StoreError> {
        Ok(self.store.record(APPROVAL, id)?.as_ref().and_then(read))
    }

    /// Puts a question in place of the version that was read; false if somebody else came before.
    pub(super) fn put(&self, version: Option<u64>, approval: &Approval) -> Result<bool, StoreError> {
        let is_put =
            self.store.replace_record(APPROVAL, &approval.id, version, Some(&text(approval)))?.is_some();
        if is_put && approval.is_cut && approval.state != State::Pending {
            self.forget_whole(&approval.id)?;
        }
        Ok(is_put)
    }

    /// The arguments of an open question that are too long to be kept with it.
    pub(super) fn whole(&self, id: &str) -> Result<Option<String>, StoreError> {
        Ok(self.store.record(WHOLE, id)?.map(|kept| kept.value))
    }

    fn forget_whole(&self, id: &str) -> Result<(), StoreError> {
        if let Some(kept) = self.store.record(WHOLE, id)? {
            // Whoever was faster has removed it.
            self.store.replace_record(WHOLE, id, Some(kept.version), None)?;
        }
        Ok(())
    }

    /// Keeps a standing permission; false if there are too many.
    pub(super) fn keep(&self, grant: &Grant) -> Result<bool, StoreError> {
        let kept = self.store.records(GRANT)?;
        let now_ms = self.now_ms();
        let is_over =
            |kept: &&StoredRecord| read::<Grant>(kept).is_none_or(|kept| kept.record.is_over(now_ms));
        for over in kept.iter().filter(is_over) {
            // Whoever was faster has removed it.
            self.store.replace_record(GRANT, &over.key, Some(over.version), None)?;
        }
        if kept.iter().filter(|kept| !is_over(kept)).count() >= GRANTS_MAX {
            return Ok(false);
        }
        Ok(self.store.replace_record(GRANT, &grant.id, None, Some(&text(grant)))?.is_some())
    }

    /// Takes a standing permission out; what it was, if there was one.
    pub(super) fn remove(&self, id: &str) -> Result<Option<Grant>, StoreError> {
        for _ in 0..RACES_MAX {
            let Some(stored) = self.store.record(GRANT, id)? else { return Ok(None) };
            let Some(Kept { version, record }) = read::<Grant>(&stored) else { return Ok(None) };
            if self.store.replace_record(GRANT, id, Some(version), None)?.is_some() {
                return Ok(Some(record));
            }
        }
        Ok(None)
    }

    /// How things stand for a call, which waits for the question `known` if it has asked before. Asks if nobody has;
    /// takes the permission if there is one.
    pub(super) fn stand(&self, call: &ExactCall, known: Option<&str>) -> Result<Standing, StoreError> {
        for _ in 0..RACES_MAX {
            if let Some(standing) = self.look(call, known)? {
                return Ok(standing);
            }
        }
        let file = "toolcrib.db";
        Err(StoreError::Busy { file })
    }

    /// The same; nothing if somebody else changed what was looked at.
    fn look(&self, call: &ExactCall, known: Option<&str>) -> Result<Option<Standing>, StoreError> {
        let now_ms = self.now_ms();
        let approvals = self.approvals()?;
        let mine: Vec<&Kept<Approval>> =
            approvals.iter().filter(|kept| call.is_asked_by(&kept.record)).collect();
        if let Some(kept) = mine.iter().find(|kept| kept.record.status(now_ms) == Status::Approved) {
            let used = Approval { state: State::Used, used_at_ms: Some(now_ms), ..kept.record.clone() };
            // It is used once, whichever process is first.
            let is_ours = self.put(Some(kept.version), &used)?;
            return Ok(is_ours.then_some(Standing::Allowed(used)));
        }
        let open = mine.iter().find(|kept| kept.record.status(now_ms) == Status::Pending);
        let granted =
            self.grants()?.into_iter().find(|kept| call.is_granted_by(&kept.record, &self.process, now_ms));
        if let Some(Kept { record: grant, .. }) = granted {
            // A question that is settled by it need not be answered any more.
            if let Some(open) = open {
                let answered = answered_by(&grant, now_ms);
                let settled = Approval {
                    state: State::Used,
                    used_at_ms: Some(now_ms),
                    answered,
                    ..open.record.clone()
                };
                self.put(Some(open.version), &settled)?;
            }
            return Ok(Some(Standing::Granted(grant)));
        }
        // A refusal holds as long as its question would have been open: nobody is asked again at once.
        let refused = |kept: &&&Kept<Approval>| {
            kept.record.state == State::Denied && now_ms < kept.record.expires_at_ms
        };
        if let Some(kept) = mine.iter().rfind(refused) {
            return Ok(Some(Standing::Denied(kept.record.clone())));
        }
        if let Some(open) = open {
            return Ok(Some(Standing::Pending(open.record.clone())));
        }
        let known = mine.iter().find(|kept| Some(&*kept.record.id) == known);
        match known.map(|kept| (kept, kept.record.status(now_ms))) {
            Some((kept, Status::Expired)) => Ok(Some(Standing::Expired(kept.record.clone()))),
            Some((kept, Status::Denied)) => Ok(Some(Standing::Denied(kept.record.clone()))),
            _ => self.ask(call, &approvals, now_ms).map(Some),
        }
    }

    /// Opens a question.
    fn ask(&self, call: &ExactCall, kept: &[Kept<Approval>], now_ms: i64) -> Result<Standing, StoreError> {
        let open = || kept.iter().filter(|kept| kept.record.status(now_ms) == Status::Pending);
        if open().filter(|kept| kept.record.caller == call.caller).count() >= PENDING_PER_CALLER_MAX {
            return Ok(Standing::Full { max: PENDING_PER_CALLER_MAX, is_own_share: true });
        }
        if open().count() >= PENDING_MAX {
            return Ok(Standing::Full { max: PENDING_MAX, is_own_share: false });
        }
        self.sweep(kept, now_ms)?;
        let approval = Approval {
            id: new_id().ok_or_else(no_randomness)?,
            call_sha256: call.hash,
            caller: call.caller.clone(),
            key: call.key.clone(),
            via: call.via.to_owned(),
            tool: call.tool.clone(),
            upstream: call.upstream.clone(),
            definition_sha256: call.definition,
            target: call.target.clone(),
            arguments: call.arguments.clone(),
            arguments_bytes: call.arguments_bytes,
            is_cut: call.is_cut,
            beside: call.beside.clone(),
            members: call.members.clone(),
            questions: call.questions.clone(),
            askers: call.askers.to_vec(),
            process: self.process.clone(),
            conversation: call.conversation,
            asked_at_ms: now_ms,
            expires_at_ms: now_ms.saturating_add(i64::try_from(call.lasts.as_millis()).unwrap_or(i64::MAX)),
            awaited_until_ms: Some(now_ms.saturating_add(AWAITED_MS)),
            state: State::Pending,
            answered: None,
            used_at_ms: None,
        };
        match self.put(None, &approval)? {
            true => {
                if let Some(whole) = &call.whole {
                    self.store.replace_record(WHOLE, &approval.id, None, Some(whole))?;
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
            // Two of one id at once: there are a million millions of them, and the next is another.
            false => self.ask(call, kept, now_ms),
        }
    }

    /// Tidies away the oldest of what is settled.
    fn sweep(&self, kept: &[Kept<Approval>], now_ms: i64) -> Result<(), StoreError> {
        let settled: Vec<_> = kept
            .iter()
            .filter(|kept| {
                let holds = kept.record.state == State::Denied && now_ms < kept.record.expires_at_ms;
                let is_open = matches!(kept.record.status(now_ms), Status::Pending | Status::Approved);
                !is_open && !holds
            })
            .collect();
        let ended =
            kept.iter().filter(|kept| kept.record.is_cut && kept.record.status(now_ms) == Status::Expired);
        for ended in ended.take(SWEPT_AT_ONCE_MAX) {
            self.forget_whole(&ended.record.id)?;
        }
        let surplus = settled.len().saturating_sub(SETTLED_MAX).min(SWEPT_AT_ONCE_MAX);
        for over in settled.iter().take(surplus) {
            // Whoever was faster has removed it.
            self.store.replace_record(APPROVAL, &over.record.id, Some(over.version), None)?;
        }
        Ok(())
    }

    /// Changes a question as `change` says, which is asked again if somebody else came before.
    pub(super) fn change<E: From<StoreError>>(
        &self,
        id: &str,
        missing: impl Fn() -> E,
        change: impl Fn(Approval) -> Result<Approval, E>,
    ) -> Result<Approval, E> {
        for _ in 0..RACES_MAX {
            let kept = self.approval(id)?.ok_or_else(&missing)?;
            let changed = change(kept.record)?;
            if self.put(Some(kept.version), &changed)? {
                return Ok(changed);
            }
        }
        Err(StoreError::Busy { file: "toolcrib.db" }.into())
    }
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

fn read<T: DeserializeOwned>(stored: &StoredRecord) -> Option<Kept<T>> {
    Some(Kept { version: stored.version, record: serde_json::from_str(&stored.value).ok()? })
}

fn text(record: &impl Serialize) -> String {
    serde_json::to_string(record).expect("records are written without maps of other keys")
}
