//! The `[redaction]` section.

use std::collections::HashSet;

use regex_automata::meta::Regex;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::patterns;

/// Most memory that an expression of `allow` may take when it is compiled, in bytes.
const ALLOW_BYTES_MAX: usize = 1024 * 1024;

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
            let why = whole(text).err()?;
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

/// What is not struck out although a rule fits.
#[derive(Default)]
pub(crate) struct Filter {
    disabled: HashSet<String>,
    allowed: Vec<Regex>,
}

impl Filter {
    /// What the section says. What is wrong with it allows nothing.
    pub(crate) fn of(config: &Config) -> Filter {
        let allowed = config.allow.iter().filter_map(|text| whole(text).ok()).collect();
        Filter { disabled: config.disable.iter().cloned().collect(), allowed }
    }

    /// True if what rule `id` found is left as it is.
    pub(crate) fn lets_stand(&self, id: &str, secret: &[u8]) -> bool {
        self.disabled.contains(id) || self.allowed.iter().any(|allowed| allowed.is_match(secret))
    }
}

/// The expression that fits what `text` fits as a whole.
fn whole(text: &str) -> Result<Regex, String> {
    // Alone first, so that no bracket of it closes ours.
    compiled(text)?;
    compiled(&format!("^(?:{text})$"))
}

fn compiled(text: &str) -> Result<Regex, String> {
    let limits = Regex::config().nfa_size_limit(Some(ALLOW_BYTES_MAX));
    let syntax = regex_automata::util::syntax::Config::new().unicode(false).utf8(false);
    let built = Regex::builder().configure(limits).syntax(syntax).build(text);
    built.map_err(|error| match error.syntax_error() {
        // Before that it draws the place.
        Some(error) => match error.to_string().lines().last() {
            Some(last) => last.trim_start_matches("error: ").to_owned(),
            None => error.to_string(),
        },
        None => error.to_string(),
    })
}
