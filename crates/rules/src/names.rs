//! The names of members: which of them are what a rule looks for, which a tool declares, and how they stay apart once
//! something is struck out of them.

use std::collections::{HashMap, HashSet};
use std::sync::OnceLock;

use bytes::Bytes;
use regex::Regex;
use serde_json::Value;

use crate::assigned;

/// What a name or number is put behind where several members of one object would have one name.
const NUMBER: char = '#';

/// What stands between words, as an expression. Whatever else does is `_` in one of the forms that are searched.
const BETWEEN: &str = "[-_./: ]";

/// What a rule looks for in texts, and in names as whole words.
#[derive(Debug, Clone)]
pub(crate) struct Content {
    text: Regex,
    /// The same with nothing but whole words around it.
    word: Regex,
    /// True if it may be about words with `-` between them.
    has_hyphens: bool,
}

/// How a name is what a rule looks for. What it says last says what stands below it: a `token_count` is no token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Fit {
    /// It speaks of several (`max_tokens`): texts below it may be some, numbers are counts.
    Plural,
    /// Other words come after it (`token_count`). The same, and the name itself is struck.
    Part,
    /// It is one (`api_token`, `TOKEN2`): all that stands below it goes, numbers too.
    Whole,
}

impl Fit {
    /// Whether the name itself is struck.
    pub(crate) fn is_struck(self) -> bool {
        self > Fit::Plural
    }
}

impl Content {
    /// What a pattern looks for; `build` makes each expression.
    ///
    /// # Errors
    /// Those of `build`.
    pub(crate) fn new(
        pattern: &str,
        build: impl Fn(&str) -> Result<Regex, regex::Error>,
    ) -> Result<Content, regex::Error> {
        let text = build(pattern)?;
        let word = |end: &str| build(&format!("(?:^|{BETWEEN})(?:{pattern}{end})(?:{BETWEEN}|$)"));
        // A comment at the end of the pattern ends with its line.
        let word = word("").or_else(|_| word("\n"))?;
        Ok(Content { text, word, has_hyphens: pattern.contains('-') })
    }

    /// The expression for texts.
    pub(crate) fn text(&self) -> &Regex {
        &self.text
    }

    /// Whether a text holds it.
    pub(crate) fn is_in(&self, text: &str) -> bool {
        self.text.is_match(text)
    }

    /// How a name is what is looked for, if it is: by its whole words, in whatever way they are put together.
    pub(crate) fn of_name(&self, name: &str) -> Option<Fit> {
        // Most names are not it, and have one spelling.
        if !self.has_hyphens
            && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_')
            && !self.is_in(name)
        {
            return None;
        }
        let words = words(name);
        let lower = words.to_lowercase();
        let kebab = lower.replace('_', "-");
        let forms = [name, &words, &lower, &kebab];
        let fit = forms.iter().enumerate().filter(|(nth, form)| !forms[..*nth].contains(form));
        let fit = fit.filter_map(|(_, form)| self.of_words(form)).max();
        fit.or_else(|| {
            let one = |end: &str| singular(&lower, end);
            let is_one = |one: String| one != lower && self.of_words(&one).is_some();
            (is_one(one("s")) || is_one(one("es"))).then_some(Fit::Plural)
        })
        // What is no part of a word is content, wherever it begins.
        .or_else(|| {
            let is_content = |found: regex::Match<'_>| !found.as_str().chars().all(char::is_alphabetic);
            self.text.find_iter(name).any(is_content).then_some(Fit::Whole)
        })
    }

    fn of_words(&self, form: &str) -> Option<Fit> {
        let (mut at, mut fit) = (0, None);
        while let Some(found) = self.word.find_at(form, at) {
            if !form[found.end()..].contains(char::is_alphabetic) {
                return Some(Fit::Whole);
            }
            fit = Some(Fit::Part);
            // What ends one word may begin the next one.
            let last = found.as_str().chars().next_back().map_or(1, char::len_utf8);
            at = (found.end() - last).max(at + 1);
            while !form.is_char_boundary(at) {
                at += 1;
            }
        }
        fit
    }

    /// What is left of a name that is what is looked for.
    pub(crate) fn strike(&self, placeholder: &str, name: &str) -> (String, u32) {
        // In another spelling it is not found again.
        assigned::strike(&self.text, placeholder, name).unwrap_or_else(|| (placeholder.to_owned(), 1))
    }
}

/// The words of a name with `_` between them, which may be written `so_or`, `so-or`, `soOr` and `SO_OR`.
fn words(name: &str) -> String {
    let mut words = String::with_capacity(name.len() + 4);
    let mut letters = name.chars().peekable();
    let mut before: Option<char> = None;
    while let Some(letter) = letters.next() {
        let is_first = before.is_some_and(|before| {
            let is_new = before.is_lowercase() && letter.is_uppercase();
            // The last capital of several begins a word: `APIToken`.
            let is_next = before.is_uppercase()
                && letter.is_uppercase()
                && letters.peek().is_some_and(|next| next.is_lowercase());
            is_new || is_next || (before.is_alphabetic() != letter.is_alphabetic())
        });
        if is_first && !words.ends_with('_') && letter.is_alphanumeric() {
            words.push('_');
        }
        words.push(if letter.is_alphanumeric() { letter } else { '_' });
        before = Some(letter);
    }
    words
}

