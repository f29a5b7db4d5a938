//! The keys that seal what travels through clients. They are kept among the sealed secrets, so that a restart or a second
//! process opens what the first has sealed: the newest key seals, and older ones open until their age is over.

use std::sync::Arc;

use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use store::{Secrets, StoreError};
use tokio::sync::{Mutex, MutexGuard};
use tokio::task::spawn_blocking;

/// The length of a key, in bytes.
pub(crate) const KEY_BYTES: usize = 32;

/// The length of the number of a key, in bytes.
pub(crate) const KEY_ID_BYTES: usize = size_of::<u32>();

/// How a key is laid out in the record: its id, when it was made, and itself.
const ENTRY_BYTES: usize = size_of::<u32>() + size_of::<i64>() + KEY_BYTES;

/// How often the ring is read anew that another process has changed meanwhile.
const RACES_MAX: usize = 16;

/// How long keys are good, in milliseconds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ages {
    /// How long a key seals before another one takes its place.
    pub(crate) seals_ms: i64,
    /// How long it opens what it has sealed.
    pub(crate) opens_ms: i64,
}

/// One key.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct RingKey {
    /// Tells it from the others of its ring.
    pub(crate) id: u32,
    made_at_ms: i64,
    /// The key itself.
    pub(crate) bytes: [u8; KEY_BYTES],
}

impl RingKey {
    fn cipher(&self) -> LessSafeKey {
        LessSafeKey::new(UnboundKey::new(&CHACHA20_POLY1305, &self.bytes).expect("a key of 32 bytes"))
    }

    /// Seals a text that belongs to `bound`: the nonce, and the ciphertext with its tag.
    pub(crate) fn seal(&self, bound: &[u8], mut text: Vec<u8>) -> Option<Vec<u8>> {
        let mut nonce = [0; NONCE_LEN];
        getrandom::fill(&mut nonce).ok()?;
        let sealing = Nonce::assume_unique_for_key(nonce);
        self.cipher().seal_in_place_append_tag(sealing, Aad::from(bound), &mut text).ok()?;
        Some([&nonce[..], &text].concat())
    }

    /// Opens what [`RingKey::seal`] made.
    pub(crate) fn open(&self, bound: &[u8], sealed: &[u8]) -> Option<Vec<u8>> {
        let (nonce, text) = sealed.split_first_chunk::<NONCE_LEN>()?;
        let (mut text, nonce) = (text.to_vec(), Nonce::assume_unique_for_key(*nonce));
        let bytes = self.cipher().open_in_place(nonce, Aad::from(bound), &mut text).ok()?.len();
        text.truncate(bytes);
        Some(text)
    }
}

/// The keys for one purpose.
pub(crate) struct KeyRing {
    /// Nothing: they are this process's own.
    secrets: Option<Arc<Secrets>>,
    /// Under which name they are kept.
    name: &'static str,
    /// Nothing: one key seals for ever.
    ages: Option<Ages>,
    held: Mutex<Held>,
}

/// The keys at hand.
#[derive(Default)]
struct Held {
    /// The oldest first.
    keys: Vec<RingKey>,
    /// How often the store had lost what was kept when they were had: where it has again, they are kept nowhere.
    losses: u64,
}

impl KeyRing {
    /// Keys of this process alone.
    pub(crate) fn own(name: &'static str, ages: Option<Ages>) -> KeyRing {
        KeyRing { secrets: None, name, ages, held: Mutex::default() }
    }

    /// The same ring, shared by all processes that have these secrets.
    pub(crate) fn kept_in(&self, secrets: Arc<Secrets>) -> KeyRing {
        KeyRing { secrets: Some(secrets), ..KeyRing::own(self.name, self.ages) }
    }

    /// The key that seals.
    ///
    /// # Errors
    /// It can be neither had nor made.
    pub(crate) async fn newest(&self, now_ms: i64) -> Result<RingKey, StoreError> {
        let mut held = self.held().await;
        let keys = &mut held.keys;
        match keys.last().filter(|newest| self.seals(newest, now_ms)) {
            Some(newest) => Ok(newest.clone()),
            None => {
                *keys = self.renew(keys.clone(), now_ms).await?;
                keys.last().cloned().ok_or_else(no_key)
            }
        }
    }

    /// Reads the ring anew when it is next needed. Keys of this process alone stay.
    pub(crate) async fn forget(&self) {
        if self.secrets.is_some() {
            self.held.lock().await.keys.clear();
        }
    }

