//! Sealing what is kept of jobs: calls, results and events, each to its job and its place in it. The key is kept among the
//! sealed secrets, so that sealing those anew leaves jobs as they are.

use std::sync::Arc;

use ::jobs::JobId;
use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use store::{Secrets, StoreError};

use crate::key_ring::{KeyRing, RingKey};

/// Under which name the key is kept.
const RING: &str = "seal/jobs";

/// What is sealed. Nothing opens in the place of another.
#[derive(Debug, Clone, Copy)]
pub(super) enum Sealed {
    Call,
    Result,
    Event(u64),
}

pub(super) struct Vault {
    ring: KeyRing,
}

impl Vault {
    /// With a key of this process alone: nothing opens after it.
    pub(super) fn own() -> Vault {
        Vault { ring: KeyRing::own(RING, None) }
    }

    /// With a key that all processes share which have these secrets.
    pub(super) fn keyed_by(secrets: Arc<Secrets>) -> Vault {
        Vault { ring: KeyRing::own(RING, None).kept_in(secrets) }
    }

    /// The key that seals, read `anew` if what is at hand may be of a database that is gone. One seals for ever, so no clock
    /// matters.
    pub(super) async fn key(&self, anew: bool) -> Result<JobKey, StoreError> {
        if anew {
            self.ring.forget().await;
        }
        self.ring.newest(0).await.map(JobKey)
    }
}

/// The key, at hand.
pub(super) struct JobKey(RingKey);

impl JobKey {
    pub(super) fn seal(&self, id: &JobId, what: Sealed, plain: Vec<u8>) -> Result<Vec<u8>, StoreError> {
        let mut nonce = [0u8; NONCE_LEN];
        getrandom::fill(&mut nonce).map_err(|error| StoreError::Database(error.to_string().into()))?;
        let mut text = plain;
        self.cipher()
            .seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), bound(id, what), &mut text)
            .map_err(|_| StoreError::Database("it cannot be sealed".into()))?;
        Ok([&nonce[..], &text].concat())
    }

    /// Nothing if it was sealed with another key, or for something else.
    pub(super) fn open(&self, id: &JobId, what: Sealed, sealed: &[u8]) -> Option<Vec<u8>> {
        let (nonce, text) = sealed.split_first_chunk()?;
        let mut text = text.to_vec();
        let nonce = Nonce::assume_unique_for_key(*nonce);
        let length = self.cipher().open_in_place(nonce, bound(id, what), &mut text).ok()?.len();
        text.truncate(length);
        Some(text)
    }

    fn cipher(&self) -> LessSafeKey {
        let key = UnboundKey::new(&CHACHA20_POLY1305, &self.0.bytes);
        LessSafeKey::new(key.expect("a key of the ring has the length of the cipher's"))
    }
}

fn bound(id: &JobId, what: Sealed) -> Aad<Vec<u8>> {
    let place = match what {
        Sealed::Call => "call".to_owned(),
        Sealed::Result => "result".to_owned(),
        Sealed::Event(number) => format!("event {number}"),
    };
    Aad::from(format!("toolcrib job 1\0{id}\0{place}").into_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn nothing_opens_in_the_place_of_another() {
        let key = Vault::own().key(false).await.expect("a key");
        let (id, other) = (JobId::new().expect("an id"), JobId::new().expect("an id"));
        let sealed = key.seal(&id, Sealed::Event(1), b"planted".to_vec()).expect("it is sealed");
        assert!(!sealed.windows(7).any(|part| part == b"planted"));
        assert_eq!(key.open(&id, Sealed::Event(1), &sealed).as_deref(), Some(&b"planted"[..]));
        assert_eq!(key.open(&id, Sealed::Event(2), &sealed), None);
        assert_eq!(key.open(&id, Sealed::Result, &sealed), None);
        assert_eq!(key.open(&other, Sealed::Event(1), &sealed), None);
        let elsewhere = Vault::own().key(false).await.expect("a key");
        assert_eq!(elsewhere.open(&id, Sealed::Event(1), &sealed), None);
    }
}
