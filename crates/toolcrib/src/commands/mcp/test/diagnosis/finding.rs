//! `Diagnosis`: what is wrong with a server and what to try, and what it is found from.

use serde_json::{Value, json};
use upstream::Settings;

use crate::commands::mcp::test::evidence::Seen;

/// What is wrong, and what to try.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Diagnosis {
    /// A word for scripts; stays as it is.
    pub(crate) kind: &'static str,
    /// What happened, as the end of a sentence that begins with the server's name.
    pub(crate) what: String,
    /// What to try.
    pub(crate) try_: String,
}

/// What is known about a try that failed.
pub(crate) struct Failed<'a> {
    pub(crate) settings: &'a Settings,
    pub(crate) seen: &'a Seen,
    /// The end of what the program wrote on its stderr.
    pub(crate) stderr: &'a str,
    /// The names of all programs in PATH; asked for if one is missing.
    pub(crate) programs: &'a dyn Fn() -> Vec<String>,
}

impl Diagnosis {
    pub(crate) fn new(kind: &'static str, what: impl Into<String>, try_: impl Into<String>) -> Diagnosis {
        Diagnosis { kind, what: what.into(), try_: try_.into() }
    }

    pub(crate) fn to_json(&self) -> Value {
        json!({ "kind": self.kind, "what": self.what, "try": self.try_ })
    }

    /// For people: the server's name, what happened, and what to try below it.
    pub(crate) fn lines(&self, name: &str) -> String {
        format!("{name}: {}\n  try: {}", self.what, self.try_)
    }
}