    /// The keys at hand, without those that were lost with what else was kept.
    async fn held(&self) -> MutexGuard<'_, Held> {
        let mut held = self.held.lock().await;
        let losses = self.secrets.as_ref().map_or(0, |secrets| secrets.store().losses());
        if held.losses != losses {
            *held = Held { keys: Vec::new(), losses };
        }
        held
    }

    /// The key of this id, if what it has sealed may still be opened.
    ///
    /// # Errors
    /// The ring cannot be read.
    pub(crate) async fn find(&self, id: u32, now_ms: i64) -> Result<Option<RingKey>, StoreError> {
        let mut held = self.held().await;
        let keys = &mut held.keys;
        if keys.iter().all(|key| key.id != id) {
            // Another process may have made it.
            *keys = self.renew(keys.clone(), now_ms).await?;
        }
        Ok(keys.iter().find(|key| key.id == id && self.opens(key, now_ms)).cloned())
    }

    fn seals(&self, key: &RingKey, now_ms: i64) -> bool {
        self.ages.is_none_or(|ages| (key.made_at_ms..key.made_at_ms + ages.seals_ms).contains(&now_ms))
    }

    fn opens(&self, key: &RingKey, now_ms: i64) -> bool {
        self.ages.is_none_or(|ages| now_ms < key.made_at_ms.saturating_add(ages.opens_ms))
    }

    /// The ring as it is kept, with a key that seals.
    async fn renew(&self, own: Vec<RingKey>, now_ms: i64) -> Result<Vec<RingKey>, StoreError> {
        let Some(secrets) = &self.secrets else { return self.with_newest(own, now_ms).map(|(keys, _)| keys) };
        for _ in 0..RACES_MAX {
            let (reading, name) = (secrets.clone(), self.name);
            let found = spawn_blocking(move || reading.load(name)).await.map_err(ending)??;
            let kept = found.as_ref().map(|found| parse(&found.value)).unwrap_or_default();
            let (keys, is_changed) = self.with_newest(kept, now_ms)?;
            if !is_changed {
                return Ok(keys);
            }
            let (writing, record, version) =
                (secrets.clone(), write(&keys), found.map(|found| found.version));
            let kept = spawn_blocking(move || writing.replace(name, version, Some(&record)));
            if kept.await.map_err(ending)??.is_some() {
                return Ok(keys);
            }
        }
        Err(StoreError::Busy)
    }

    /// These keys without those that open nothing any more, and with one that seals; and whether another was made.
    fn with_newest(&self, mut keys: Vec<RingKey>, now_ms: i64) -> Result<(Vec<RingKey>, bool), StoreError> {
        if keys.last().is_some_and(|newest| self.seals(newest, now_ms)) {
            return Ok((keys, false));
        }
        let id = keys.last().map_or(0, |newest| newest.id.wrapping_add(1));
        keys.retain(|key| self.opens(key, now_ms));
        let mut bytes = [0; KEY_BYTES];
        getrandom::fill(&mut bytes).map_err(|_| no_key())?;
        keys.push(RingKey { id, made_at_ms: now_ms, bytes });
        Ok((keys, true))
    }
}

fn no_key() -> StoreError {
    StoreError::Database("the system gives no randomness for a key".into())
}

fn ending(_: tokio::task::JoinError) -> StoreError {
    StoreError::Database("the program is ending".into())
}

fn write(keys: &[RingKey]) -> Vec<u8> {
    let entry =
        |key: &RingKey| [&key.id.to_be_bytes()[..], &key.made_at_ms.to_be_bytes(), &key.bytes].concat();
    keys.iter().flat_map(entry).collect()
}

fn parse(record: &[u8]) -> Vec<RingKey> {
    let entry = |entry: &[u8; ENTRY_BYTES]| {
        let (id, rest) = entry.split_first_chunk()?;
        let (made_at_ms, bytes) = rest.split_first_chunk()?;
        let (id, made_at_ms) = (u32::from_be_bytes(*id), i64::from_be_bytes(*made_at_ms));
        Some(RingKey { id, made_at_ms, bytes: bytes.try_into().ok()? })
    };
    record.as_chunks::<ENTRY_BYTES>().0.iter().filter_map(entry).collect()
}

#[cfg(test)]
mod tests {
    use store::SqliteStore;

    use super::*;

    const AGES: Ages = Ages { seals_ms: 100, opens_ms: 130 };

    #[tokio::test]
    async fn the_newest_seals_and_older_ones_open_until_their_age_is_over() {
        let folder = tempfile::tempdir().expect("a folder");
        let process = || {
            let store = Arc::new(SqliteStore::at(folder.path()));
            KeyRing::own("seal/test", Some(AGES)).kept_in(Arc::new(Secrets::new(store, folder.path())))
        };
        let (one, two) = (process(), process());
        let first = one.newest(1_000).await.expect("a key");
        assert!(two.newest(1_099).await.expect("a key") == first, "both have one key");
        assert!(two.newest(1_100).await.expect("a key").id == first.id + 1, "it has sealed long enough");
        // The first process seals with its own as long as that is good, and opens what the second has sealed.
        assert!(one.newest(1_099).await.expect("a key") == first);
        assert!(one.find(first.id + 1, 1_100).await.expect("a ring").is_some());
        for ring in [&one, &two, &process()] {
            assert!(ring.find(first.id, 1_129).await.expect("a ring").is_some());
            assert!(ring.find(first.id, 1_130).await.expect("a ring").is_none());
            assert!(ring.find(first.id + 7, 1_130).await.expect("a ring").is_none());
        }
        let third = process().newest(1_500).await.expect("a key");
        assert_eq!(
            (third.id, one.newest(900).await.expect("a key").id),
            (first.id + 2, first.id + 3),
            "a clock went back"
        );
    }

    #[tokio::test]
    async fn a_process_of_its_own_shares_nothing() {
        let rings = [(); 2].map(|()| KeyRing::own("seal/test", None));
        let keys = [rings[0].newest(0).await.expect("a key"), rings[1].newest(0).await.expect("a key")];
        assert!(keys[0].bytes != keys[1].bytes);
        assert!(rings[0].newest(i64::MAX).await.expect("a key") == keys[0], "it seals for ever");
    }
}
