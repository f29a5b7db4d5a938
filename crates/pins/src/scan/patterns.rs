//! Words that are meant for a model and not for a person: a table of patterns, `patterns.toml`, as people keep it.

use std::sync::OnceLock;

use regex::{Regex, RegexBuilder, RegexSet, RegexSetBuilder};
use serde::Deserialize;

use super::finding::{Finding, Severity};

/// The table.
const TABLE: &str = include_str!("patterns.toml");

/// Largest compiled pattern, in bytes.
const PATTERN_BYTES_MAX: usize = 8 * 1024 * 1024;

/// Shortest name of a type that has arguments, in characters.
const TYPE_CHARS_MIN: usize = 3;

/// The patterns, compiled.
pub(crate) struct Patterns {
    /// Says at one look which patterns are worth a second.
    any: RegexSet,
    /// Each compiled when it is wanted, which is seldom.
    all: Vec<(Pattern, OnceLock<Regex>)>,
}

#[derive(Deserialize)]
struct Table {
    pattern: Vec<Pattern>,
}

/// One of them.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Pattern {
    id: String,
    severity: Severity,
    says: String,
    regex: String,
    /// What is matched must have letters of both cases and digits, as an encoding of bytes has.
    #[serde(default)]
    encoded: bool,
    /// What is matched is none if it is an argument of a type, as in `List<Important>`.
    #[serde(default)]
    types: bool,
}

impl Patterns {
    pub(crate) fn compile() -> Patterns {
        let table: Table = toml::from_str(TABLE).expect("a table that the tests have read");
        let regexes: Vec<&str> = table.pattern.iter().map(|pattern| pattern.regex.as_str()).collect();
        let any = RegexSetBuilder::new(&regexes).case_insensitive(true).size_limit(PATTERN_BYTES_MAX).build();
        let any = any.expect("patterns that the tests have compiled");
        Patterns { any, all: table.pattern.into_iter().map(|pattern| (pattern, OnceLock::new())).collect() }
    }

    /// Adds what is found in a text.
    pub(super) fn search(&self, at: &str, text: &str, findings: &mut Vec<Finding>) {
        for index in self.any.matches(text) {
            let (pattern, regex) = &self.all[index];
            let regex = regex.get_or_init(|| pattern.compiled());
            let found = regex.find_iter(text).find(|found| {
                (!pattern.encoded || is_encoded(found.as_str()))
                    && (!pattern.types
                        || !is_type(&text[..found.start()], found.as_str(), &text[found.end()..]))
            });
            if let Some(found) = found {
                findings.push(Finding::new(
                    pattern.severity,
                    &pattern.id,
                    &*pattern.says,
                    at,
                    found.as_str(),
                ));
            }
        }
    }
}

impl Pattern {
    fn compiled(&self) -> Regex {
        let regex = RegexBuilder::new(&self.regex).case_insensitive(true).build();
        regex.expect("a pattern that the tests have compiled")
    }
}

/// True for what looks like an encoding of bytes.
fn is_encoded(text: &str) -> bool {
    let has = |is: fn(&u8) -> bool| text.as_bytes().iter().any(is);
    has(u8::is_ascii_uppercase) && has(u8::is_ascii_lowercase) && has(u8::is_ascii_digit)
}

/// True for a word in brackets behind the name of a type, both written as types are, without an end further on.
fn is_type(before: &str, found: &str, behind: &str) -> bool {
    let is_part = |c: &char| c.is_ascii_alphanumeric() || *c == '_';
    let name: Vec<char> = before.chars().rev().take_while(is_part).collect();
    let word = found.trim_matches(['<', '>']);
    let is_written_so = |first: Option<char>, rest: &str| {
        first.is_some_and(|first| first.is_ascii_uppercase()) && rest.chars().all(|c| c.is_ascii_lowercase())
    };
    name.len() >= TYPE_CHARS_MIN
        && name.last().is_some_and(char::is_ascii_uppercase)
        && is_written_so(word.chars().next(), word.get(1..).unwrap_or_default())
        && !behind.contains("</")
}
