//! `HeldBack`: something that is not offered until a person has accepted it.

use std::fmt;

use crate::item::What;

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

/// A word as a shell takes it.
pub fn shell_word(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | ':' | '/' | '.' | '@');
    if word.chars().all(is_plain) { word.to_owned() } else { format!("'{}'", word.replace('\'', r"'\''")) }
}
