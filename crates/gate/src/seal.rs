//! Sealing what a tool wants to be given back with the next round of a call.
//!
//! The text travels through a client, which may read nothing in it, change nothing, keep it for later, use
//! it twice, or hand it to another (MCP 2026-07-28, "requestState"). So it is encrypted and authenticated
//! together with the caller, the target and the arguments of the call, has an end, and opens once: which ones were opened
//! is kept in the store, for all processes. A call pays for that only if its tool asks for another round.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::digest::{Context, SHA256};
use serde_json::Value;
use store::{Change, Content, Kind, Secrets, Store, StoreError, replace};

use crate::clock::Clock;
use crate::key_ring::{Ages, KeyRing, RingKey};

/// How long a client may take to come back.
pub const STATE_AGE_MAX: Duration = Duration::from_secs(15 * 60);

/// Longest sealed text that is looked at, in bytes.
pub const STATE_BYTES_MAX: usize = 256 * 1024;

/// Longest text that is sealed, in bytes: sealed and written in base64 it stays under [`STATE_BYTES_MAX`].
pub(crate) const STATE_SEALED_MAX: usize = 190 * 1024;

/// The same in milliseconds.
const STATE_AGE_MAX_MS: i64 = STATE_AGE_MAX.as_millis() as i64;

/// Under which name the keys are kept.
const RING: &str = "seal/state";

/// A key seals for a day, and opens until the last of what it has sealed is over.
const AGES: Ages = Ages { seals_ms: DAY_MS, opens_ms: DAY_MS + STATE_AGE_MAX_MS };

/// A day, in milliseconds.
const DAY_MS: i64 = 24 * 60 * 60 * 1_000;

/// How often states that are over are removed, in milliseconds.
const SWEEP_EVERY_MS: i64 = 60 * 1_000;

/// Why a sealed text does not open. They read alike to whoever tries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum StateFault {
    /// It was not made here, or not for this call, or has been changed.
    #[error("the request state was not given out for this call")]
    Foreign,
    /// It is too old.
    #[error("the request state has expired; call again without it")]
    Expired,
    /// It was used before.
    #[error("the request state has been used already; call again without it")]
    Used,
    /// Too many are under way to tell whether this one was used before.
    #[error("too many calls are in their second round; try again later")]
    Full,
    /// The store or the keys cannot be used: nobody can tell.
    #[error("the request state cannot be opened at the moment; try again later")]
    Unavailable,
}

/// What a text is bound to: digest of the caller, the target and the arguments.
pub struct Binding([u8; 32]);

impl Binding {
    /// Ties to a call of `caller` for `target` with these arguments.
    pub fn new(caller: &str, target: &str, arguments: &Value) -> Binding {
        let mut digest = Context::new(&SHA256);
        for part in [caller, target] {
            digest.update(&(part.len() as u64).to_be_bytes());
            digest.update(part.as_bytes());
        }
        // Maps are sorted, so the same arguments written in another order or with other blanks are the same.
        digest.update(arguments.to_string().as_bytes());
        Binding(digest.finish().as_ref().try_into().expect("SHA-256 has 32 bytes"))
    }
}

/// Seals and opens.
pub struct Sealer {
    ring: KeyRing,
    store: Arc<dyn Store>,
    clock: Clock,
    /// When states that are over were last looked for, in milliseconds since 1970.
    swept_at_ms: AtomicI64,
}

impl Sealer {
    /// With keys of this process alone. What was opened is kept in `store`, by `clock`.
    pub fn new(store: Arc<dyn Store>, clock: fn() -> i64) -> Sealer {
        Sealer { ring: KeyRing::own(RING, Some(AGES)), store, clock, swept_at_ms: AtomicI64::new(0) }
    }

    /// The same with keys that all processes share which have these secrets.
    pub fn keyed_by(self, secrets: Arc<Secrets>) -> Sealer {
        Sealer { ring: self.ring.kept_in(secrets), ..self }
    }