/// The same words without the end that says that there are several.
fn singular(words: &str, end: &str) -> String {
    words.split('_').map(|word| word.strip_suffix(end).unwrap_or(word)).collect::<Vec<_>>().join("_")
}

/// The names that a tool's schema declares. They are the tool's own words, which its every caller knows.
#[derive(Debug, Clone, Default)]
pub(crate) struct Declared {
    schema: Option<Bytes>,
    /// Once somebody asks.
    names: OnceLock<HashSet<String>>,
}

impl Declared {
    pub(crate) fn by(schema: Option<Bytes>) -> Declared {
        Declared { schema, names: OnceLock::new() }
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        let Some(schema) = &self.schema else { return false };
        let names = self.names.get_or_init(|| {
            let mut names = HashSet::new();
            // What cannot be read declares nothing; nor does the call pass the check against it.
            declared(&serde_json::from_slice(schema).unwrap_or_default(), &mut names);
            names
        });
        names.contains(name)
    }
}

fn declared(schema: &Value, names: &mut HashSet<String>) {
    match schema {
        Value::Object(members) => {
            if let Some(Value::Object(properties)) = members.get("properties") {
                names.extend(properties.keys().cloned());
            }
            members.values().for_each(|member| declared(member, names));
        }
        Value::Array(items) => items.iter().for_each(|item| declared(item, names)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// The names of one object. Two that become one get numbers: who reads two members of one name loses one.
#[derive(Debug, Default)]
pub(crate) struct Taken {
    names: HashSet<String>,
    /// How often each name was wanted.
    wanted: HashMap<String, u32>,
}

impl Taken {
    pub(crate) fn of<'n>(names: impl Iterator<Item = &'n str>) -> Taken {
        Taken { names: names.map(str::to_owned).collect(), wanted: HashMap::new() }
    }

    /// The name that a member gets for the one that it should have.
    pub(crate) fn give(&mut self, wanted: String) -> String {
        let nth = self.wanted.entry(wanted.clone()).or_insert(0);
        loop {
            *nth += 1;
            let name = if *nth == 1 { wanted.clone() } else { format!("{wanted}{NUMBER}{nth}") };
            if self.names.insert(name.clone()) {
                return name;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(pattern: &str, names: &[(&str, Option<Fit>)]) {
        let content = Content::new(pattern, Regex::new).expect("a pattern");
        for (name, expected) in names {
            assert_eq!(content.of_name(name), *expected, "{pattern} in {name}");
        }
    }

    #[test]
    fn names_are_taken_by_their_words() {
        use Fit::{Part, Plural, Whole};
        let token = [
            ("token", Some(Whole)),
            ("TOKEN", Some(Whole)),
            ("api_token", Some(Whole)),
            ("api-token", Some(Whole)),
            ("accessToken", Some(Whole)),
            ("APIToken", Some(Whole)),
            ("x.token", Some(Whole)),
            ("token2", Some(Whole)),
            ("token_token", Some(Whole)),
            ("token_count", Some(Part)),
            ("tokenType", Some(Part)),
            ("tokens", Some(Plural)),
            ("max_tokens", Some(Plural)),
            ("maxTokens", Some(Plural)),
            ("tokenizer", None),
            ("detokenize", None),
            ("", None),
        ];
        check("token", &token);
        check("(?i)TOKEN", &token);
        check("(?x) tok | token # what is looked for", &token);
        check("auth", &[("author", None), ("x-auth", Some(Whole)), ("auths", Some(Plural))]);
        check(
            "api_key|api-secret",
            &[
                ("apiKey", Some(Whole)),
                ("api-key", Some(Whole)),
                ("API_SECRET", Some(Whole)),
                ("apikey", None),
            ],
        );
        check("^token$", &[("token", Some(Whole)), ("api_token", None)]);
        check("pass", &[("pass", Some(Whole)), ("passes", Some(Plural)), ("bypass", None)]);
        // What is no word is found wherever it stands.
        check("sk-[a-z]{3}", &[("my_sk-abcdef", Some(Whole)), ("xsk-abcd", Some(Whole)), ("sk", None)]);
        check("4[0-9]{15}", &[("x4111111111111111y", Some(Part)), ("41111111111111111", Some(Whole))]);
    }

    #[test]
    fn two_members_stay_two() {
        let mut taken = Taken::of(["a", "#", "##3"].into_iter());
        let given: Vec<_> = ["#", "x", "#", "x"].map(|name| taken.give(name.to_owned())).into();
        assert_eq!(given, ["##2", "x", "##4", "x#2"]);
    }

    #[test]
    fn a_schema_declares_names_at_every_depth() {
        let schema = r#"{"properties":{"a":{"items":{"properties":{"b":{}}}}},"$defs":{"x":{"anyOf":[{"properties":{"c":{}}}]}}}"#;
        let declared = Declared::by(Some(Bytes::from_static(schema.as_bytes())));
        assert_eq!(
            ["a", "b", "c", "x", "items"].map(|name| declared.has(name)),
            [true, true, true, false, false]
        );
        assert!(!Declared::by(Some(Bytes::from_static(b"{"))).has("a"));
        assert!(!Declared::default().has("a"));
    }
}
