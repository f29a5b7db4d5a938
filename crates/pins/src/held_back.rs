//! `HeldBack`: something that is not offered until a person has accepted it.

use std::fmt;

use crate::item::What;

/// Most definitions that are named in short.
const NAMED_MAX: usize = 5;

/// A definition that is held back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeldBack {
    /// What it is.
    pub what: What,
    /// Its own name or URI, fit for a message.
    pub name: String,
    /// Why.
    pub why: Why,
}

/// Why a definition is held back. Completes "`echo` is held back: …".
#[derive(Debug, Clone, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
pub enum Why {
    /// It was not there when the server was first seen.
    New,
    /// It is not what was accepted.
    Changed,
    /// It was there when the server was first seen, and looks like an attack: this was found.
    Suspicious(String),
    /// Nothing of this server is offered before it is accepted.
    Unreviewed,
    /// A person has rejected it.
    Rejected,
    /// What was accepted cannot be read or kept, for this reason.
    Unknown(String),
}

impl Why {
    /// True if a person has something to decide.
    pub fn awaits(&self) -> bool {
        match self {
            Why::New | Why::Changed | Why::Suspicious(_) | Why::Unreviewed => true,
            Why::Rejected | Why::Unknown(_) => false,
        }
    }

    /// Its name for programs.
    pub fn word(&self) -> &'static str {
        self.into()
    }
}

impl fmt::Display for Why {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Why::New => out.write_str("it is new, and nobody has accepted it yet"),
            Why::Changed => out.write_str("it has changed since it was accepted"),
            Why::Suspicious(finding) => write!(out, "it looks suspicious: {finding}"),
            Why::Unreviewed => out.write_str("nobody has accepted it yet"),
            Why::Rejected => out.write_str("it was rejected"),
            Why::Unknown(reason) => out.write_str(reason),
        }
    }
}

impl HeldBack {
    /// What a caller is told who wants to use it: a model, so no command that would offer it.
    pub fn advice(&self, upstream: &str) -> String {
        let HeldBack { what, name, why } = self;
        let why = match why {
            // The whole of it says how to forget what was accepted.
            Why::Unknown(_) => "what was accepted of this server cannot be read".to_owned(),
            why => why.to_string(),
        };
        format!(
            "{what} `{name}` of `{upstream}` is held back: {why}; a person must look at it first, so go on without it"
        )
    }
}

/// How much of a server waits for a person, and why, in a few words; nothing if nothing does.
pub fn held_in_short(held: &[HeldBack]) -> Option<String> {
    let waiting: Vec<&HeldBack> = held.iter().filter(|held| held.why.awaits()).collect();
    let named = waiting.iter().take(NAMED_MAX);
    let mut named: Vec<_> =
        named.map(|HeldBack { what, name, why }| format!("{what} {name} ({})", why.word())).collect();
    if let Some(more) = waiting.len().checked_sub(NAMED_MAX).filter(|more| *more > 0) {
        named.push(format!("and {more} more"));
    }
    (!waiting.is_empty()).then(|| format!("{} held back: {}", waiting.len(), named.join(", ")))
}

/// A word as a shell takes it.
pub fn shell_word(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | ':' | '/' | '.' | '@');
    if word.chars().all(is_plain) { word.to_owned() } else { format!("'{}'", word.replace('\'', r"'\''")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_waits_is_told_in_short() {
        let held = |name: &str, why| HeldBack { what: What::Tool, name: name.to_owned(), why };
        assert_eq!(held_in_short(&[held("a", Why::Rejected)]), None);
        let two = [held("a", Why::Changed), held("b", Why::Rejected), held("c", Why::New)];
        assert_eq!(held_in_short(&two).as_deref(), Some("2 held back: tool a (changed), tool c (new)"));
        let many: Vec<_> = (0..7).map(|n| held(&n.to_string(), Why::New)).collect();
        let told = held_in_short(&many).expect("they wait");
        assert!(told.ends_with("tool 4 (new), and 2 more"), "{told}");
    }
}
