//! Calls that bear a request id: sent again, such a call gets the answer that it got, and does not run again.
//!
//! A caller that has lost an answer cannot know whether its call ran. With the id it may ask: as long as the id is
//! remembered, the same call gets the same answer, and another one is refused. That the call begins is kept before it runs, so
//! that no crash makes it run twice; after one, nobody knows what it has done, and that is the answer. What was refused
//! before it ran is not remembered: a person may allow it by then.

use std::collections::HashSet;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use audit::Hash;
use policy::Caller;
use store::{Change, Content, Kind, Secrets, Store, StoreError, Whose, replace};
use tool_api::{Outcome, Payload, ToolError};

use crate::clock::Clock;
use crate::failure::Failure;
use crate::kept_result;
use crate::key_ring::{Ages, KEY_ID_BYTES, KeyRing};
use crate::request_fault::RequestFault;

/// Longest request id, in bytes.
pub const REQUEST_ID_BYTES_MAX: usize = 128;

/// How long an id is remembered, in milliseconds.
pub const REMEMBERED_MS: i64 = 24 * 60 * 60 * 1_000;

/// Longest answer that is kept, in bytes: of the many that may be there, each holds its room for a day.
pub const ANSWER_BYTES_MAX: usize = 64 * 1024;

/// How often ids that are over are removed, in milliseconds.
const SWEEP_EVERY_MS: i64 = 60 * 1_000;

/// Under which name the keys are kept that seal answers.
const RING: &str = "seal/request";

/// A key seals for a day, and opens until the last of what it has sealed is over.
const AGES: Ages = Ages { seals_ms: REMEMBERED_MS, opens_ms: 2 * REMEMBERED_MS };

/// How far a call has come, as the first byte of what is kept of it. Then follow the hash of the call, and its answer.
const RUNNING: u8 = 0;
const ANSWERED: u8 = 1;
const NOT_KEPT: u8 = 2;

/// Remembers request ids.
pub(crate) struct Repeats {
    store: Arc<dyn Store>,
    clock: Clock,
    ring: KeyRing,
    /// The calls of this process that run.
    running: Arc<Mutex<HashSet<String>>>,
    /// When ids that are over were last looked for, in milliseconds since 1970.
    swept_at_ms: AtomicI64,
}

/// What is known of a call by its id.
pub(crate) enum Known {
    /// Nothing: it may run.
    Nothing(Box<Ticket>),
    /// What came of it.
    Answer(Box<Result<Outcome, Failure>>),
}

/// The right of a call to run, by its id.
pub(crate) struct Ticket {
    key: String,
    owner: String,
    hash: Hash,
    /// What is there: nothing, or an id that is over.
    version: Option<u64>,
    /// Who else asks for the same call is told that it runs, as long as this is there.
    running: Option<Running>,
}

/// A call that runs, among those of this process.
struct Running {
    all: Arc<Mutex<HashSet<String>>>,
    key: String,
}

impl Drop for Running {
    fn drop(&mut self) {
        lock(&self.all).remove(&self.key);
    }
}

impl Repeats {
    /// With keys of this process alone. What is remembered is kept in `store`, by `clock`.
    pub(crate) fn new(store: Arc<dyn Store>, clock: Clock) -> Repeats {
        let ring = KeyRing::own(RING, Some(AGES));
        Repeats { store, clock, ring, running: Arc::default(), swept_at_ms: AtomicI64::new(0) }
    }

    /// The same with keys that all processes share which have these secrets.
    pub(crate) fn keyed_by(self, secrets: &Arc<Secrets>) -> Repeats {
        Repeats { ring: self.ring.kept_in(secrets.clone()), ..self }
    }

