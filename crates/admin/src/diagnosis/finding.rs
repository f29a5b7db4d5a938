//! `Diagnosis`: what is wrong with a server and what to try, in the words of `words.toml`, and what it is found from.

use std::fmt::Display;
use std::sync::LazyLock;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use upstream::Settings;

use super::evidence::Seen;

/// What is wrong, and what to try.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Diagnosis {
    /// A word for scripts; stays as it is.
    pub kind: String,
    /// What happened, as the end of a sentence that begins with the server's name.
    pub what: String,
    /// What to try.
    #[serde(rename = "try")]
    pub try_: String,
}

/// What is known about a try that failed.
pub struct Failed<'a> {
    /// The server.
    pub settings: &'a Settings,
    /// What came of it.
    pub seen: &'a Seen,
    /// The end of what the program wrote on its stderr.
    pub stderr: &'a str,
    /// The names of all programs in PATH; asked for if one is missing.
    pub programs: &'a dyn Fn() -> Vec<String>,
}

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    toml::from_str(include_str!("words.toml")).expect("the table beside this file is sound")
});

#[derive(Deserialize)]
struct Table {
    diagnosis: Vec<Words>,
}

/// One diagnosis of the table.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Words {
    pub(super) kind: String,
    #[serde(default)]
    phrases: Vec<String>,
    what: String,
    r#try: String,
}

/// A name in the words, and what stands in its place.
type Fact<'a> = (&'a str, &'a dyn Display);

impl Diagnosis {
    /// The diagnosis of this kind, with these facts.
    pub fn of(kind: &str, facts: &[Fact<'_>]) -> Diagnosis {
        let words = TABLE.diagnosis.iter().find(|words| words.kind == kind);
        let words = words.expect("every kind stands in the table");
        let kind = words.kind.split(':').next().unwrap_or_default();
        Diagnosis {
            kind: kind.to_owned(),
            what: filled(&words.what, facts),
            try_: filled(&words.r#try, facts),
        }
    }

    /// For people: the server's name, what happened, and what to try below it.
    pub fn lines(&self, name: &str) -> String {
        format!("{name}: {}\n  try: {}", self.what, self.try_)
    }
}

/// The diagnosis that the last words of a program tell, and the line that does: the last one is often only where it
/// happened.
pub(super) fn told_by(stderr: &str) -> Option<(&'static Words, &str)> {
    TABLE.diagnosis.iter().find_map(|words| {
        let tells = |line: &str| words.phrases.iter().any(|phrase| line.to_lowercase().contains(phrase));
        stderr.lines().find(|line| tells(line)).map(|line| (words, line))
    })
}

/// The words with the facts in them. A fact is put in once: what a server says stands for nothing else.
fn filled(words: &str, facts: &[Fact<'_>]) -> String {
    let mut pieces = words.split('{');
    let mut text = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let (name, rest) = piece.split_once('}').expect("what is opened in the table is closed");
        let fact = facts.iter().find(|(known, _)| *known == name);
        text += &fact.expect("every fact of the words is given").1.to_string();
        text += rest;
    }
    text
}
