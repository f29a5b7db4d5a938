//! `Finding`: something that was found in a definition.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::shown::{excerpt, visible};

/// Longest part of a text that is shown of a finding, in bytes.
const EXCERPT_BYTES_MAX: usize = 160;

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[derive(strum::Display)]
#[strum(serialize_all = "lowercase")]
pub enum Severity {
    /// Good to know.
    Low,
    /// Honest servers have it, too, but somebody should look.
    Medium,
    /// No honest server needs it.
    High,
}

/// Something that was found in a definition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// How bad it is.
    pub severity: Severity,
    /// What kind of finding it is, for programs.
    pub id: String,
    /// What it means: a sentence without its full stop.
    pub says: String,
    /// Where in the definition: the path of a member.
    pub at: String,
    /// The part of the text, with hidden characters made visible.
    pub excerpt: String,
}

/// A text in a definition.
pub(super) struct Text<'t> {
    pub(super) at: String,
    pub(super) said: &'t str,
    /// True for the name of something.
    pub(super) is_name: bool,
}

impl fmt::Display for Finding {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} ({}: {})", self.says, self.at, self.excerpt)
    }
}

impl Finding {
    pub(super) fn new(
        severity: Severity,
        id: &str,
        says: impl Into<String>,
        at: &str,
        part: &str,
    ) -> Finding {
        let excerpt = excerpt(part, EXCERPT_BYTES_MAX);
        let says = visible(&says.into());
        Finding { severity, id: id.to_owned(), says, at: visible(at), excerpt }
    }
}
