//! `Secrets`: records that are sealed before the store sees them, each to its name, and opened after. Who holds the key
//! may keep one waiting, so all of it blocks: it belongs on a thread that may wait.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce};

use crate::cell::{Cell, Change, Kind, NAMED_PREFIX};
use crate::error::StoreError;
use crate::master_key::KeySource;
use crate::reply::wait;
use crate::store::{Store, remove, replace};

/// How records are sealed, as their first byte: then follow the nonce, and the ciphertext with its tag.
const FORMAT: u8 = 1;

/// What the tag covers besides the record: that it is one of ours, and its name.
const PURPOSE: &str = "toolcrib secret 1\0";

/// The record by which processes learn that everything was sealed anew. It is sealed with the key that is good since then.
const RESEALED: &str = "resealed";

/// What is in it.
const NOTHING: &[u8] = b"";

/// How often a record is sealed again because the key has changed meanwhile.
const TRIES_MAX: usize = 3;

/// The secrets of one state folder. Nothing touches the disk until something is asked or kept.
pub struct Secrets {
    store: Arc<dyn Store>,
    dir: PathBuf,
    /// The lock also keeps threads from making a key twice.
    held: Mutex<Held>,
}

/// The key, as far as it is known.
#[derive(Default)]
struct Held {
    source: KeySource,
    /// Read once, until everything is sealed anew.
    key: Option<Arc<LessSafeKey>>,
    /// The version of [`RESEALED`] when a key was first taken from the source, or proved to be the one since then.
    seen: Option<Option<u64>>,
}

impl Secrets {
    /// The secrets in `store`, sealed with the key in the folder `dir`, which is made when it is first needed.
    pub fn new(store: Arc<dyn Store>, dir: &Path) -> Secrets {
        Secrets::sealed_by(store, dir, KeySource::default())
    }

    /// The same, sealed with the key from `source`.
    pub fn sealed_by(store: Arc<dyn Store>, dir: &Path, source: KeySource) -> Secrets {
        let held = Mutex::new(Held { source, ..Held::default() });
        Secrets { store, dir: dir.to_owned(), held }
    }

    /// Takes the key from `source` when it is next needed, if that is another place than before.
    pub fn use_key_from(&self, source: KeySource) {
        let mut held = self.held();
        if held.source != source {
            (held.source, held.key) = (source, None);
        }
    }

    /// The record of this name, opened; none if the key has been lost, with which a sign-in is.
    ///
    /// # Errors
    /// If it is not as it was sealed, if the key is not to be trusted, if a person has set it and the key is lost, or as
    /// the store's.
    pub fn load(&self, name: &str) -> Result<Option<Cell>, StoreError> {
        for _ in 0..2 {
            let Some(Cell { key: record_name, version, value: sealed }) = self.sealed(name)? else {
                return Ok(None);
            };
            let key = match self.key(Missing::StaysSo)? {
                Some(key) => key,
                None if name.starts_with(NAMED_PREFIX) => return Err(self.lost(&self.held(), name)),
                None => return Ok(None),
            };
            if let Some(value) = open(&key, name, &sealed) {
                return Ok(Some(Cell { key: record_name, version, value }));
            }
            // The key may be another one by now, or the record sealed anew.
            self.held().key = None;
        }
        let key = self.held().source.shown(&self.dir);
        Err(StoreError::Sealed { name: name.to_owned(), key })
    }

    fn lost(&self, held: &Held, name: &str) -> StoreError {
        StoreError::KeyLost { name: name.to_owned(), key: held.source.shown(&self.dir) }
    }