    /// What is known of the call with this hash by its id.
    ///
    /// # Errors
    /// It may not run, and there is no answer.
    pub(crate) async fn look_up(
        &self,
        (caller, workspace): (&Caller, &str),
        id: &str,
        hash: Hash,
    ) -> Result<Known, RequestFault> {
        let now_ms = (self.clock)();
        if (now_ms - self.swept_at_ms.swap(now_ms, Ordering::Relaxed)).abs() >= SWEEP_EVERY_MS {
            let swept = self.store.remove_ended(Kind::Request, now_ms).await;
            swept.map_err(|error| unavailable(&error))?;
        }
        // A later key of the same name is another caller, who is told nothing of what an earlier one got.
        let key = caller.key_id().map_or("", |key| key);
        let parts = [caller.id().as_bytes(), key.as_bytes(), workspace.as_bytes(), id.as_bytes()];
        let key = Hash::of_parts(parts).to_string();
        let found = self.store.cell(Kind::Request, &key).await.map_err(|error| unavailable(&error))?;
        let ticket = |version| Ticket {
            key: key.clone(),
            owner: caller.id().to_string(),
            hash,
            version,
            running: None,
        };
        let Some(found) = found else { return Ok(Known::Nothing(Box::new(ticket(None)))) };
        let kept = Kept::parse(&found.value).ok_or(RequestFault::NotKept)?;
        if kept.ends_at_ms <= now_ms {
            return Ok(Known::Nothing(Box::new(ticket(Some(found.version)))));
        }
        if kept.hash != hash.to_string().as_bytes() {
            return Err(RequestFault::Conflict);
        }
        match kept.state {
            RUNNING if lock(&self.running).contains(&key) => Err(RequestFault::InProgress),
            RUNNING => Err(RequestFault::Interrupted),
            ANSWERED => self.opened(&key, kept.answer).await.map(|answer| Known::Answer(Box::new(answer))),
            _ => Err(RequestFault::NotKept),
        }
    }

    async fn opened(&self, key: &str, sealed: &[u8]) -> Result<Result<Outcome, Failure>, RequestFault> {
        let (id, sealed) = sealed.split_first_chunk::<KEY_ID_BYTES>().ok_or(RequestFault::NotKept)?;
        let ring_key = self.ring.find(u32::from_be_bytes(*id), (self.clock)()).await;
        let ring_key = ring_key.map_err(|error| unavailable(&error))?.ok_or(RequestFault::NotKept)?;
        let text = ring_key.open(key.as_bytes(), sealed).ok_or(RequestFault::NotKept)?;
        kept_result::read(&text).ok_or(RequestFault::NotKept)
    }

    /// Keeps that a call begins. Once this returns, it does not begin again, whatever happens.
    ///
    /// # Errors
    /// The same call has begun meanwhile, or it cannot be kept.
    pub(crate) async fn begin(&self, ticket: &mut Ticket) -> Result<(), RequestFault> {
        // Before it is kept: whoever finds it there is told that it runs.
        if !lock(&self.running).insert(ticket.key.clone()) {
            return Err(RequestFault::InProgress);
        }
        let running = Running { all: self.running.clone(), key: ticket.key.clone() };
        let now_ms = (self.clock)();
        let begun =
            self.put(ticket, (RUNNING, &[]), now_ms).await.map_err(|error| not_begun(&error, now_ms))?;
        // One that was over, and was removed meanwhile, is tried anew by whoever asks.
        ticket.version = Some(begun.ok_or(RequestFault::InProgress)?);
        ticket.running = Some(running);
        Ok(())
    }

    /// Keeps what came of a call that has begun. If that fails, the call is one of which nothing is known.
    pub(crate) async fn end(&self, ticket: &Ticket, result: &Result<Outcome, Failure>) {
        let now_ms = (self.clock)();
        let kept = match result {
            // It is not over.
            Ok(Outcome { payload: Payload::InputRequired { .. }, .. }) => self.withdraw(ticket).await,
            // It has not begun after all.
            Err(Failure::Tool(error)) if error.code() == ToolError::GONE => self.withdraw(ticket).await,
            // We do not know what it has done either.
            Err(Failure::Internal(_)) => return,
            result => {
                let sealed = self.sealed(&ticket.key, result, now_ms).await;
                let kept = sealed.as_ref().map_or((NOT_KEPT, &[][..]), |sealed| (ANSWERED, sealed));
                self.put(ticket, kept, now_ms).await.map(drop)
            }
        };
        if let Err(error) = kept {
            tracing::error!(%error, "what came of a call with a request id cannot be kept");
        }
    }

