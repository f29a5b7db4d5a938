//! SHA-256 values and their written form.

use std::borrow::Cow;
use std::fmt;

use data_encoding::HEXLOWER;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};
use sha2::{Digest, Sha256};

/// The bytes of a written hash.
pub(crate) const HEX_BYTES: usize = 64;

/// A SHA-256 value; written as 64 lower-case hexadecimal digits.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Hash([u8; 32]);

impl Hash {
    /// What the first record names as its predecessor.
    pub const ZERO: Self = Self([0; 32]);

    /// Hashes these bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// Hashes these parts, each behind its length, so that none runs into the next.
    pub fn of_parts<'p>(parts: impl IntoIterator<Item = &'p [u8]>) -> Self {
        let mut digest = Sha256::new();
        for part in parts {
            digest.update((part.len() as u64).to_be_bytes());
            digest.update(part);
        }
        Self(digest.finalize().into())
    }

    /// Reads the written form; no other spelling is accepted.
    pub fn parse(hex: &[u8]) -> Option<Self> {
        bytes_of_hex(hex).map(Self)
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// The written form.
    pub(crate) fn hex(self) -> [u8; HEX_BYTES] {
        hex_of(&self.0)
    }
}

/// The bytes that lower-case hexadecimal digits stand for; nothing for any other text.
pub(crate) fn bytes_of_hex<const BYTES: usize>(hex: &[u8]) -> Option<[u8; BYTES]> {
    let mut bytes = [0; BYTES];
    (hex.len() == 2 * BYTES).then(|| HEXLOWER.decode_mut(hex, &mut bytes).ok())??;
    Some(bytes)
}

/// Bytes as lower-case hexadecimal digits; `DIGITS` is twice their number.
pub(crate) fn hex_of<const DIGITS: usize>(bytes: &[u8]) -> [u8; DIGITS] {
    let mut hex = [0; DIGITS];
    HEXLOWER.encode_mut(bytes, &mut hex);
    hex
}

impl From<[u8; 32]> for Hash {
    fn from(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }
}

impl fmt::Display for Hash {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(str::from_utf8(&self.hex()).expect("hexadecimal digits are ASCII"))
    }
}

impl fmt::Debug for Hash {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, out)
    }
}

impl Serialize for Hash {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(HEXLOWER.encode_mut_str(&self.0, &mut [0; HEX_BYTES]))
    }
}

impl<'de> Deserialize<'de> for Hash {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Hash, D::Error> {
        let hex = <Cow<'de, str>>::deserialize(deserializer)?;
        Hash::parse(hex.as_bytes()).ok_or_else(|| D::Error::custom("not 64 hexadecimal digits"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_spelling_for_each_value() {
        let hash = Hash::of(b"abc");
        let hex = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(hash.to_string(), hex);
        assert_eq!(Hash::parse(hex.as_bytes()), Some(hash));
        for wrong in [
            &hex[1..],
            &hex.to_uppercase(),
            &format!("{hex}0"),
            &format!("{hex}00"),
            &hex.replace('b', "g"),
            "",
        ] {
            assert_eq!(Hash::parse(wrong.as_bytes()), None, "{wrong}");
        }
    }
}
