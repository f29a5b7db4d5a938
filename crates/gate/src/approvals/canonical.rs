//! One spelling for all spellings of the same arguments, so that one call has one hash.
//!
//! As in RFC 8785 there are no blanks, members are sorted by their keys, and strings have one way of escaping. Numbers
//! differ: they stay as they were written, since a program behind an upstream may tell `1` from `1.0` and reads more
//! digits than a double holds. So the two are different calls, and a person is asked about each.

use std::borrow::Cow;

use audit::Hash;
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use crate::meta::{Members, Name};

/// Most members of a call's arguments that a standing permission can be bound to one by one.
const MEMBERS_MAX: usize = 64;

/// How deep such a member may lie.
const MEMBER_DEPTH_MAX: usize = 4;

/// A JSON value that remembers how its numbers are written.
#[derive(Debug, Clone, Serialize)]
#[serde(untagged)]
pub(super) enum Canonical<'t> {
    /// Sorted by key; one that comes twice stays twice.
    #[serde(serialize_with = "written_as_object")]
    Object(Vec<(Cow<'t, str>, Canonical<'t>)>),
    /// In order.
    Array(Vec<Canonical<'t>>),
    /// A string.
    Text(Cow<'t, str>),
    /// A number or a word, as it is written.
    Word(&'t RawValue),
}

fn written_as_object<S: Serializer>(
    members: &[(Cow<'_, str>, Canonical<'_>)],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_map(members.iter().map(|(key, value)| (key, value)))
}

impl<'t> Canonical<'t> {
    /// Reads a JSON text; nothing if it is none. Each level is gone through once more for those below it: what people are
    /// asked about may take a while longer.
    pub(super) fn read(json: &'t str) -> Option<Canonical<'t>> {
        Canonical::of(serde_json::from_str(json).ok()?)
    }

    /// The same; what cannot be read counts as one text.
    pub(super) fn read_or_quote(json: &'t str) -> Canonical<'t> {
        Canonical::read(json).unwrap_or(Canonical::Text(Cow::Borrowed(json)))
    }

    fn of(value: &'t RawValue) -> Option<Canonical<'t>> {
        let json = value.get();
        Some(match json.as_bytes().first()? {
            b'{' => {
                let Members(members) = serde_json::from_str(json).ok()?;
                let read = |(key, value)| Some((key, Canonical::of(value)?));
                let mut members: Vec<_> = members.into_iter().map(read).collect::<Option<_>>()?;
                members.sort_by(|(one, _), (other, _)| one.cmp(other));
                Canonical::Object(members)
            }
            b'[' => {
                let items: Vec<&RawValue> = serde_json::from_str(json).ok()?;
                Canonical::Array(items.into_iter().map(Canonical::of).collect::<Option<_>>()?)
            }
            b'"' => Canonical::Text(serde_json::from_str::<Name<'_>>(json).ok()?.0),
            _ => Canonical::Word(value),
        })
    }

    /// The one spelling.
    pub(super) fn text(&self) -> String {
        serde_json::to_string(self).expect("texts of JSON become JSON")
    }

    /// The hash of that.
    pub(super) fn hash(&self) -> Hash {
        Hash::of(self.text().as_bytes())
    }

    /// The same without these members of the outermost object.
    pub(super) fn without(mut self, names: &[&str]) -> Canonical<'t> {
        if let Canonical::Object(members) = &mut self {
            members.retain(|(key, _)| !names.contains(&&**key));
        }
        self
    }

    /// The same with every text and number that is longer than this cut to its beginning and its end, for people.
    pub(super) fn shortened(&self, bytes_max: usize) -> Canonical<'t> {
        match self {
            Canonical::Word(word) if word.get().len() > bytes_max => {
                Canonical::Text(Cow::Owned(ends(word.get(), bytes_max)))
            }
            Canonical::Word(word) => Canonical::Word(word),
            Canonical::Text(text) => Canonical::Text(short(text, bytes_max)),
            Canonical::Array(items) => {
                Canonical::Array(items.iter().map(|item| item.shortened(bytes_max)).collect())
            }
            Canonical::Object(members) => {
                let short = |(key, value): &(Cow<'t, str>, Canonical<'t>)| {
                    (short(key, bytes_max), value.shortened(bytes_max))
                };
                Canonical::Object(members.iter().map(short).collect())
            }
        }
    }

    /// The members that a standing permission can be bound to: JSON Pointer (RFC 6901) and value, the outer ones first.
    pub(super) fn members(&self) -> Vec<(String, &Canonical<'t>)> {
        let mut found: Vec<(String, &Canonical<'t>)> = Vec::new();
        let mut level = vec![(String::new(), self)];
        for _ in 0..MEMBER_DEPTH_MAX {
            let mut below = Vec::new();
            for (pointer, value) in level {
                let Canonical::Object(members) = value else { continue };
                let named = members.iter().map(|(key, value)| (crate::pointer::below(&pointer, key), value));
                below.extend(named.take(MEMBERS_MAX - found.len() - below.len()));
            }
            found.extend(below.iter().cloned());
            level = below;
        }
        found
    }
}

fn short<'t>(text: &Cow<'t, str>, bytes_max: usize) -> Cow<'t, str> {
    if text.len() > bytes_max { Cow::Owned(ends(text, bytes_max)) } else { text.clone() }
}

/// The beginning of a text and its end, and how long it is.
fn ends(text: &str, bytes_max: usize) -> String {
    let half = bytes_max / 2;
    let (begin, end) = (text.floor_char_boundary(half), text.ceil_char_boundary(text.len() - half));
    format!("{} \u{2026} {} ({} bytes)", &text[..begin], &text[end..], text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(json: &str, expected: Option<&str>) {
        assert_eq!(Canonical::read(json).map(|value| value.text()).as_deref(), expected, "{json}");
    }

    #[test]
    fn the_same_arguments_have_one_spelling() {
        check(" { } ", Some("{}"));
        check(r#"{"b" : [ 1 ,2], "a":{"z":null,"y":true}}"#, Some(r#"{"a":{"y":true,"z":null},"b":[1,2]}"#));
        check(r#"{"\u0061":"\u00e9\/\"\n"}"#, Some("{\"a\":\"\u{e9}/\\\"\\n\"}"));
        check(r#"{"a":"x","a":"y"}"#, Some(r#"{"a":"x","a":"y"}"#));
        // Numbers are what they are written as.
        for number in ["1", "1.0", "1e0", "-0", "18446744073709551617", "18446744073709551616"] {
            check(&format!("[ {number} ]"), Some(&format!("[{number}]")));
        }
    }

    #[test]
    fn what_is_no_json_is_not_read() {
        for json in ["", "{", "[", "\"", "{\"a\"}", "{\"a\":}", "[1 2]", "{} {}", "\"\\", "{1:2}", "[,1]"] {
            check(json, None);
        }
    }

    #[test]
    fn members_are_found_by_their_pointers() {
        let value = Canonical::read(r#"{"a/b":{"c~":[{"d":1}]},"e":"f"}"#).expect("a sample");
        let members: Vec<_> = value.members().into_iter().map(|(at, value)| (at, value.text())).collect();
        let expected = [("/a~1b", r#"{"c~":[{"d":1}]}"#), ("/e", r#""f""#), ("/a~1b/c~0", r#"[{"d":1}]"#)];
        assert_eq!(members, expected.map(|(at, text)| (at.to_owned(), text.to_owned())));
        let many: Vec<String> = (0..100).map(|nth| format!("\"k{nth:02}\":{{\"x\":{nth}}}")).collect();
        let many = format!("{{{}}}", many.join(","));
        assert_eq!(Canonical::read(&many).expect("a sample").members().len(), MEMBERS_MAX);
    }
}
