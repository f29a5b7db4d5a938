//! The members of a record, written as JSON. Every call waits for them on a busy machine, and a general serializer looks at
//! each byte of each text by itself; here nearly all texts are seen to need no escape eight bytes at a time.

use serde::Serialize;

use crate::hash::Hash;

/// What is looked at together.
const WORD_BYTES: usize = 8;

/// One in each byte of a word.
const ONES: u64 = u64::from_le_bytes([1; WORD_BYTES]);

/// The highest bit of each byte of a word.
const HIGH_BITS: u64 = ONES << 7;

/// Appends members of an object, each behind a comma.
pub(crate) struct Members<'a>(&'a mut Vec<u8>);

impl Members<'_> {
    pub(crate) fn of(into: &mut Vec<u8>) -> Members<'_> {
        Members(into)
    }

    fn name(&mut self, name: &'static str) {
        self.0.extend_from_slice(b",\"");
        self.0.extend_from_slice(name.as_bytes());
        self.0.extend_from_slice(b"\":");
    }

    pub(crate) fn text(&mut self, name: &'static str, text: &str) {
        self.name(name);
        push_text(self.0, text);
    }

    pub(crate) fn hash(&mut self, name: &'static str, hash: &Hash) {
        self.name(name);
        push_plain(self.0, &hash.hex());
    }

    /// Anything else, or what few records have.
    pub(crate) fn value(&mut self, name: &'static str, value: impl Serialize) {
        self.name(name);
        serde_json::to_writer(&mut *self.0, &value)
            .expect("texts and numbers become JSON, and memory takes every byte");
    }

    /// A list of which each record has one.
    pub(crate) fn pairs(&mut self, name: &'static str, pairs: &[(&'static str, &'static str)]) {
        self.name(name);
        let mut before = b'[';
        for (one, other) in pairs {
            self.0.extend_from_slice(&[before, b'[']);
            push_text(self.0, one);
            self.0.push(b',');
            push_text(self.0, other);
            self.0.push(b']');
            before = b',';
        }
        self.0.extend_from_slice(if pairs.is_empty() { b"[]" } else { b"]" });
    }

    pub(crate) fn text_if(&mut self, name: &'static str, text: Option<&str>) {
        if let Some(text) = text {
            self.text(name, text);
        }
    }

    pub(crate) fn hash_if(&mut self, name: &'static str, hash: Option<&Hash>) {
        if let Some(hash) = hash {
            self.hash(name, hash);
        }
    }

    pub(crate) fn list_if<T: Serialize>(&mut self, name: &'static str, list: &[T]) {
        if !list.is_empty() {
            self.value(name, list);
        }
    }

    pub(crate) fn count_if(&mut self, name: &'static str, count: u32) {
        if count > 0 {
            self.value(name, count);
        }
    }
}

fn push_text(into: &mut Vec<u8>, text: &str) {
    if is_plain(text.as_bytes()) {
        push_plain(into, text.as_bytes());
    } else {
        serde_json::to_writer(into, text).expect("a text becomes JSON, and memory takes every byte");
    }
}

fn push_plain(into: &mut Vec<u8>, text: &[u8]) {
    into.push(b'"');
    into.extend_from_slice(text);
    into.push(b'"');
}

/// Whether nothing in it is escaped in JSON: no control character, quote or backslash.
fn is_plain(text: &[u8]) -> bool {
    let (words, rest) = text.as_chunks::<WORD_BYTES>();
    let mut last = [b' '; WORD_BYTES];
    last[..rest.len()].copy_from_slice(rest);
    words.iter().chain([&last]).all(|word| !has_special(u64::from_le_bytes(*word)))
}

/// Whether a byte of the word is escaped, by arithmetic in all eight at once: subtracting borrows into the highest bit of a
/// byte that is smaller, or zero where it is the one that is looked for.
fn has_special(word: u64) -> bool {
    let below = |word: u64, least: u8| word.wrapping_sub(ONES * u64::from(least)) & !word;
    let is = |byte: u8| below(word ^ (ONES * u64::from(byte)), 1);
    (below(word, b' ') | is(b'"') | is(b'\\')) & HIGH_BITS != 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_written_as_by_the_library() {
        let check = |text: &str| {
            let mut written = Vec::new();
            push_text(&mut written, text);
            assert_eq!(written, serde_json::to_vec(text).unwrap(), "{text:?}");
        };
        // Each byte there is, in each place of a word, alone and behind others that are nearly special.
        for byte in (0..=u8::MAX).map(char::from) {
            for place in 0..=2 * WORD_BYTES {
                for fill in ["a", "!", "#", "[", "]", " ", "\u{7f}", "é"] {
                    check(&format!("{}{byte}", fill.repeat(place)));
                    check(&format!("{byte}{}", fill.repeat(place)));
                }
            }
        }
        check("");
    }
}
