//! The text of an API key: `tc_`, six characters that name it, `_`, its secret, and a checksum.
//!
//! The beginning tells scanners of repositories what they have found, and people which key it is; the checksum tells
//! a key that was cut short or mistyped from one that was revoked. The secret has 256 bits of the system's
//! randomness. That is why what is kept of a key is its plain SHA-256: a slow hash protects what people choose, and
//! nobody guesses 256 bits, however fast they can try.

use std::fmt;

use ring::digest::{SHA256, digest};

/// What every key begins with.
pub const PREFIX: &str = "tc_";

/// The characters of a key: all of them survive a double click, a shell and an address.
const LETTERS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// Characters that name a key.
const ID_CHARS: usize = 6;

/// Characters of the secret; 43 of 62 letters are 256 bits.
const SECRET_CHARS: usize = 43;

/// Characters of the checksum, which is 32 bits of the SHA-256 of all before it.
const CHECK_CHARS: usize = 6;

/// Characters of a whole key.
const KEY_CHARS: usize = PREFIX.len() + ID_CHARS + 1 + SECRET_CHARS + CHECK_CHARS;

/// A key as its holder has it. Shows its name only.
pub struct Key(String);

/// What names a key, and tells nothing of its secret.
pub type Id = [u8; ID_CHARS];

/// Why a text is no key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoKey {
    /// It has another form.
    Form,
    /// It has the form, but was cut short, mistyped or made up.
    Checksum,
}

impl Key {
    /// A new key.
    ///
    /// # Errors
    /// The system gives no randomness.
    pub(super) fn new() -> Result<Key, getrandom::Error> {
        let mut text = String::with_capacity(KEY_CHARS);
        text.push_str(PREFIX);
        push_random(&mut text, ID_CHARS)?;
        text.push('_');
        push_random(&mut text, SECRET_CHARS)?;
        let checksum = checksum(&text);
        text.push_str(&checksum);
        Ok(Key(text))
    }

    /// The whole key, for the one person who sees it once.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// Its name.
    pub(super) fn id(&self) -> &str {
        &self.0[PREFIX.len()..PREFIX.len() + ID_CHARS]
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PREFIX}{}_…", self.id())
    }
}

fn push_random(text: &mut String, chars: usize) -> Result<(), getrandom::Error> {
    // A multiple of the number of letters: what is beyond it would make some of them likelier.
    const FAIR: usize = 256 / LETTERS.len() * LETTERS.len();
    let mut wanted = chars;
    while wanted > 0 {
        let mut random = [0u8; 64];
        getrandom::fill(&mut random)?;
        let fair = random.iter().map(|byte| usize::from(*byte)).filter(|byte| *byte < FAIR);
        for byte in fair.take(wanted) {
            text.push(char::from(LETTERS[byte % LETTERS.len()]));
            wanted -= 1;
        }
    }
    Ok(())
}

fn checksum(text: &str) -> String {
    let digest = digest(&SHA256, text.as_bytes());
    let [a, b, c, d, ..] = digest.as_ref() else { unreachable!("SHA-256 has 32 bytes") };
    let mut rest = u32::from_be_bytes([*a, *b, *c, *d]);
    let mut letters = [0u8; CHECK_CHARS];
    for letter in letters.iter_mut().rev() {
        *letter = LETTERS[(rest % 62) as usize];
        rest /= 62;
    }
    letters.iter().map(|letter| char::from(*letter)).collect()
}

/// The name of a key that has the right form.
///
/// # Errors
/// It has another form.
pub fn id_of(text: &str) -> Result<Id, NoKey> {
    let bytes = text.as_bytes();
    let has_form = bytes.len() == KEY_CHARS
        && text.starts_with(PREFIX)
        && bytes[PREFIX.len() + ID_CHARS] == b'_'
        && bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
    if !has_form {
        return Err(NoKey::Form);
    }
    bytes[PREFIX.len()..PREFIX.len() + ID_CHARS].try_into().map_err(|_| NoKey::Form)
}

/// Says why a key of the right form is not known: because it is not whole, if anything is wrong with it.
///
/// # Errors
/// It is not whole.
pub fn check_whole(text: &str) -> Result<(), NoKey> {
    let (body, sum) = text.split_at_checked(KEY_CHARS - CHECK_CHARS).ok_or(NoKey::Form)?;
    if checksum(body) == sum { Ok(()) } else { Err(NoKey::Checksum) }
}

/// What is kept of a key.
pub fn hash(text: &str) -> [u8; 32] {
    digest(&SHA256, text.as_bytes()).as_ref().try_into().expect("SHA-256 has 32 bytes")
}

/// Compares hashes in a time that does not tell where they differ.
pub fn is_same(one: &[u8; 32], other: &[u8; 32]) -> bool {
    one.iter().zip(other).fold(0, |differing, (one, other)| differing | (one ^ other)) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_key_has_the_form_and_is_like_no_other() {
        let keys: Vec<Key> = (0..100).map(|_| Key::new().expect("the system has randomness")).collect();
        for key in &keys {
            let text = key.reveal();
            assert_eq!(
                (text.len(), id_of(text)),
                (59, Ok(key.id().as_bytes().try_into().expect("six"))),
                "{text}"
            );
            assert_eq!(check_whole(text), Ok(()), "{text}");
            assert_eq!(format!("{key:?}"), format!("tc_{}_…", key.id()));
        }
        let mut hashes: Vec<_> = keys.iter().map(|key| hash(key.reveal())).collect();
        hashes.sort_unstable();
        hashes.dedup();
        assert_eq!(hashes.len(), keys.len());
    }

    #[test]
    fn what_is_not_whole_is_told_apart() {
        let key = Key::new().expect("the system has randomness");
        let good = key.reveal();
        let other = |at: usize| {
            let letter = if good.as_bytes()[at] == b'a' { "b" } else { "a" };
            format!("{}{letter}{}", &good[..at], &good[at + 1..])
        };
        for (text, form, whole) in [
            (good.to_owned(), true, true),
            (good[..58].to_owned(), false, false),
            (format!("{good}a"), false, false),
            (good.replace("tc_", "tk_"), false, false),
            (good.replace('_', "-"), false, false),
            (other(4), true, false),
            (other(20), true, false),
            (other(58), true, false),
            (String::new(), false, false),
            ("tc_".to_owned(), false, false),
            ("ä".repeat(30), false, false),
        ] {
            assert_eq!(id_of(&text).is_ok(), form, "{text}");
            assert_eq!(id_of(&text).and_then(|_| check_whole(&text)).is_ok(), whole, "{text}");
        }
    }

    #[test]
    fn hashes_are_compared_whole() {
        let (one, mut other) = (hash("a"), hash("a"));
        assert!(is_same(&one, &other));
        other[31] ^= 1;
        assert!(!is_same(&one, &other));
    }
}
