//! The keys as a serving process knows them: in memory, and never much older than what the store has.
//!
//! Another process may revoke a key at any time. So before what is in memory is relied on, it is seen to be young: the
//! store is asked how often keys were changed, which is cheap, beside the thread that answers, and only if nobody has
//! asked for a while does a request wait for it.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use arc_swap::ArcSwap;
use gate::keys::key::{self, Id, NoKey};
use gate::keys::{KEYS_MAX, KeyEntry, USE_NOTED_MS};
use gate::{Caller, CallerKind, Proof, Via};
use store::{Kind, Query, Store, StoreError, wait};
use tokio::sync::{Mutex, OwnedMutexGuard};
use tokio::time::{Instant, timeout};

use super::unknown::Unknown;

/// What is younger is relied on without a look.
const YOUNG: Duration = Duration::from_millis(500);

/// What is older is not relied on: a request waits for the look. So a revoked key is good for no longer.
const OLD: Duration = Duration::from_secs(1);

/// A key that is not known may have just been created: then there is another look, but not more often than this.
const LOOK_AGAIN: Duration = Duration::from_millis(5);

/// How long a request waits for a look. A disk that answers at all is a thousand times as fast.
const LOOK_MAX: Duration = Duration::from_secs(5);

/// The keys of one process.
#[derive(Clone)]
pub(super) struct Keys {
    store: Arc<dyn Store>,
    seen: Arc<ArcSwap<Seen>>,
    /// Held while the store is asked, so that it is asked once.
    turn: Arc<Mutex<()>>,
}

/// What the store had at a moment.
struct Seen {
    keys: Arc<HashMap<Id, Known>>,
    /// How often keys had been changed by then; nothing before the first look.
    changes: Option<u64>,
    /// Whether there had ever been a key by then.
    was_any: bool,
    /// When the look began.
    at: Option<Instant>,
}

/// What is known of a key; by default of one that cannot be read, whose hash no key has.
#[derive(Default)]
struct Known {
    id: String,
    hash: [u8; 32],
    /// Nothing for one that means nothing to this release.
    caller: Option<Caller>,
    expires_ms: Option<i64>,
    /// When its use was last noted, in milliseconds since 1970.
    noted_ms: AtomicI64,
}

impl Keys {
    /// Those in this store. Nothing is asked yet.
    pub(super) fn new(store: Arc<dyn Store>) -> Keys {
        let seen = Seen { keys: Arc::default(), changes: None, was_any: false, at: None };
        Keys { store, seen: Arc::new(ArcSwap::from_pointee(seen)), turn: Arc::default() }
    }

    /// Whether any key was created and not revoked.
    ///
    /// # Errors
    /// They cannot be read.
    pub(super) async fn is_any(&self) -> Result<bool, Unknown> {
        self.look_if_old().await?;
        Ok(!self.seen.load().keys.is_empty())
    }

    /// Whether any key was ever created, be it revoked by now.
    ///
    /// # Errors
    /// They cannot be read.
    pub(super) async fn was_any(&self) -> Result<bool, Unknown> {
        self.look_if_old().await?;
        Ok(self.seen.load().was_any)
    }

    /// The holder of this key.
    ///
    /// # Errors
    /// It is no key, or not good, or the keys cannot be read.
    pub(super) async fn holder(&self, text: &str, now_ms: i64) -> Result<Caller, Unknown> {
        let id = key::id_of(text).map_err(no_key)?;
        self.look_if_old().await?;
        let mut seen = self.seen.load();
        if !seen.keys.contains_key(&id) {
            key::check_whole(text).map_err(no_key)?;
            if seen.is_older_than(LOOK_AGAIN) {
                self.look(LOOK_AGAIN).await?;
                seen = self.seen.load();
            }
        }
        let hash = key::hash(text);
        let Some(known) = seen.keys.get(&id).filter(|known| key::is_same(&known.hash, &hash)) else {
            key::check_whole(text).map_err(no_key)?;
            return Err(Unknown::invalid("this key is not known; it may have been revoked"));
        };
        if known.expires_ms.is_some_and(|expires_ms| expires_ms <= now_ms) {
            return Err(Unknown::Expired("this key has expired; ask for another".into()));
        }
        let Some(caller) = &known.caller else {
            return Err(Unknown::invalid(
                "this key was made by another release of toolcrib, which knows roles or scopes that this one does not",
            ));
        };
        self.note_use(known, now_ms);
        Ok(caller.clone())
    }

    /// Whether there is still a key that makes this caller what it is.
    ///
    /// # Errors
    /// The keys cannot be read.
    pub(super) async fn has(&self, caller: &Caller, now_ms: i64) -> Result<bool, Unknown> {
        self.look_if_old().await?;
        let is_same = |known: &Known| {
            let own = known
                .caller
                .as_ref()
                .filter(|_| known.expires_ms.is_none_or(|expires_ms| now_ms < expires_ms));
            own.is_some_and(|own| {
                own.id() == caller.id()
                    && own.proof() == caller.proof()
                    && own.roles() == caller.roles()
                    && own.scopes() == caller.scopes()
            })
        };
        Ok(self.seen.load().keys.values().any(is_same))
    }

