//! The key that seals secrets. Unless its owner says otherwise it is a file beside the database that only they may read,
//! made when it is first needed: it keeps a copy of the database alone, in a backup for example, from being of use. A
//! key that somebody else keeps, in a file of their own, a keyring or a variable, keeps a copy of the whole state folder
//! from being of use.
#![expect(clippy::disallowed_methods, reason = "the store is a declared home of files")]

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD};
use data_encoding::{HEXLOWER, HEXLOWER_PERMISSIVE};
use ring::aead::{CHACHA20_POLY1305, LessSafeKey, UnboundKey};

use crate::error::StoreError;
use crate::folder;

/// The file's name within the state folder.
pub(crate) const FILE: &str = "secret.key";

/// The length of a key, in bytes.
const KEY_BYTES: usize = 32;

/// More than any spelling of a key, in bytes.
const SPELT_BYTES_MAX: u64 = 4 * 1024;

/// How a key is made by hand.
const HOW: &str = "make one with `head -c 32 /dev/urandom | base64`";

/// Where the key comes from.
#[derive(Clone, Default)]
pub enum KeySource {
    /// The file `secret.key` in the state folder, made when it is first needed.
    #[default]
    State,
    /// A file of the owner's, which is never made: 32 bytes, or how they are spelt in hexadecimal digits or base64.
    File {
        /// Its path.
        path: PathBuf,
        /// True if the system put it there for this process and says itself who may read it.
        is_credential: bool,
    },
    /// Somebody who is asked for it.
    Holder(Arc<dyn KeyHolder>),
}

/// Who holds a key.
pub trait KeyHolder: Send + Sync {
    /// Who that is, as the beginning of a sentence: "the environment variable X".
    fn name(&self) -> String;

    /// The key, spelt in hexadecimal digits or base64; nothing if there is none yet. May block.
    ///
    /// # Errors
    /// The end of a sentence that begins with the name, and never anything of the key.
    fn load(&self) -> Result<Option<String>, String>;

    /// Keeps a new key where there was none a moment ago. May block.
    ///
    /// # Errors
    /// As [`KeyHolder::load`]; also if it is not for us to put one there.
    fn keep(&self, key: &str) -> Result<(), String>;
}

/// Shows no key.
impl std::fmt::Debug for KeySource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.place().fmt(f)
    }
}

/// The same place; what is there may have changed.
impl PartialEq for KeySource {
    fn eq(&self, other: &KeySource) -> bool {
        self.place() == other.place()
    }
}

impl KeySource {
    /// The file, whether it is a credential, and the holder.
    fn place(&self) -> (Option<&Path>, bool, Option<String>) {
        match self {
            KeySource::State => (None, false, None),
            KeySource::File { path, is_credential } => (Some(path), *is_credential, None),
            KeySource::Holder(holder) => (None, false, Some(holder.name())),
        }
    }

    /// Where that is, for people.
    pub(crate) fn shown(&self, dir: &Path) -> String {
        match self {
            KeySource::State => dir.join(FILE).display().to_string(),
            KeySource::File { path, .. } => path.display().to_string(),
            KeySource::Holder(holder) => format!("what {} holds", holder.name()),
        }
    }

    /// The key, if there is one. One that is not made here must be there.
    pub(crate) fn load(&self, dir: &Path) -> Result<Option<LessSafeKey>, StoreError> {
        match self {
            KeySource::State => load(dir),
            KeySource::File { path, is_credential } => load_owners(path, *is_credential).map(Some),
            KeySource::Holder(holder) => {
                let wrong = |why| StoreError::Key { holder: holder.name(), why };
                let Some(spelt) = holder.load().map_err(wrong)? else { return Ok(None) };
                let key = spelt_key(&spelt).ok_or_else(|| {
                    wrong(format!("holds no key: 64 hexadecimal digits, or 32 bytes in base64; {HOW}"))
                })?;
                Ok(Some(ready(&key)))
            }
        }
    }

    /// Makes a key where there was none a moment ago.
    pub(crate) fn make(&self, dir: &Path) -> Result<LessSafeKey, StoreError> {
        match self {
            KeySource::State => make(dir),
            KeySource::File { path, is_credential } => load_owners(path, *is_credential),
            KeySource::Holder(holder) => {
                let wrong = |why: String| StoreError::Key { holder: holder.name(), why };
                let mut key = [0; KEY_BYTES];
                getrandom::fill(&mut key).map_err(|error| wrong(format!("gets no new key: {error}")))?;
                holder.keep(&STANDARD.encode(key)).map_err(wrong)?;
                // What it gives back is what everybody uses, even if somebody else was faster.
                self.load(dir)?
                    .ok_or_else(|| wrong("does not give back the key that it was given".to_owned()))
            }
        }
    }
}

