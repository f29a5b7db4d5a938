//! The rules as they stand in `rules/*.toml`.

use std::borrow::Cow;
use std::sync::OnceLock;

use regex_automata::meta::Regex;
use regex_automata::util::syntax;
#[cfg(test)]
use serde::Deserialize;

/// The files, in the order in which a rule wins that finds the same place as another.
const FILES: [&str; 2] = [include_str!("../../rules/betterleaks.toml"), include_str!("../../rules/own.toml")];

/// Most memory that an expression may take when it is compiled, in bytes. The largest counts to a few thousand.
const EXPRESSION_BYTES_MAX: usize = 16 * 1024 * 1024;

/// How a rule finds its secret.
#[derive(Clone, Copy)]
pub(super) enum Form {
    /// It is a value that is given to something whose name has a keyword.
    Near,
    /// The keyword is a part of it.
    Token {
        /// How many bytes before the keyword it begins.
        back: usize,
        /// True if a word must begin there.
        bound: bool,
    },
}

/// What a secret must look like beside its shape.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(test, derive(Deserialize), serde(rename_all = "kebab-case"))]
pub(super) enum Looks {
    /// Its shape is enough.
    #[default]
    Shaped,
    /// Not something to be filled in, such as `PASSWORD` or `${VAR}`.
    FilledIn,
    /// Made by a machine: no words.
    Random,
    /// The same, and no digest and no UUID either, since those are what most keys are that open nothing.
    RandomKey,
    /// Chosen by a person, perhaps.
    Password,
}

/// One rule.
pub(super) struct Rule {
    pub(super) id: Cow<'static, str>,
    pub(super) form: Form,
    pub(super) looks: Looks,
    /// Least bits for a character; 0 for any.
    pub(super) entropy: f32,
    /// True if nothing is found where the name around the keyword is none of a secret, as in `next_page_token`.
    pub(super) heeds_name: bool,
    /// True if it takes the signs of base64, so that what goes on with one of them is longer than what it looks for.
    pub(super) is_base64: bool,
    keywords: Vec<String>,
    expression: Expression,
}

/// Compiled when first needed.
pub(super) struct Expression {
    text: Cow<'static, str>,
    compiled: OnceLock<Compiled>,
}

/// An expression that can be searched for.
pub(super) struct Compiled {
    pub(super) regex: Regex,
    /// Most bytes that it fits; nothing if it may go on for ever.
    pub(super) bytes_max: Option<usize>,
    /// True if the secret is not all that it fits.
    pub(super) has_groups: bool,
}

/// A rule of a file. Either `near` and `secret`, or `keywords` and `regex`; keywords are in small letters and found
/// in any.
#[derive(Debug, Default, PartialEq)]
#[cfg_attr(test, derive(Deserialize), serde(deny_unknown_fields, default))]
struct Written {
    /// The kind that is shown.
    id: Cow<'static, str>,
    /// What is in the name of the thing that the secret is given to: `NAME = SECRET`, `"name": "secret"`, `<name>…`.
    near: Vec<String>,
    /// The shape of the value from its beginning. ASCII.
    secret: Cow<'static, str>,
    /// What is in the secret, or stands before it.
    keywords: Vec<String>,
    /// Fits from the keyword on; its first group, if it has one, is what is struck out. ASCII.
    regex: Cow<'static, str>,
    /// How many bytes before the keyword the expression begins.
    back: usize,
    /// False if the secret may begin in the middle of a word.
    bound: Option<bool>,
    looks: Looks,
    entropy: f32,
    /// True if nothing is found where the name around the keyword is none of a secret.
    heeds_name: bool,
}

/// All rules.
pub(super) fn all() -> Vec<Rule> {
    FILES.iter().flat_map(|text| read(text)).map(Rule::from).collect()
}