    /// Sees to it that what is in memory is young, and waits for that only if it is old.
    async fn look_if_old(&self) -> Result<(), Unknown> {
        let (is_old, is_young) = {
            let seen = self.seen.load();
            (seen.is_older_than(OLD), !seen.is_older_than(YOUNG))
        };
        if is_old {
            return self.look(OLD).await;
        }
        if !is_young && let Ok(turn) = self.turn.clone().try_lock_owned() {
            let keys = self.clone();
            // Nobody waits for it. What goes wrong is seen by the look that somebody waits for.
            drop(tokio::task::spawn_blocking(move || keys.refresh(turn)));
        }
        Ok(())
    }

    /// Asks the store, unless somebody else has done so in the meantime and what is in memory is no older than this.
    async fn look(&self, age_max: Duration) -> Result<(), Unknown> {
        let looked = timeout(LOOK_MAX, async {
            let turn = self.turn.clone().lock_owned().await;
            if !self.seen.load().is_older_than(age_max) {
                return Ok(Ok(()));
            }
            let keys = self.clone();
            tokio::task::spawn_blocking(move || keys.refresh(turn)).await
        });
        let why = match looked.await {
            Ok(Ok(Ok(()))) => return Ok(()),
            Ok(Ok(Err(error))) => {
                tracing::error!(%error, "the API keys cannot be read, so nobody is let in by one");
                "the keys cannot be read at the moment; the server's log says why"
            }
            Ok(Err(_)) => "the server is ending",
            Err(_) => {
                tracing::error!("the API keys could not be read in time, so nobody is let in by one");
                "the keys cannot be read at the moment, as the disk does not answer"
            }
        };
        Err(Unknown::unavailable(why))
    }

    fn note_use(&self, known: &Known, now_ms: i64) {
        let noted_ms = known.noted_ms.load(Ordering::Relaxed);
        if (now_ms - noted_ms).abs() < USE_NOTED_MS {
            return;
        }
        known.noted_ms.store(now_ms, Ordering::Relaxed);
        let (store, id) = (self.store.clone(), known.id.clone());
        // Nobody waits for it.
        tokio::spawn(async move {
            let noted = store.overwrite(Kind::KeyUse, &id, now_ms.to_string().into()).await;
            if let Err(error) = noted {
                tracing::warn!(%error, "the last use of a key could not be noted");
            }
        });
    }

    /// Reads the keys if they have changed. Waits for the disk.
    fn refresh(&self, _turn: OwnedMutexGuard<()>) -> Result<(), StoreError> {
        let at = Some(Instant::now());
        // Before the keys: what changes in between is read again by the next look.
        let changes = Some(wait(self.store.changes(Kind::Key))?);
        let seen = self.seen.load();
        // What has once been seen stays true, whatever becomes of the folder.
        let was_any = seen.was_any || wait(self.store.was_any(Kind::Key))?;
        let keys = if seen.changes == changes { seen.keys.clone() } else { Arc::new(self.read(&seen)?) };
        self.seen.store(Arc::new(Seen { keys, changes, was_any, at }));
        Ok(())
    }

    fn read(&self, before: &Seen) -> Result<HashMap<Id, Known>, StoreError> {
        let mut keys = HashMap::new();
        let query = Query { limit: KEYS_MAX, ..Query::all(Kind::Key) };
        for record in &wait(self.store.cells(&query))? {
            let entry = KeyEntry::of(record);
            let parts =
                entry.and_then(|entry| Some((Id::try_from(entry.id.as_bytes()).ok()?, entry.hash()?, entry)));
            let Some((id, hash, entry)) = parts else {
                tracing::warn!(
                    name = record.key,
                    "the record of an API key cannot be read; the key is refused"
                );
                // It still says that there are keys: what cannot be read opens nothing.
                keys.insert(Id::default(), Known::default());
                continue;
            };
            let caller = entry.rights().map(|(roles, scopes)| {
                let name = entry.caller().into();
                let proof = Proof::Key(entry.id.as_str().into());
                let caller = Caller::new(name, CallerKind::Key, roles, scopes, Via::Http).with_proof(proof);
                if entry.person { caller.as_person() } else { caller }
            });
            let noted_ms =
                before.keys.get(&id).map_or(i64::MIN / 2, |known| known.noted_ms.load(Ordering::Relaxed));
            let noted_ms = AtomicI64::new(noted_ms);
            keys.insert(id, Known { id: entry.id, hash, caller, expires_ms: entry.expires_ms, noted_ms });
        }
        Ok(keys)
    }
}

impl Seen {
    fn is_older_than(&self, age: Duration) -> bool {
        self.at.is_none_or(|at| at.elapsed() > age)
    }
}

fn no_key(why: NoKey) -> Unknown {
    match why {
        NoKey::Form => Unknown::invalid(
            "this is no key of toolcrib: they look like tc_AbCd12_ and 49 letters and digits",
        ),
        NoKey::Checksum => Unknown::invalid("this key is not whole: its checksum is wrong; copy it again"),
    }
}