fn ready(key: &[u8; KEY_BYTES]) -> LessSafeKey {
    LessSafeKey::new(UnboundKey::new(&CHACHA20_POLY1305, key).expect("the key has the algorithm's length"))
}

/// The key that hexadecimal digits or base64 spell.
fn spelt_key(text: &str) -> Option<[u8; KEY_BYTES]> {
    let text = text.trim();
    if text.len() == 2 * KEY_BYTES {
        return HEXLOWER_PERMISSIVE.decode(text.as_bytes()).ok()?.try_into().ok();
    }
    let decoded = [STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD]
        .iter()
        .find_map(|engine| engine.decode(text).ok());
    decoded?.try_into().ok()
}

/// How else the key may be spelt that this text spells: in hexadecimal digits and both kinds of base64, which each may
/// be followed by `=`. Nothing if it spells none.
pub fn key_spellings(text: &str) -> impl Iterator<Item = String> {
    let spellings = |key: [u8; KEY_BYTES]| {
        let digits: String = HEXLOWER.encode(&key);
        let base64 = [STANDARD_NO_PAD, URL_SAFE_NO_PAD].map(|engine| engine.encode(key));
        [digits.to_uppercase(), digits].into_iter().chain(base64)
    };
    spelt_key(text).into_iter().flat_map(spellings)
}

/// The key in a file whose mode has none of the bits `others`; `otherwise` is what to do if it holds none.
fn load_from(path: &Path, others: u32, otherwise: &str) -> Result<LessSafeKey, StoreError> {
    let wrong = |why| StoreError::Key { holder: format!("the key file {}", path.display()), why };
    let unreadable =
        |error: io::Error| wrong(format!("cannot be read ({error}); check its path and its permissions"));
    // Some of what is no file is not even opened without waiting for somebody.
    if !fs::metadata(path).map_err(unreadable)?.is_file() {
        return Err(wrong(format!("is no file; {otherwise}")));
    }
    let file = File::open(path).map_err(unreadable)?;
    let mode = file.metadata().map_err(unreadable)?.permissions().mode() & 0o777;
    if mode & others != 0 {
        return Err(wrong(format!(
            "may be used by others than its owner (mode {mode:o}), so that what it seals is no secret; run `chmod 600` \
             on it if nobody else has read it, or else {otherwise}"
        )));
    }
    let mut bytes = Vec::new();
    file.take(SPELT_BYTES_MAX).read_to_end(&mut bytes).map_err(unreadable)?;
    let key = key_in(&bytes).ok_or_else(|| {
        wrong(format!(
            "holds no key: 32 random bytes, as they are or in hexadecimal digits or base64; {otherwise}"
        ))
    })?;
    Ok(ready(&key))
}

/// The key that a file's bytes are, or spell.
fn key_in(bytes: &[u8]) -> Option<[u8; KEY_BYTES]> {
    // Thirty-two characters that can be typed are a pass phrase, which can be guessed.
    let is_typed = bytes.iter().all(|byte| matches!(byte, b' '..=b'~' | b'\n'));
    match bytes.try_into() {
        Ok(key) if !is_typed => Some(key),
        _ => spelt_key(std::str::from_utf8(bytes).ok()?),
    }
}

/// The key in a file of the owner's.
fn load_owners(path: &Path, is_credential: bool) -> Result<LessSafeKey, StoreError> {
    // The system lets one user read a credential through a list beside the mode, which then shows as the group's.
    load_from(path, if is_credential { 0o037 } else { 0o077 }, HOW)
}

/// The key in `dir`, if there is one.
fn load(dir: &Path) -> Result<Option<LessSafeKey>, StoreError> {
    let path = &dir.join(FILE);
    match fs::metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) if error.kind() == ErrorKind::NotADirectory => return Err(StoreError::folder(dir)(error)),
        _ => {}
    }
    let otherwise = "put the right one back, or move it away, and sign in to your servers again";
    load_from(path, 0o077, otherwise).map(Some)
}

/// Makes a key in `dir`, where there was none a moment ago. If there is one by now, which may have sealed something, it is
/// that one.
fn make(dir: &Path) -> Result<LessSafeKey, StoreError> {
    let cannot = StoreError::folder(dir);
    let mut key = [0; KEY_BYTES];
    getrandom::fill(&mut key).map_err(|error| cannot(io::Error::other(error)))?;
    let made = folder::create_private(dir).and_then(|()| folder::create_whole(dir, FILE, &key));
    made.map_err(StoreError::unwritten(dir))?;
    load(dir)?.ok_or_else(|| cannot(ErrorKind::NotFound.into()))
}
