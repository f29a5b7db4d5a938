//! Keys that stand written out in a server's variables and headers, and where they are kept instead.

use std::collections::BTreeMap;

use clients::Server;
use redact::Redactor;
use store::{SecretName, SecretValue};

use super::plan::Plan;
use crate::fault::Fault;
use crate::secrets::{SecretPart, Set, Value, is_struck_out};

/// Parts of names whose values are mostly secret.
const SECRET_WORDS: [&str; 7] =
    ["token", "key", "secret", "password", "passwd", "credential", "authorization"];

/// Words that switch something, whatever their variable is called.
const SWITCHES: [&str; 10] = ["true", "false", "on", "off", "yes", "no", "none", "null", "auto", "default"];

/// Shorter numbers are limits and ports, such as `MAX_TOKENS=4096`.
const NUMBER_CHARS_MIN: usize = 6;

/// Longest name of a secret that is made of a server's and a variable's, before a number.
const NAME_CHARS_MAX: usize = 60;

/// What makes a text of ours more than it says.
const REFERENCES: [&str; 4] = ["{env:", "{file:", "{store:", "${workspace}"];

/// A key that goes from a client's file to where secrets are kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SealedKey {
    /// The name that it is kept by.
    pub name: String,
    /// Where it stands, such as `mcp.git.env.TOKEN`.
    pub place: String,
    /// What it says. Prints as `***`.
    pub value: Value,
    /// False if it is kept by this name already.
    pub is_new: bool,
}

impl SealedKey {
    /// What keeps it.
    pub fn set(&self) -> Set {
        Set { name: self.name.clone(), value: Some(self.value.clone()), whom: Vec::new() }
    }
}

/// True for the name of something whose value others should not read.
pub fn sounds_secret(name: &str) -> bool {
    let name = name.to_lowercase();
    SECRET_WORDS.iter().any(|word| name.contains(word))
}

/// Puts references in the place of the keys that are written out in what would be added, and gives the keys.
///
/// # Errors
/// One of them cannot get its name: something else is kept by it. Nothing is changed then.
pub fn seal_keys(plan: &mut Plan, kept: &SecretPart) -> Result<Vec<SealedKey>, Fault> {
    let patterns = Redactor::new(&redact::Config::default());
    let mut sealed: BTreeMap<String, SealedKey> = BTreeMap::new();
    let mut servers: Vec<Server> = plan.add.iter().map(|planned| planned.server.clone()).collect();
    for (planned, server) in plan.add.iter().zip(&mut servers) {
        for (table, variable, text) in server.secret_texts() {
            let (head, key) = without_scheme(variable, text);
            if !is_key(variable, key, &patterns) {
                continue;
            }
            let place = format!("mcp.{}.{table}.{variable}", planned.name);
            let value = Value(key.to_owned());
            let name = free_name(&planned.name, variable, &value, &sealed);
            let is_new = is_new(&name, &place, key, kept)?;
            *text = format!("{head}${{store:{name}}}");
            sealed.entry(name.clone()).or_insert(SealedKey { name, place, value, is_new });
        }
    }
    for (planned, server) in plan.add.iter_mut().zip(servers) {
        planned.server = server;
    }
    Ok(sealed.into_values().collect())
}

/// `Bearer x` is a scheme and a key: what is struck out later is the key alone.
fn without_scheme<'t>(name: &str, text: &'t str) -> (&'t str, &'t str) {
    let end = text.find(' ').map(|space| space + 1);
    let is_word = |head: &str| head.trim_end().chars().all(|c| c.is_ascii_alphabetic());
    match end {
        Some(end) if name.to_lowercase().ends_with("authorization") && is_word(&text[..end]) => {
            text.split_at(end)
        }
        _ => ("", text),
    }
}

/// Whether a text is a key by its name or by what it looks like.
fn is_key(name: &str, text: &str, patterns: &Redactor) -> bool {
    let is_setting = SWITCHES.contains(&text.to_lowercase().as_str())
        || (text.len() < NUMBER_CHARS_MIN && text.bytes().all(|byte| byte.is_ascii_digit()))
        || ["/", "~/", "./", "../"].iter().any(|start| text.starts_with(start));
    let may_be_kept = is_struck_out(text)
        && SecretValue::parse(text).is_ok()
        && !REFERENCES.iter().any(|start| text.contains(start));
    let looks_secret = || patterns.strike(&format!("{name}={text}")).is_some();
    may_be_kept && !is_setting && (sounds_secret(name) || looks_secret())
}

