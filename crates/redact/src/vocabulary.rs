//! The words of the protocol whose messages are redacted. Who assembles the program hands them over; this crate knows none.

use std::collections::BTreeMap;
use std::sync::Arc;

/// The members of the protocol's objects, and what each holds. Without any, nothing is taken for the protocol's own.
#[derive(Debug, Clone, Default)]
pub struct Vocabulary(Arc<BTreeMap<&'static [u8], Holds>>);

/// What the value of a member is, as far as it matters here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holds {
    /// One of these words, or several.
    Words(&'static [&'static str]),
    /// The name of a media type.
    MediaType,
    /// Bytes in base64.
    Bytes,
    /// Anything else.
    Other,
}

impl FromIterator<(&'static str, Holds)> for Vocabulary {
    fn from_iter<I: IntoIterator<Item = (&'static str, Holds)>>(members: I) -> Vocabulary {
        Vocabulary(Arc::new(members.into_iter().map(|(name, holds)| (name.as_bytes(), holds)).collect()))
    }
}

impl Vocabulary {
    /// What the member of this name holds, if the protocol has one.
    pub(crate) fn holds(&self, name: &[u8]) -> Option<Holds> {
        self.0.get(name).copied()
    }

    /// True for a word that any member may hold.
    pub(crate) fn is_word_of_any(&self, value: &[u8]) -> bool {
        let has = |holds: &Holds| match holds {
            Holds::Words(words) => words.iter().any(|word| word.as_bytes() == value),
            Holds::MediaType | Holds::Bytes | Holds::Other => false,
        };
        self.0.values().any(has)
    }
}
