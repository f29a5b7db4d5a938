//! Arguments held against what one rule looks for: whether they hold it, and what is left without it.

use std::borrow::Cow;

use serde_json::{Map, Value};

use crate::encoded;
use crate::names::{Content, Declared, Taken};
use crate::paths;
use crate::token::{self, Kind, Marks, Token};
use crate::vocabulary::Owner;

/// The member that says how others of its object are to be read, and what it says for bytes.
const ENCODING: (&str, &str) = ("encoding", "base64");

/// Whether any text of a value is what a rule looks for, or any name.
pub(crate) fn holds(content: &Content, value: &Value, owner: Owner<'_>) -> bool {
    finds(content, value, (Marks::default(), false), owner)
}

fn finds(content: &Content, value: &Value, (marks, is_coded): (Marks, bool), owner: Owner<'_>) -> bool {
    let is_found = |text: Cow<'_, str>, kind| Token { text, kind, marks }.is_found(content, 0);
    match value {
        Value::Object(members) => members.iter().any(|(name, value)| {
            let is_coded = holds_bytes(members, name);
            let mut name = Token::of_name(name, owner);
            let is_found = name.is_found(content, 0);
            let marks = below(marks, &name, value);
            is_found || finds(content, value, (marks, is_coded), owner.of(&name.text))
        }),
        Value::Array(items) => items.iter().any(|item| finds(content, item, (marks, is_coded), owner)),
        Value::String(text) => {
            let is_in_bytes = |bytes: Vec<u8>| {
                let mut is_any = false;
                encoded::read(&bytes, &mut |text, kind| {
                    is_any |= is_found(text, kind);
                    None
                });
                is_any
            };
            is_found(Cow::Borrowed(text), Kind::Text)
                || is_coded && encoded::decoded(text).is_some_and(is_in_bytes)
        }
        Value::Number(number) => is_found(Cow::Owned(number.to_string()), Kind::Number),
        Value::Null | Value::Bool(_) => false,
    }
}

/// Whether a member of an object may hold bytes in base64: by its name, as the protocol has it, or because the object says
/// so of what it holds.
fn holds_bytes(members: &Map<String, Value>, name: &str) -> bool {
    let says_so = |value: &Value| value.as_str().is_some_and(|text| text.eq_ignore_ascii_case(ENCODING.1));
    encoded::holds_bytes(name) || members.get(ENCODING.0).is_some_and(says_so)
}

/// What holds for a value below a name.
fn below(marks: Marks, name: &Token<'_>, value: &Value) -> Marks {
    let is_value = matches!(value, Value::String(_) | Value::Number(_));
    if name.kind == Kind::Key || is_value { marks.and(name.marks_below()) } else { marks }
}

/// What becomes of what a member names as a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OfPaths {
    /// It is struck like the rest.
    Struck,
    /// It is left.
    Spared,
    /// It is struck, and known: what is left of a path leads elsewhere.
    Refused,
}

/// Strikes one rule's matches out of arguments.
pub(crate) struct Striking<'r> {
    /// None strikes everything but names.
    content: Option<&'r Content>,
    placeholder: &'r str,
    of_paths: OfPaths,
    /// The arguments that name paths, if the tool says so of itself.
    paths: Option<&'r [&'r str]>,
    /// True once a path was met that has something to strike, where those are refused.
    pub(crate) is_in_path: bool,
    /// Names that are no content.
    declared: &'r Declared,
    /// How many places were struck out.
    pub(crate) count: u32,
}

impl<'r> Striking<'r> {
    pub(crate) fn new(
        content: Option<&'r Content>,
        placeholder: &'r str,
        (of_paths, paths): (OfPaths, Option<&'r [&'r str]>),
        declared: &'r Declared,
    ) -> Striking<'r> {
        Striking { content, placeholder, of_paths, paths, is_in_path: false, declared, count: 0 }
    }

    /// Strikes them out of all arguments.
    pub(crate) fn all(&mut self, arguments: &mut Value, owner: Owner<'_>) {
        self.value(arguments, None, (Marks::default(), false), owner);
    }

    fn value(
        &mut self,
        value: &mut Value,
        name: Option<&str>,
        (marks, is_coded): (Marks, bool),
        owner: Owner<'_>,
    ) {
        match value {
            Value::Object(members) => {
                let mut renamed = Vec::new();
                let coded: Vec<bool> = members.keys().map(|name| holds_bytes(members, name)).collect();
                for ((name, value), is_coded) in members.iter_mut().zip(coded) {
                    let mut token = Token::of_name(name, owner);
                    let new = self.token(&mut token);
                    self.value(value, Some(name), (below(marks, &token, value), is_coded), owner.of(name));
                    renamed.extend(new.map(|new| (name.clone(), new)));
                }
                if renamed.is_empty() {
                    return;
                }
                let mut taken = Taken::of(members.keys().map(String::as_str));
                for (name, new) in renamed {
                    let value = members.remove(&name).unwrap_or_default();
                    members.insert(taken.give(new), value);
                }
            }
            Value::Array(items) => {
                items.iter_mut().for_each(|item| self.value(item, name, (marks, is_coded), owner));
            }
            Value::String(text) => {
                let is_path = name.is_some_and(|name| self.names_path(name)) && paths::looks_like_path(text);
                if self.of_paths == OfPaths::Spared && is_path {
                    return;
                }
                let left = self.token(&mut Token { text: Cow::Borrowed(text), kind: Kind::Text, marks });
                let left = left.or_else(|| if is_coded { self.bytes(text, marks) } else { None });
                // With blanks it is prose as like as not, and prose can be struck.
                if left.is_some()
                    && self.of_paths == OfPaths::Refused
                    && is_path
                    && !text.contains(char::is_whitespace)
                {
                    self.is_in_path = true;
                }
                left.into_iter().for_each(|left| *text = left);
            }
            Value::Number(number) => {
                let text = Cow::Owned(number.to_string());
                let left = self.token(&mut Token { text, kind: Kind::Number, marks });
                left.into_iter().for_each(|left| *value = Value::String(left));
            }
            Value::Null | Value::Bool(_) => {}
        }
    }

    fn names_path(&self, name: &str) -> bool {
        match self.paths {
            Some(paths) => paths.contains(&name),
            None => paths::is_path_name(name),
        }
    }

    /// What is left of bytes that stand as base64, if that is not the same.
    fn bytes(&mut self, text: &str, marks: Marks) -> Option<String> {
        let bytes = encoded::decoded(text)?;
        let left = encoded::read(&bytes, &mut |text, kind| self.token(&mut Token { text, kind, marks }));
        left.map(|left| encoded::encoded(&left))
    }

    /// What is left of a token, if that is not the same.
    pub(crate) fn token(&mut self, token: &mut Token<'_>) -> Option<String> {
        let (left, count) = token::strike(self.content, self.placeholder, 0, self.declared, token, None)?;
        self.count = self.count.saturating_add(count);
        Some(left)
    }
}