    /// Seals a record and puts it in place of the one with version `expected` (`None`: where there is none); no record
    /// removes it. Returns the new version (0 after a removal), or nothing, and changes nothing, if there is another
    /// version by now.
    ///
    /// # Errors
    /// If the key is not to be trusted or cannot be made, or as the store's.
    pub fn replace(
        &self,
        name: &str,
        expected: Option<u64>,
        record: Option<&[u8]>,
    ) -> Result<Option<u64>, StoreError> {
        let Some(record) = record else { return self.put(name, expected, None) };
        let mut expected = expected;
        for _ in 0..TRIES_MAX {
            let key = self.key(Missing::IsMade)?.expect("it is made if there is none");
            let seen = self.held().seen;
            let replaced = self.put(name, expected, Some(seal(&key, name, record)?))?;
            if replaced.is_none() || seen == Some(self.resealed_version()?) {
                return Ok(replaced);
            }
            // Whoever sealed everything anew may have looked before this was there.
            expected = replaced;
        }
        Err(self.is_of_another_key(&self.held()))
    }

    /// Whether the key can be had, or made when it is needed. Opens nothing. May block.
    ///
    /// # Errors
    /// Why it cannot.
    pub fn check_key(&self) -> Result<(), StoreError> {
        let source = self.held().source.clone();
        source.load(&self.dir).map(drop)
    }

    /// Seals everything anew that does not open with the key in use, which is made if there is none, but with the one
    /// from `old`: all of it, or nothing. How many records that were. Processes that hold the old key take the new one when
    /// they next need it, if it is where they have theirs from, and seal nothing until then.
    ///
    /// # Errors
    /// If one of the keys cannot be had, if a record opens with neither, or as the store's.
    pub fn reseal(&self, old: &KeySource) -> Result<usize, StoreError> {
        let old_key = old.load(&self.dir)?.ok_or_else(|| StoreError::NoKey(old.shown(&self.dir)))?;
        let source = self.held().source.clone();
        let new_key = match source.load(&self.dir)? {
            Some(key) => key,
            None => source.make(&self.dir)?,
        };
        let (mut resealed, mut is_told) = (0, false);
        loop {
            let mut changes = Vec::new();
            for name in self.names("")? {
                let Some(Cell { version, value: sealed, .. }) = self.sealed(&name)? else { continue };
                if open(&new_key, &name, &sealed).is_some() {
                    continue;
                }
                let Some(record) = open(&old_key, &name, &sealed) else {
                    return Err(StoreError::Sealed { key: old.shown(&self.dir), name });
                };
                let sealed = seal(&new_key, &name, &record)?;
                changes.push(Change::put(Kind::Sealed, &name, Some(version), sealed));
            }
            let records = changes.len();
            if !is_told {
                // Tells every process that this is the key from now on.
                let (version, sealed) = (self.resealed_version()?, seal(&new_key, RESEALED, NOTHING)?);
                changes.push(Change::put(Kind::Sealed, RESEALED, version, sealed));
            } else if records == 0 {
                self.held().key = None;
                return Ok(resealed);
            }
            // If another process was faster, all is looked at again; also once more when all are told, since somebody may
            // have sealed a new record with the old key meanwhile.
            if wait(self.store.commit(changes))?.is_some() {
                (resealed, is_told) = (resealed + records, true);
            }
        }
    }

    fn resealed_version(&self) -> Result<Option<u64>, StoreError> {
        Ok(self.sealed(RESEALED)?.map(|found| found.version))
    }

    pub(crate) fn sealed(&self, name: &str) -> Result<Option<Cell>, StoreError> {
        wait(self.store.cell(Kind::Sealed, name))
    }

    pub(crate) fn put(
        &self,
        name: &str,
        expected: Option<u64>,
        sealed: Option<Vec<u8>>,
    ) -> Result<Option<u64>, StoreError> {
        let (key, content) = (name.to_owned(), sealed.map(Into::into));
        let change = Change { kind: Kind::Sealed, key, expected, content };
        wait(replace(&*self.store, change))
    }

    fn all_names(&self, prefix: &str) -> Result<Vec<String>, StoreError> {
        wait(self.store.keys(Kind::Sealed, prefix))
    }

    /// Removes the record of this name without opening it, so that one which does not open can be removed, too. False
    /// if there is none.
    ///
    /// # Errors
    /// The store's.
    pub fn remove(&self, name: &str) -> Result<bool, StoreError> {
        wait(remove(&*self.store, Kind::Sealed, name))
    }