    /// Seals `state`; nothing if no key can be had, which the log then says.
    pub async fn seal(&self, binding: &Binding, state: &str) -> Option<Arc<str>> {
        let now_ms = (self.clock)();
        let key = self.ring.newest(now_ms).await;
        let key =
            key.inspect_err(|error| tracing::error!(%error, "no state of a call can be sealed")).ok()?;
        let mut nonce = [0u8; NONCE_LEN];
        getrandom::fill(&mut nonce).ok()?;
        let mut text = now_ms.saturating_add(STATE_AGE_MAX_MS).to_be_bytes().to_vec();
        text.extend_from_slice(state.as_bytes());
        let bound = Aad::from(binding.0);
        cipher(&key).seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), bound, &mut text).ok()?;
        Some(URL_SAFE_NO_PAD.encode([&key.id.to_be_bytes()[..], &nonce, &text].concat()).into())
    }

    /// Opens what `seal` made, once, in whichever process.
    ///
    /// # Errors
    /// Anything else, in words that do not tell a forger what was wrong.
    pub async fn open(&self, binding: &Binding, sealed: &str) -> Result<Arc<str>, StateFault> {
        if sealed.len() > STATE_BYTES_MAX {
            return Err(StateFault::Foreign);
        }
        let bytes = URL_SAFE_NO_PAD.decode(sealed).map_err(|_| StateFault::Foreign)?;
        let (id, rest) = bytes.split_first_chunk().ok_or(StateFault::Foreign)?;
        let (nonce, text) = rest.split_first_chunk().ok_or(StateFault::Foreign)?;
        let now_ms = (self.clock)();
        let losses = self.store.losses();
        let key = self.ring.find(u32::from_be_bytes(*id), now_ms).await.map_err(unavailable)?;
        let mut text = text.to_vec();
        let plain = cipher(&key.ok_or(StateFault::Foreign)?)
            .open_in_place(Nonce::assume_unique_for_key(*nonce), Aad::from(binding.0), &mut text)
            .map_err(|_| StateFault::Foreign)?;
        let (ends_ms, state) = plain.split_first_chunk().ok_or(StateFault::Foreign)?;
        let state = std::str::from_utf8(state).map_err(|_| StateFault::Foreign)?.into();
        self.use_up(nonce, i64::from_be_bytes(*ends_ms), now_ms).await?;
        // Whether it was used before is known no more.
        if self.store.losses() != losses { Err(StateFault::Unavailable) } else { Ok(state) }
    }

    async fn use_up(&self, nonce: &[u8], ends_ms: i64, now_ms: i64) -> Result<(), StateFault> {
        if ends_ms <= now_ms {
            return Err(StateFault::Expired);
        }
        if (now_ms - self.swept_at_ms.swap(now_ms, Ordering::Relaxed)).abs() >= SWEEP_EVERY_MS {
            self.store.remove_ended(Kind::UsedState, now_ms).await.map_err(unavailable)?;
        }
        let content = Content { ends_at_ms: Some(ends_ms), ..Content::default() };
        let used = Change::put(Kind::UsedState, &URL_SAFE_NO_PAD.encode(nonce), None, content);
        match replace(&*self.store, used).await {
            Ok(Some(_)) => Ok(()),
            // Another process may have opened it.
            Ok(None) => Err(StateFault::Used),
            Err(StoreError::Full { .. }) => Err(StateFault::Full),
            Err(error) => Err(unavailable(error)),
        }
    }
}

fn unavailable(error: StoreError) -> StateFault {
    tracing::error!(%error, "the state of a call cannot be opened");
    StateFault::Unavailable
}