/// Reads a file of rules: TOML with each value on the line of its key. The first line of the log waits for it, and a
/// reader of all of TOML takes half a millisecond more; a test holds that both read the same.
fn read(text: &'static str) -> Vec<Written> {
    let mut rules: Vec<Written> = Vec::new();
    for line in text.lines() {
        if line == "[[rules]]" {
            rules.push(Written::default());
        }
        let (Some((key, value)), Some(rule)) = (line.split_once(" = "), rules.last_mut()) else { continue };
        match key {
            "id" => rule.id = value.trim_matches('"').into(),
            "near" => rule.near = list(value),
            "secret" => rule.secret = value.trim_matches('\'').into(),
            "keywords" => rule.keywords = list(value),
            "regex" => rule.regex = value.trim_matches('\'').into(),
            "back" => rule.back = value.parse().expect("a test reads the files"),
            "bound" => rule.bound = Some(value == "true"),
            "looks" => rule.looks = Looks::parse(value.trim_matches('"')),
            "heeds_name" => rule.heeds_name = value == "true",
            "entropy" => rule.entropy = value.parse().expect("a test reads the files"),
            _ => {}
        }
    }
    rules
}

fn list(value: &str) -> Vec<String> {
    let inner = value.strip_prefix("[\"").and_then(|inner| inner.strip_suffix("\"]"));
    let items = inner.expect("a test reads the files").split("\", \"");
    items.map(|item| item.replace("\\\"", "\"").replace("\\\\", "\\")).collect()
}

impl Looks {
    fn parse(word: &str) -> Looks {
        match word {
            "filled-in" => Looks::FilledIn,
            "random" => Looks::Random,
            "random-key" => Looks::RandomKey,
            "password" => Looks::Password,
            _ => Looks::Shaped,
        }
    }
}

impl From<Written> for Rule {
    fn from(written: Written) -> Rule {
        let Written { id, near, secret, keywords, regex, back, bound, looks, entropy, heeds_name } = written;
        let (form, keywords, text) = match near.is_empty() {
            false => (Form::Near, near, secret),
            true => (Form::Token { back, bound: bound.unwrap_or(true) }, keywords, regex),
        };
        let is_base64 = text.contains("+/") || text.contains("/+");
        let expression = Expression { text, compiled: OnceLock::new() };
        Rule { id, form, looks, entropy, heeds_name, is_base64, keywords, expression }
    }
}

impl Rule {
    pub(super) fn keywords(&self) -> impl Iterator<Item = &str> {
        self.keywords.iter().map(String::as_str)
    }

    pub(super) fn expression(&self) -> &Expression {
        &self.expression
    }
}

impl Expression {
    pub(super) fn compiled(&self) -> &Compiled {
        self.compiled.get_or_init(|| {
            let syntax = syntax::Config::new().unicode(false).utf8(false);
            let parsed = syntax::parse_with(&self.text, &syntax).expect("a test compiles all of them");
            // Groups are asked for only where an expression fits, which is rare; the automaton that finds them faster
            // takes hundreds of kilobytes.
            let limits =
                Regex::config().nfa_size_limit(Some(EXPRESSION_BYTES_MAX)).utf8_empty(false).onepass(false);
            let built = Regex::builder().configure(limits).build_from_hir(&parsed);
            let regex = built.expect("a test compiles all of them");
            let has_groups = regex.captures_len() > 1;
            Compiled { regex, bytes_max: parsed.properties().maximum_len(), has_groups }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct File {
        rules: Vec<Written>,
    }

    #[test]
    fn the_files_are_read_as_toml_is() {
        for text in FILES {
            let file: File = toml::from_str(text).expect("TOML");
            for (ours, theirs) in read(text).iter().zip(&file.rules) {
                assert_eq!(ours, theirs);
            }
            assert_eq!(read(text).len(), file.rules.len());
        }
    }

    #[test]
    fn every_rule_can_be_used() {
        let rules = all();
        assert!(rules.len() > 400, "{}", rules.len());
        for rule in &rules {
            let regex = &rule.expression().compiled().regex;
            assert!(rule.keywords().next().is_some(), "{} has no keyword", rule.id);
            for keyword in rule.keywords() {
                assert_eq!(keyword, keyword.to_ascii_lowercase(), "{}", rule.id);
            }
            assert!(!regex.is_match(""), "{} fits nothing at all", rule.id);
            assert!(rule.id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-'), "{}", rule.id);
        }
    }
}