/// `GIT_TOKEN` for the variable `TOKEN` of the server `git`, or the same with a number if another key of the plan has it.
fn free_name(server: &str, variable: &str, value: &Value, taken: &BTreeMap<String, SealedKey>) -> String {
    let word = |text: &str| -> String {
        let capital = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' };
        text.chars().map(capital).collect()
    };
    let (server, variable) = (word(server), word(variable));
    let is_said = variable.starts_with(&format!("{server}_"));
    let mut name = if is_said { variable } else { format!("{server}_{variable}") };
    if !name.starts_with(|c: char| c.is_ascii_uppercase()) {
        name.insert_str(0, "KEY_");
    }
    name.truncate(NAME_CHARS_MAX);
    let numbered = (2..).map(|number| format!("{name}_{number}"));
    let mut names = std::iter::once(name.clone()).chain(numbered);
    let is_free = |name: &String| taken.get(name).is_none_or(|other| other.value == *value);
    names.find(is_free).expect("there is no end of numbers")
}

/// Whether nothing is kept by this name.
///
/// # Errors
/// Something else is.
fn is_new(name: &str, place: &str, key: &str, kept: &SecretPart) -> Result<bool, Fault> {
    let parsed = SecretName::parse(name).map_err(|error| Fault::misused(error.to_string()))?;
    let there = if kept.sealed.may_have_named()? { kept.sealed.named(&parsed)? } else { None };
    match there {
        None => Ok(true),
        Some(there) if there.value.expose() == key => Ok(false),
        Some(_) => Err(Fault::misused(format!(
            "the key of {place} would be kept as {name}, and another value is kept by that name; nothing was changed: if \
             nothing needs that one, `toolcrib secrets remove {name}`, else keep this one yourself under another name and \
             add the server by hand"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_told_from_settings() {
        let patterns = Redactor::new(&redact::Config::default());
        for (name, text, expected) in [
            ("API_TOKEN", "hunter2", true),
            ("X-Api-Key", "very-secret", true),
            ("DB_PASSWORD", "12345678", true),
            ("NOTE", "ghp_0123456789abcdefghijABCDEFGHIJ012345", true),
            ("MAX_TOKENS", "4096", false),
            ("USE_TOKEN", "true", false),
            ("KEY_FILE", "/home/ada/key.pem", false),
            ("API_TOKEN", "abc", false),
            ("API_TOKEN", "${env:API_TOKEN}", false),
            ("API_TOKEN", "a{{env:B}", false),
            ("LEVEL", "debug", false),
            ("REGION", "us-east-1", false),
            ("API_TOKEN", "", false),
        ] {
            assert_eq!(is_key(name, text, &patterns), expected, "{name}={text}");
        }
        assert!(!is_key("TOKEN", &"x".repeat(5000), &patterns), "too long to be kept");
    }

    #[test]
    fn a_scheme_stays_in_the_open() {
        for (name, text, expected) in [
            ("Authorization", "Bearer abc def", ("Bearer ", "abc def")),
            ("Proxy-Authorization", "Basic eA==", ("Basic ", "eA==")),
            ("Authorization", "abcdef", ("", "abcdef")),
            ("Authorization", "a=1 b", ("", "a=1 b")),
            ("X-Key", "Bearer abc", ("", "Bearer abc")),
        ] {
            assert_eq!(without_scheme(name, text), expected, "{text}");
        }
    }

    #[test]
    fn names_say_whose_key_it_is() {
        let one = |name: &str| SealedKey {
            name: name.to_owned(),
            place: String::new(),
            value: Value("one".to_owned()),
            is_new: true,
        };
        let taken: BTreeMap<_, _> = ["A_TOKEN"].map(|name| (name.to_owned(), one(name))).into();
        for (server, variable, value, expected) in [
            ("git", "TOKEN", "x", "GIT_TOKEN"),
            ("github", "GITHUB_TOKEN", "x", "GITHUB_TOKEN"),
            ("my server", "X-Api-Key", "x", "MY_SERVER_X_API_KEY"),
            ("1st", "KEY", "x", "KEY_1ST_KEY"),
            ("a", "TOKEN", "one", "A_TOKEN"),
            ("a", "TOKEN", "two", "A_TOKEN_2"),
        ] {
            assert_eq!(free_name(server, variable, &Value(value.to_owned()), &taken), expected);
        }
        let long = free_name(&"x".repeat(64), "TOKEN", &Value("x".to_owned()), &taken);
        assert!(SecretName::parse(&long).is_ok(), "{long}");
    }
}