fn cipher(key: &RingKey) -> LessSafeKey {
    LessSafeKey::new(UnboundKey::new(&CHACHA20_POLY1305, &key.bytes).expect("a key of 32 bytes"))
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use serde_json::json;
    use store::{CELLS_PER_KIND_MAX, SqliteStore};

    use super::*;

    thread_local! {
        static NOW_MS: Cell<i64> = const { Cell::new(1_800_000_000_000) };
    }

    fn clock() -> i64 {
        NOW_MS.get()
    }

    /// A process that shares this folder.
    fn process(folder: &tempfile::TempDir) -> Sealer {
        let store = Arc::new(SqliteStore::at(folder.path()));
        Sealer::new(store.clone(), clock).keyed_by(Arc::new(Secrets::new(store, folder.path())))
    }

    fn scratch() -> tempfile::TempDir {
        tempfile::tempdir().expect("a folder")
    }

    #[tokio::test]
    async fn a_state_opens_once_in_time_and_for_its_own_call() {
        let folder = scratch();
        let sealer = process(&folder);
        let own = Binding::new("ann", "tool", &json!({ "a": 1, "b": 2 }));
        let sealed = sealer.seal(&own, "inner \u{e9}").await.expect("a key");
        let others = [
            Binding::new("bob", "tool", &json!({ "a": 1, "b": 2 })),
            Binding::new("ann", "tool2", &json!({ "a": 1, "b": 2 })),
            Binding::new("ann", "tool", &json!({ "a": 1, "b": 3 })),
            Binding::new("annt", "ool", &json!({ "a": 1, "b": 2 })),
        ];
        for other in &others {
            assert_eq!(sealer.open(other, &sealed).await, Err(StateFault::Foreign));
        }
        assert_eq!(process(&scratch()).open(&own, &sealed).await, Err(StateFault::Foreign), "another state");
        for bad in ["", "AAAA", "!!!", &"A".repeat(STATE_BYTES_MAX + 4)] {
            assert_eq!(sealer.open(&own, bad).await, Err(StateFault::Foreign));
        }
        let reordered = Binding::new("ann", "tool", &json!({ "b": 2, "a": 1 }));
        assert_eq!(sealer.open(&reordered, &sealed).await.as_deref(), Ok("inner \u{e9}"));
        assert_eq!(sealer.open(&own, &sealed).await, Err(StateFault::Used));

        let late = sealer.seal(&own, "x").await.expect("a key");
        NOW_MS.set(clock() + STATE_AGE_MAX_MS);
        assert_eq!(sealer.open(&own, &late).await, Err(StateFault::Expired));
    }

    #[tokio::test]
    async fn another_process_opens_it_and_both_only_once() {
        let folder = scratch();
        let own = Binding::new("ann", "tool", &Value::Null);
        let (one, two) = (process(&folder), process(&folder));
        let sealed = [one.seal(&own, "a").await.expect("a key"), one.seal(&own, "b").await.expect("a key")];
        assert_eq!(two.open(&own, &sealed[0]).await.as_deref(), Ok("a"));
        assert_eq!(one.open(&own, &sealed[0]).await, Err(StateFault::Used));
        drop(one);
        NOW_MS.set(clock() + DAY_MS - 1);
        let last = two.seal(&own, "c").await.expect("a key");
        NOW_MS.set(clock() + STATE_AGE_MAX_MS - 1);
        let next = two.seal(&own, "d").await.expect("another key");
        assert_ne!(last[..6], next[..6], "another id");
        let later = process(&folder);
        assert_eq!(later.open(&own, &last).await.as_deref(), Ok("c"), "the older key still opens");
        assert_eq!(later.open(&own, &next).await.as_deref(), Ok("d"));
    }

    #[tokio::test]
    async fn every_changed_byte_is_noticed() {
        let folder = scratch();
        let sealer = process(&folder);
        let own = Binding::new("ann", "tool", &Value::Null);
        let sealed = sealer.seal(&own, "state").await.expect("a key");
        let bytes = URL_SAFE_NO_PAD.decode(&*sealed).expect("what was encoded");
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 1;
            let opened = sealer.open(&own, &URL_SAFE_NO_PAD.encode(changed)).await;
            assert_eq!(opened, Err(StateFault::Foreign), "{at}");
        }
        assert!(sealer.open(&own, &sealed).await.is_ok());
    }

    #[tokio::test]
    async fn what_was_used_is_forgotten_when_it_has_ended() {
        let folder = scratch();
        let sealer = process(&folder);
        let (now_ms, nonces) = (clock(), [[1], [2]]);
        sealer.use_up(&nonces[0], now_ms + 1, now_ms).await.expect("room");
        sealer.use_up(&nonces[1], now_ms + SWEEP_EVERY_MS + 1, now_ms + SWEEP_EVERY_MS).await.expect("room");
        let kept = sealer.store.keys(Kind::UsedState, "").await.expect("a store");
        assert_eq!(kept, [URL_SAFE_NO_PAD.encode(nonces[1])]);
        const { assert!(CELLS_PER_KIND_MAX >= 100_000, "so many may be under way") }
    }

    #[tokio::test]
    #[expect(clippy::disallowed_methods, reason = "the test removes the database")]
    async fn what_was_used_before_a_loss_does_not_open_after_it() {
        let folder = scratch();
        let own = Binding::new("ann", "tool", &Value::Null);
        let sealer = process(&folder);
        let sealed = sealer.seal(&own, "x").await.expect("a key");
        assert!(sealer.open(&own, &sealed).await.is_ok());
        std::fs::remove_file(folder.path().join("toolcrib.db")).expect("it is there");
        assert_eq!(sealer.open(&own, &sealed).await, Err(StateFault::Unavailable));
        assert_eq!(sealer.open(&own, &sealed).await, Err(StateFault::Foreign));
        let anew = sealer.seal(&own, "y").await.expect("another key");
        assert_eq!(process(&folder).open(&own, &anew).await.as_deref(), Ok("y"), "others have that key");
    }

    #[tokio::test]
    async fn where_nothing_can_be_kept_nothing_opens() {
        let folder = scratch();
        let own = Binding::new("ann", "tool", &Value::Null);
        let broken = Arc::new(SqliteStore::at(&folder.path().join("no\0folder")));
        let sealer = Sealer::new(broken.clone(), clock);
        let sealed = sealer.seal(&own, "x").await.expect("a key of its own");
        assert_eq!(sealer.open(&own, &sealed).await, Err(StateFault::Unavailable));
        let keyed =
            Sealer::new(broken.clone(), clock).keyed_by(Arc::new(Secrets::new(broken, folder.path())));
        assert_eq!(keyed.seal(&own, "x").await, None);
    }
}