    /// Forgets what has not begun after all.
    pub(crate) async fn forget(&self, ticket: &Ticket) {
        if let Err(error) = self.withdraw(ticket).await {
            tracing::error!(%error, "a request id cannot be forgotten");
        }
    }

    async fn withdraw(&self, ticket: &Ticket) -> Result<(), StoreError> {
        let Some(version) = ticket.version else { return Ok(()) };
        replace(&*self.store, Change::remove(Kind::Request, &ticket.key, version)).await.map(drop)
    }

    /// Nothing if it is too long, or cannot be sealed.
    async fn sealed(&self, key: &str, result: &Result<Outcome, Failure>, now_ms: i64) -> Option<Vec<u8>> {
        let text = kept_result::write(result, ANSWER_BYTES_MAX)?;
        let ring_key = self.ring.newest(now_ms).await;
        let ring_key = ring_key
            .inspect_err(|error| tracing::error!(%error, "no answer of a call can be sealed"))
            .ok()?;
        let sealed = ring_key.seal(key.as_bytes(), text)?;
        Some([&ring_key.id.to_be_bytes()[..], &sealed].concat())
    }

    async fn put(
        &self,
        ticket: &Ticket,
        (state, answer): (u8, &[u8]),
        now_ms: i64,
    ) -> Result<Option<u64>, StoreError> {
        let ends_at_ms = now_ms.saturating_add(REMEMBERED_MS);
        let value =
            [&[state], &ends_at_ms.to_be_bytes()[..], ticket.hash.to_string().as_bytes(), answer].concat();
        let (owner, ends_at_ms) = (ticket.owner.clone(), Some(ends_at_ms));
        let content = Content { value, owner, ends_at_ms, ..Content::default() };
        replace(&*self.store, Change::put(Kind::Request, &ticket.key, ticket.version, content)).await
    }
}

/// What is kept of a call.
struct Kept<'k> {
    state: u8,
    ends_at_ms: i64,
    /// As it is written.
    hash: &'k [u8],
    answer: &'k [u8],
}

/// The bytes of a written hash.
const HASH_BYTES: usize = 64;

impl Kept<'_> {
    fn parse(value: &[u8]) -> Option<Kept<'_>> {
        let (state, rest) = value.split_first()?;
        let (ends_at_ms, rest) = rest.split_first_chunk()?;
        let (hash, answer) = rest.split_at_checked(HASH_BYTES)?;
        Some(Kept { state: *state, ends_at_ms: i64::from_be_bytes(*ends_at_ms), hash, answer })
    }
}

fn lock(all: &Mutex<HashSet<String>>) -> MutexGuard<'_, HashSet<String>> {
    // What it guards is sound between any two statements.
    all.lock().unwrap_or_else(PoisonError::into_inner)
}

fn not_begun(error: &StoreError, now_ms: i64) -> RequestFault {
    let StoreError::Full { max, of, ends_at_ms, .. } = *error else { return unavailable(error) };
    let whose = match of {
        Whose::Owner => "of one caller",
        Whose::All => "of all callers",
    };
    // What is over has gone by the sweep after its end.
    let ends_in_ms = ends_at_ms.map_or(REMEMBERED_MS, |ends_at_ms| ends_at_ms.saturating_sub(now_ms).max(0));
    let retry_after_ms = ends_in_ms.saturating_add(SWEEP_EVERY_MS).unsigned_abs();
    RequestFault::TooMany { max, whose, retry_after_ms }
}

fn unavailable(error: &StoreError) -> RequestFault {
    RequestFault::Unavailable(error.to_string())
}

#[cfg(test)]
mod tests;
