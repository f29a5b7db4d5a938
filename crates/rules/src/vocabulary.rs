//! The words of the protocol whose messages are judged. Who assembles the program hands them over; this crate knows none.

use std::collections::BTreeMap;
use std::sync::Arc;

/// The members of the protocol's objects, and what each holds. Without any, every word is content.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Vocabulary(Arc<BTreeMap<&'static str, Holds>>);

/// What the value of a member is, as far as it matters here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holds {
    /// One of these words, or several: striking one would break the message.
    Words(&'static [&'static str]),
    /// The name of a media type.
    MediaType,
    /// A time after RFC 3339.
    Time,
    /// A name that somebody gave to something, to find it again.
    Identifier,
    /// A tool's own.
    Foreign,
    /// Anything else.
    Other,
}

/// Whose object a JSON text is.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Owner<'v> {
    /// A tool's: every word is content.
    Tool,
    /// The protocol's, which has these words.
    Protocol(&'v Vocabulary),
}

impl FromIterator<(&'static str, Holds)> for Vocabulary {
    fn from_iter<I: IntoIterator<Item = (&'static str, Holds)>>(members: I) -> Vocabulary {
        Vocabulary(Arc::new(members.into_iter().collect()))
    }
}

impl Vocabulary {
    /// What the member of this name holds, if the protocol has one.
    pub(crate) fn holds(&self, name: &str) -> Option<Holds> {
        self.0.get(name).copied()
    }
}

impl<'v> Owner<'v> {
    /// Whose object stands below a name in one of this owner's.
    pub(crate) fn of(self, name: &str) -> Owner<'v> {
        match self {
            Owner::Protocol(vocabulary) if vocabulary.holds(name) != Some(Holds::Foreign) => self,
            Owner::Protocol(_) | Owner::Tool => Owner::Tool,
        }
    }

    /// True for a name that the protocol has in its objects.
    pub(crate) fn has(self, name: &str) -> bool {
        matches!(self, Owner::Protocol(vocabulary) if vocabulary.holds(name).is_some())
    }
}

/// Some words of a protocol.
#[cfg(test)]
pub(crate) fn sample() -> Vocabulary {
    let others = ["content", "contents", "text", "blob", "data"].map(|name| (name, Holds::Other));
    let forms = [
        ("createdAt", Holds::Time),
        ("mimeType", Holds::MediaType),
        ("resultType", Holds::Words(&["complete", "task"])),
        ("role", Holds::Words(&["user", "assistant"])),
        ("status", Holds::Words(&["working", "completed"])),
        ("structuredContent", Holds::Foreign),
        ("taskId", Holds::Identifier),
        ("type", Holds::Words(&["text", "image"])),
    ];
    others.into_iter().chain(forms).collect()
}