    /// The names of the records that begin with `prefix`, in order.
    ///
    /// # Errors
    /// The store's.
    pub fn names(&self, prefix: &str) -> Result<Vec<String>, StoreError> {
        let mut names = self.all_names(prefix)?;
        names.retain(|name| name != RESEALED);
        Ok(names)
    }

    /// The state folder.
    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    /// The store that they are kept in.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    fn key(&self, missing: Missing) -> Result<Option<Arc<LessSafeKey>>, StoreError> {
        let mut held = self.held();
        let resealed = self.sealed(RESEALED)?;
        let version = resealed.as_ref().map(|found| found.version);
        let is_told = held.seen.is_some_and(|seen| seen != version);
        if is_told || held.key.is_none() {
            held.key = held.source.load(&self.dir)?.map(Arc::new);
        }
        if is_told && let (Some(key), Some(resealed)) = (&held.key, &resealed) {
            // What the key was before must not be used any more; a source that has changed since will say so.
            if open(key, RESEALED, &resealed.value).is_none() {
                held.key = None;
                return Err(self.is_of_another_key(&held));
            }
        }
        if held.key.is_none() && missing == Missing::IsMade {
            // Those cannot be had again by signing in; whoever has set them decides.
            if let Some(name) = self.all_names(NAMED_PREFIX)?.first() {
                return Err(self.lost(&held, name));
            }
            let key = Arc::new(held.source.make(&self.dir)?);
            // What an earlier key has sealed is lost, and must not stand in the way.
            self.remove_lost(&key)?;
            held.seen = Some(self.resealed_version()?);
            held.key = Some(key);
        } else if held.key.is_some() {
            held.seen = Some(version);
        }
        Ok(held.key.clone())
    }

    fn is_of_another_key(&self, held: &Held) -> StoreError {
        StoreError::Resealed(held.source.shown(&self.dir))
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        // A panic cannot leave half a key.
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn remove_lost(&self, key: &LessSafeKey) -> Result<(), StoreError> {
        for name in self.all_names("")? {
            if let Some(Cell { version, value: sealed, .. }) = self.sealed(&name)?
                && open(key, &name, &sealed).is_none()
            {
                self.put(&name, Some(version), None)?;
            }
        }
        Ok(())
    }
}

/// What becomes of a key that is not there.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Missing {
    StaysSo,
    IsMade,
}

fn additional(name: &str) -> Aad<Vec<u8>> {
    Aad::from([PURPOSE.as_bytes(), name.as_bytes()].concat())
}

fn seal(key: &LessSafeKey, name: &str, record: &[u8]) -> Result<Vec<u8>, StoreError> {
    let mut nonce = [0; NONCE_LEN];
    // Of four thousand million that are drawn so, two are alike with a chance of one in eight thousand million.
    getrandom::fill(&mut nonce).map_err(|error| StoreError::Database(error.to_string().into()))?;
    let mut sealed = Vec::with_capacity(1 + NONCE_LEN + record.len() + CHACHA20_POLY1305.tag_len());
    sealed.push(FORMAT);
    sealed.extend(nonce);
    let mut text = record.to_owned();
    key.seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), additional(name), &mut text)
        .expect("a record is far shorter than the cipher's limit");
    sealed.append(&mut text);
    Ok(sealed)
}

fn open(key: &LessSafeKey, name: &str, sealed: &[u8]) -> Option<Vec<u8>> {
    let (&format, rest) = sealed.split_first()?;
    let (nonce, text) = rest.split_first_chunk::<NONCE_LEN>()?;
    if format != FORMAT {
        return None;
    }
    let mut text = text.to_owned();
    let nonce = Nonce::assume_unique_for_key(*nonce);
    let length = key.open_in_place(nonce, additional(name), &mut text).ok()?.len();
    text.truncate(length);
    Some(text)
}

#[cfg(test)]
mod tests;
