//! The `[redaction]` section.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::patterns::{self, Filter};

/// What is struck out of results, errors, logs and records besides the values of known secrets, which always are. Only
/// your own file, or one that is named, says anything here.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Whether text that looks like a key, a token or a password is struck out, too, as
    /// `[REDACTED:kind]`.
    pub patterns: bool,
    /// What is left as it is although it looks like a secret, such as the keys of test data: regular expressions, each
    /// of which must fit the whole of what would be struck out. Never applies to known secrets. Only your own
    /// file, or one that is named, says so.
    pub allow: Vec<String>,
    /// Kinds that are not looked for, as they stand in `[REDACTED:kind]`, such as `generic-password`. Only your own
    /// file, or one that is named, says so.
    pub disable: Vec<String>,
}

impl Default for Config {
    fn default() -> Config {
        Config { patterns: true, allow: Vec::new(), disable: Vec::new() }
    }
}

/// Something that is wrong with the section.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what}")]
pub struct Fault {
    /// The key of the list.
    pub key: &'static str,
    /// Which of its items.
    pub nth: usize,
    /// What is wrong with it, and what to try.
    pub what: String,
}

impl Config {
    /// Checks the lists.
    ///
    /// # Errors
    /// Everything that is wrong with them.
    pub fn check(&self) -> Result<(), Vec<Fault>> {
        let allow = self.allow.iter().enumerate().filter_map(|(nth, text)| {
            let why = Filter::expression(text).err()?;
            Some(Fault { key: "allow", nth, what: format!("is no regular expression: {why}") })
        });
        let disable = self.disable.iter().enumerate().filter_map(|(nth, id)| {
            if patterns::ids().any(|known| known == id) {
                return None;
            }
            let nearest = patterns::ids()
                .max_by(|a, b| strsim::jaro_winkler(a, id).total_cmp(&strsim::jaro_winkler(b, id)))?;
            let what = format!("there is no kind `{id}`; did you mean `{nearest}`?");
            Some(Fault { key: "disable", nth, what })
        });
        let faults: Vec<Fault> = allow.chain(disable).collect();
        if faults.is_empty() { Ok(()) } else { Err(faults) }
    }
}
