//! Tokens that were checked and are good for a while yet, so that a signature is checked once and not with every call.
//! They are known by their hashes.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use gate::Caller;

use super::key_source::Held;

/// Tokens that are remembered; of more, some are checked again.
const TOKENS_MAX: usize = 1_024;

/// What was found out of a token.
#[derive(Clone)]
pub(super) struct Verified {
    /// Whom it speaks for.
    pub(super) caller: Caller,
    /// Until when, in seconds since 1970.
    pub(super) expires_s: i64,
    /// Which issuer, by its place.
    pub(super) issuer: usize,
    /// By its keys as they were fetched then.
    pub(super) keys: Arc<Held>,
}

/// Tokens that were checked.
#[derive(Default)]
pub(super) struct Checked {
    tokens: Mutex<HashMap<[u8; 32], Verified>>,
}

impl Checked {
    /// What was found out of this token, if it is good still.
    pub(super) fn get(&self, hash: &[u8; 32], now_s: i64) -> Option<Verified> {
        let tokens = self.tokens.lock().unwrap_or_else(PoisonError::into_inner);
        tokens.get(hash).filter(|verified| now_s < verified.expires_s).cloned()
    }

    /// Remembers it.
    pub(super) fn keep(&self, hash: [u8; 32], verified: Verified, now_s: i64) {
        let mut tokens = self.tokens.lock().unwrap_or_else(PoisonError::into_inner);
        if tokens.len() >= TOKENS_MAX {
            tokens.retain(|_, verified| now_s < verified.expires_s);
        }
        if tokens.len() >= TOKENS_MAX {
            let any = tokens.keys().next().copied();
            any.map(|any| tokens.remove(&any));
        }
        tokens.insert(hash, verified);
    }
}

#[cfg(test)]
mod tests {
    use gate::Via;

    use super::*;

    #[test]
    fn a_token_is_remembered_until_it_ends() {
        let checked = Checked::default();
        let verified = |expires_s| Verified {
            caller: Caller::local_user(Via::Http),
            expires_s,
            issuer: 0,
            keys: Arc::new(Held::sample()),
        };
        checked.keep([1; 32], verified(10), 0);
        assert!(checked.get(&[1; 32], 9).is_some());
        assert!(checked.get(&[1; 32], 10).is_none());
        assert!(checked.get(&[2; 32], 9).is_none());
        for number in 0..2 * TOKENS_MAX as u64 {
            let mut hash = [9; 32];
            hash[..8].copy_from_slice(&number.to_le_bytes());
            checked.keep(hash, verified(100), 0);
        }
        assert_eq!(checked.tokens.lock().expect("sound").len(), TOKENS_MAX);
    }
}
