//! The key that signs checkpoints: made once in the state folder, private to its owner. Its public half is
//! what a copy of the audit log is verified with elsewhere.
#![expect(clippy::disallowed_methods, reason = "the audit log is a declared home of files")]

use std::fmt;
use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::Path;

use ring::{
    rand::SystemRandom,
    signature::{ED25519, Ed25519KeyPair, KeyPair, UnparsedPublicKey},
};
use serde::{Deserialize, Serialize};
use store::found;

use crate::hash::{self, Hash};

/// The key's name within the state folder.
pub const KEY_FILE: &str = "audit.key";

/// A key takes 85 bytes.
const KEY_BYTES_MAX: u64 = 1024;

/// The bytes of a signature, and of its written form.
const SIGNATURE_BYTES: usize = 64;
pub(crate) const SIGNATURE_HEX_BYTES: usize = 2 * SIGNATURE_BYTES;

/// The public half of a key that signs checkpoints; written as 64 lower-case hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct PublicKey(Hash);

impl PublicKey {
    /// Reads the written form; no other spelling is accepted.
    pub fn parse(hex: &str) -> Option<PublicKey> {
        Hash::parse(hex.as_bytes()).map(PublicKey)
    }

    /// The public half of the key in this folder; `None` if there is none yet.
    ///
    /// # Errors
    /// It cannot be read, or is no key.
    pub fn of_folder(dir: &Path) -> io::Result<Option<PublicKey>> {
        Ok(load(dir)?.map(|signer| signer.public()))
    }

    /// Whether `signature`, as written, is this key's for these bytes.
    pub(crate) fn has_signed(&self, bytes: &[u8], signature: &[u8]) -> bool {
        hash::bytes_of_hex::<SIGNATURE_BYTES>(signature).is_some_and(|signature| {
            UnparsedPublicKey::new(&ED25519, self.0.bytes()).verify(bytes, &signature).is_ok()
        })
    }
}

impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

pub(crate) struct Signer(Ed25519KeyPair);

impl Signer {
    /// The key of this folder; made if there is none.
    pub(crate) fn of_folder(dir: &Path) -> io::Result<Signer> {
        match load(dir)? {
            Some(signer) => Ok(signer),
            None => make(dir),
        }
    }

    pub(crate) fn public(&self) -> PublicKey {
        let public = self.0.public_key().as_ref();
        PublicKey(Hash::from(<[u8; 32]>::try_from(public).expect("a public key of Ed25519 has 32 bytes")))
    }

    /// The signature of these bytes, as written.
    pub(crate) fn sign(&self, bytes: &[u8]) -> [u8; SIGNATURE_HEX_BYTES] {
        let signature = self.0.sign(bytes);
        hash::hex_of::<SIGNATURE_HEX_BYTES>(signature.as_ref())
    }
}

fn load(dir: &Path) -> io::Result<Option<Signer>> {
    let Some(file) = found(File::open(dir.join(KEY_FILE)))? else { return Ok(None) };
    let mut key = Vec::new();
    file.take(KEY_BYTES_MAX).read_to_end(&mut key)?;
    let pair = Ed25519KeyPair::from_pkcs8(&key).map_err(|_| {
        io::Error::new(ErrorKind::InvalidData, format!("{KEY_FILE} holds no key; put the right one back"))
    })?;
    Ok(Some(Signer(pair)))
}

/// Makes a key where there was none a moment ago. If there is one by now, it is that one.
fn make(dir: &Path) -> io::Result<Signer> {
    let key = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new())
        .map_err(|_| io::Error::other("the system gives no randomness"))?;
    store::create_whole(dir, KEY_FILE, key.as_ref())?;
    load(dir)?.ok_or_else(|| io::Error::new(ErrorKind::NotFound, format!("{KEY_FILE} was removed")))
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::PermissionsExt, thread};

    use super::*;

    #[test]
    fn all_who_make_a_key_at_once_get_the_same_and_it_is_private() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(PublicKey::of_folder(dir.path()).unwrap(), None);
        let made: Vec<PublicKey> = thread::scope(|scope| {
            let makers: Vec<_> =
                (0..8).map(|_| scope.spawn(|| Signer::of_folder(dir.path()).unwrap().public())).collect();
            makers.into_iter().map(|maker| maker.join().unwrap()).collect()
        });
        let kept = PublicKey::of_folder(dir.path()).unwrap().unwrap();
        assert!(made.iter().all(|key| *key == kept), "{made:?}");
        let names: Vec<_> =
            fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names, [KEY_FILE]);
        assert_eq!(fs::metadata(dir.path().join(KEY_FILE)).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(PublicKey::parse(&kept.to_string()), Some(kept));
    }

    #[test]
    fn a_signature_is_good_for_its_bytes_and_its_key() {
        let dirs = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
        let [ours, other] = dirs.each_ref().map(|dir| Signer::of_folder(dir.path()).unwrap());
        let signature = ours.sign(b"head");
        assert!(ours.public().has_signed(b"head", &signature));
        assert!(!ours.public().has_signed(b"tail", &signature));
        assert!(!other.public().has_signed(b"head", &signature));
        assert!(!ours.public().has_signed(b"head", &signature[1..]));
    }

    #[test]
    fn what_is_no_key_is_not_replaced() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join(KEY_FILE), "").unwrap();
        let told = Signer::of_folder(dir.path()).map(|_| ()).map_err(|error| error.to_string());
        assert_eq!(told, Err("audit.key holds no key; put the right one back".to_owned()));
    }
}
