//! The rules as they stand in `rules/*.toml`.

use std::sync::{Arc, OnceLock};

use regex_automata::meta::Regex;
use regex_automata::util::syntax;

/// The files, in the order in which a rule wins that finds the same place as another.
const FILES: [&str; 2] = [include_str!("../../rules/betterleaks.toml"), include_str!("../../rules/own.toml")];

/// Most memory that an expression may take when it is compiled, in bytes. The largest counts to a few thousand.
const EXPRESSION_BYTES_MAX: usize = 16 * 1024 * 1024;

/// What a secret must look like beside its shape.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
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
#[derive(Default)]
pub(super) struct Rule {
    /// The kind that is shown.
    pub(super) id: Arc<str>,
    /// True if the secret is a value that is given to something whose name has a keyword (`NAME = SECRET`,
    /// `"name": "secret"`, `<name>…`), and not a token that a keyword is a part of, or stands before.
    pub(super) is_near: bool,
    /// In small letters, and found in any.
    pub(super) keywords: Vec<String>,
    /// Fits a value from its beginning, and a token from its keyword on; its first group, if it has one, is what is
    /// struck out. ASCII.
    expression: &'static str,
    /// How many bytes before the keyword a token begins.
    pub(super) back: usize,
    /// False if a word must begin there.
    pub(super) begins_inside: bool,
    pub(super) looks: Looks,
    /// Least bits for a character; 0 for any.
    pub(super) entropy: f32,
    /// True if nothing is found where the name around the keyword is none of a secret, as in `next_page_token`.
    pub(super) heeds_name: bool,
    /// Compiled when first needed.
    compiled: OnceLock<Compiled>,
}

/// An expression that can be searched for.
pub(super) struct Compiled {
    pub(super) regex: Regex,
    /// Most bytes that it fits; nothing if it may go on for ever.
    pub(super) bytes_max: Option<usize>,
    /// True if the secret is not all that it fits.
    pub(super) has_groups: bool,
    /// True if it takes the signs of base64, so that what goes on with one of them is longer than what it looks for.
    pub(super) is_base64: bool,
}

/// All rules.
pub(super) fn all() -> Vec<Rule> {
    FILES.into_iter().flat_map(read).collect()
}

/// Reads a file of rules: TOML with each value on the line of its key. The first line of the log waits for it, and a
/// reader of all of TOML takes half a millisecond more; a test holds that both read the same.
fn read(text: &'static str) -> Vec<Rule> {
    let mut rules: Vec<Rule> = Vec::new();
    for line in text.lines() {
        if line == "[[rules]]" {
            rules.push(Rule::default());
        }
        let (Some((key, value)), Some(rule)) = (line.split_once(" = "), rules.last_mut()) else { continue };
        match key {
            "id" => rule.id = value.trim_matches('"').into(),
            "near" => (rule.is_near, rule.keywords) = (true, list(value)),
            "keywords" => rule.keywords = list(value),
            "secret" | "regex" => rule.expression = value.trim_matches('\''),
            "back" => rule.back = value.parse().expect("a test reads the files"),
            "bound" => rule.begins_inside = value == "false",
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

impl Rule {
    pub(super) fn compiled(&self) -> &Compiled {
        self.compiled.get_or_init(|| {
            let syntax = syntax::Config::new().unicode(false).utf8(false);
            let parsed = syntax::parse_with(self.expression, &syntax).expect("a test compiles all of them");
            // Groups are asked for only where an expression fits, which is rare; the automaton that finds them faster
            // takes hundreds of kilobytes.
            let limits =
                Regex::config().nfa_size_limit(Some(EXPRESSION_BYTES_MAX)).utf8_empty(false).onepass(false);
            let built = Regex::builder().configure(limits).build_from_hir(&parsed);
            let regex = built.expect("a test compiles all of them");
            let has_groups = regex.captures_len() > 1;
            let is_base64 = ["+/", "/+"].iter().any(|signs| self.expression.contains(signs));
            Compiled { regex, bytes_max: parsed.properties().maximum_len(), has_groups, is_base64 }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_are_read_as_toml_is() {
        for text in FILES {
            let file: toml::Table = toml::from_str(text).expect("TOML");
            let tables = file["rules"].as_array().expect("a list");
            assert_eq!(read(text).len(), tables.len());
            for (rule, table) in read(text).iter().zip(tables) {
                for (key, value) in table.as_table().expect("a rule") {
                    let keywords = || rule.keywords.iter().map(|word| word.as_str().into()).collect();
                    let read = match key.as_str() {
                        "id" => rule.id.as_ref().into(),
                        "near" if rule.is_near => toml::Value::Array(keywords()),
                        "keywords" if !rule.is_near => toml::Value::Array(keywords()),
                        "secret" if rule.is_near => rule.expression.into(),
                        "regex" if !rule.is_near => rule.expression.into(),
                        "back" => i64::try_from(rule.back).expect("few").into(),
                        "bound" => (!rule.begins_inside).into(),
                        "looks" => format!("{:?}", rule.looks).into(),
                        "heeds_name" => rule.heeds_name.into(),
                        "entropy" => f64::from(rule.entropy).into(),
                        other => panic!("{other} of {}", rule.id),
                    };
                    let is_same = match (key.as_str(), value) {
                        ("looks", word) => {
                            let word = word.as_str().expect("a word").replace('-', "");
                            read.as_str().is_some_and(|read| read.eq_ignore_ascii_case(&word))
                        }
                        ("entropy", toml::Value::Float(bits)) => {
                            read.as_float().is_some_and(|read| (read - bits).abs() < 1e-6)
                        }
                        (_, value) => read == *value,
                    };
                    assert!(is_same, "{}: {key}: {read} is not {value}", rule.id);
                }
            }
        }
    }

    #[test]
    fn every_rule_can_be_used() {
        let rules = all();
        assert!(rules.len() > 400, "{}", rules.len());
        for rule in &rules {
            let regex = &rule.compiled().regex;
            assert!(!rule.keywords.is_empty(), "{} has no keyword", rule.id);
            for keyword in &rule.keywords {
                assert_eq!(*keyword, keyword.to_ascii_lowercase(), "{}", rule.id);
            }
            assert!(!regex.is_match(""), "{} fits nothing at all", rule.id);
            assert!(rule.id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-'), "{}", rule.id);
        }
    }
}
