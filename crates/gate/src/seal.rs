//! Sealing what a tool wants to be given back with the next round of a call.
//!
//! The text travels through a client, which may read nothing in it, change nothing, keep it for later, use
//! it twice, or hand it to another (MCP 2026-07-28, "requestState"). So it is encrypted and authenticated
//! together with the caller, the target and the arguments of the call, has an end, and opens once. The key
//! lives as long as the process.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::digest::{Context, SHA256};
use serde_json::Value;
use tokio::time::Instant;

/// How long a client may take to come back.
pub const STATE_AGE_MAX: Duration = Duration::from_secs(15 * 60);

/// Longest sealed text that is looked at, in bytes.
pub const STATE_BYTES_MAX: usize = 256 * 1024;

/// Longest text that is sealed, in bytes: sealed and written in base64 it stays under [`STATE_BYTES_MAX`].
pub(crate) const STATE_SEALED_MAX: usize = 190 * 1024;

/// Sealed texts that were opened and could still be presented again. More cannot be told apart from those
/// that come twice, so no more are opened until some have ended.
const OPENED_MAX: usize = 100_000;

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
    key: LessSafeKey,
    since: Instant,
    /// The nonces of texts that were opened, and when each text ends by itself.
    opened: Mutex<HashMap<[u8; NONCE_LEN], u64>>,
}

impl Sealer {
    /// With a key that nobody knows.
    pub fn new(random: &[u8; 32]) -> Sealer {
        let key = UnboundKey::new(&CHACHA20_POLY1305, random).expect("a key of 32 bytes");
        Sealer { key: LessSafeKey::new(key), since: Instant::now(), opened: Mutex::default() }
    }

    fn now_ms(&self) -> u64 {
        u64::try_from(self.since.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// Seals `state`; nothing if the system gives no randomness, without which nothing can be sealed.
    pub fn seal(&self, binding: &Binding, state: &str) -> Option<Arc<str>> {
        let mut nonce = [0u8; NONCE_LEN];
        getrandom::fill(&mut nonce).ok()?;
        let ends_ms = self.now_ms() + u64::try_from(STATE_AGE_MAX.as_millis()).unwrap_or(u64::MAX);
        let mut text = ends_ms.to_be_bytes().to_vec();
        text.extend_from_slice(state.as_bytes());
        let bound = Aad::from(binding.0);
        self.key.seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), bound, &mut text).ok()?;
        Some(URL_SAFE_NO_PAD.encode([&nonce[..], &text].concat()).into())
    }

    /// Opens what `seal` made, once.
    ///
    /// # Errors
    /// Anything else, in words that do not tell a forger what was wrong.
    pub fn open(&self, binding: &Binding, sealed: &str) -> Result<Arc<str>, StateFault> {
        if sealed.len() > STATE_BYTES_MAX {
            return Err(StateFault::Foreign);
        }
        let bytes = URL_SAFE_NO_PAD.decode(sealed).map_err(|_| StateFault::Foreign)?;
        let (nonce, text) = bytes.split_at_checked(NONCE_LEN).ok_or(StateFault::Foreign)?;
        let nonce: [u8; NONCE_LEN] = nonce.try_into().map_err(|_| StateFault::Foreign)?;
        let mut text = text.to_vec();
        let plain = self
            .key
            .open_in_place(Nonce::assume_unique_for_key(nonce), Aad::from(binding.0), &mut text)
            .map_err(|_| StateFault::Foreign)?;
        let (ends_ms, state) = plain.split_at_checked(size_of::<u64>()).ok_or(StateFault::Foreign)?;
        let ends_ms = u64::from_be_bytes(ends_ms.try_into().map_err(|_| StateFault::Foreign)?);
        let state = std::str::from_utf8(state).map_err(|_| StateFault::Foreign)?;
        self.use_up(nonce, ends_ms)?;
        Ok(state.into())
    }

    fn use_up(&self, nonce: [u8; NONCE_LEN], ends_ms: u64) -> Result<(), StateFault> {
        let now_ms = self.now_ms();
        if ends_ms <= now_ms {
            return Err(StateFault::Expired);
        }
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        if opened.len() >= OPENED_MAX {
            opened.retain(|_, ends_ms| *ends_ms > now_ms);
        }
        if opened.contains_key(&nonce) {
            return Err(StateFault::Used);
        }
        if opened.len() >= OPENED_MAX {
            return Err(StateFault::Full);
        }
        opened.insert(nonce, ends_ms);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn binding(caller: &str, target: &str, arguments: &Value) -> Binding {
        Binding::new(caller, target, arguments)
    }

    #[tokio::test(start_paused = true)]
    async fn a_state_opens_once_in_time_and_for_its_own_call() {
        let sealer = Sealer::new(&[7; 32]);
        let own = binding("ann", "tool", &json!({ "a": 1, "b": 2 }));
        let sealed = sealer.seal(&own, "inner \u{e9}").expect("randomness");
        let others = [
            binding("bob", "tool", &json!({ "a": 1, "b": 2 })),
            binding("ann", "tool2", &json!({ "a": 1, "b": 2 })),
            binding("ann", "tool", &json!({ "a": 1, "b": 3 })),
            binding("annt", "ool", &json!({ "a": 1, "b": 2 })),
        ];
        for other in &others {
            assert_eq!(sealer.open(other, &sealed), Err(StateFault::Foreign));
        }
        assert_eq!(Sealer::new(&[8; 32]).open(&own, &sealed), Err(StateFault::Foreign), "another process");
        for bad in ["", "AAAA", "!!!", &"A".repeat(STATE_BYTES_MAX + 4)] {
            assert_eq!(sealer.open(&own, bad), Err(StateFault::Foreign));
        }
        let reordered = binding("ann", "tool", &json!({ "b": 2, "a": 1 }));
        assert_eq!(sealer.open(&reordered, &sealed).as_deref(), Ok("inner \u{e9}"));
        assert_eq!(sealer.open(&own, &sealed), Err(StateFault::Used));

        let late = sealer.seal(&own, "x").expect("randomness");
        tokio::time::advance(STATE_AGE_MAX).await;
        assert_eq!(sealer.open(&own, &late), Err(StateFault::Expired));
    }

    #[tokio::test(start_paused = true)]
    async fn every_changed_byte_is_noticed() {
        let sealer = Sealer::new(&[7; 32]);
        let own = binding("ann", "tool", &Value::Null);
        let sealed = sealer.seal(&own, "state").expect("randomness");
        let bytes = URL_SAFE_NO_PAD.decode(&*sealed).expect("what was encoded");
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 1;
            assert_eq!(sealer.open(&own, &URL_SAFE_NO_PAD.encode(changed)), Err(StateFault::Foreign), "{at}");
        }
        assert!(sealer.open(&own, &sealed).is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn what_was_used_is_forgotten_when_it_has_ended() {
        let sealer = Sealer::new(&[7; 32]);
        let ends_ms = sealer.now_ms() + 1_000;
        for count in 0..OPENED_MAX {
            let mut nonce = [0; NONCE_LEN];
            nonce[..8].copy_from_slice(&count.to_be_bytes());
            sealer.use_up(nonce, ends_ms).expect("room");
        }
        assert_eq!(sealer.use_up([9; NONCE_LEN], ends_ms), Err(StateFault::Full));
        tokio::time::advance(Duration::from_secs(2)).await;
        assert_eq!(sealer.use_up([9; NONCE_LEN], sealer.now_ms() + 1), Ok(()));
    }
}
