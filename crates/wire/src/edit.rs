//! Changing some members or elements of a checked text and leaving the bytes of all others as they were.
//!
//! Where nothing changes, nothing is copied: both functions then return nothing.

use crate::object::{self, Member, Object};
use crate::string;

/// What becomes of a member.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Edit {
    /// It stays.
    Keep,
    /// It goes.
    Drop,
    /// Its value becomes this JSON text.
    Value(String),
}

impl Edit {
    /// Goes if `gone`.
    pub(crate) fn drop_if(gone: bool) -> Edit {
        if gone { Edit::Drop } else { Edit::Keep }
    }

    /// Becomes `value`, if there is one.
    pub(crate) fn value_or_keep(value: Option<String>) -> Edit {
        value.map_or(Edit::Keep, Edit::Value)
    }
}

/// The text of `object` after `edit` has said what becomes of each member; nothing if all stay.
pub(crate) fn members<'t>(object: Object<'t>, mut edit: impl FnMut(&Member<'t>) -> Edit) -> Option<String> {
    let mut changes = Changes::new(object.text());
    let mut before: Option<usize> = None;
    for member in object.members() {
        let start = changes.offset(member.key_literal());
        let end = changes.offset(member.value) + member.value.len();
        match edit(&member) {
            Edit::Keep => before = Some(end),
            Edit::Value(value) => {
                changes.replace(changes.offset(member.value), end, &value);
                before = Some(end);
            }
            // The comma that goes with it is the one before, or, if it opens the object, the one behind.
            Edit::Drop => match before {
                Some(kept_end) => changes.replace(kept_end.max(changes.copied), end, ""),
                None => changes.replace(start, behind_comma(object.text(), end), ""),
            },
        }
    }
    changes.finish()
}

/// The text of an object after `edit` has said what takes the place of the value of `key`; nothing if it stays or `object`
/// is none.
pub(crate) fn member<'t>(
    object: &'t str,
    key: &str,
    edit: impl Fn(&'t str) -> Option<String>,
) -> Option<String> {
    members(Object::parse(object)?, |member| {
        if member.is(key) { Edit::value_or_keep(edit(member.value)) } else { Edit::Keep }
    })
}

/// The text of an array after `edit` has named what takes an element's place; nothing if all stay or the value
/// is no array.
pub(crate) fn elements<'t>(
    array: &'t str,
    mut edit: impl FnMut(&'t str) -> Option<String>,
) -> Option<String> {
    let mut changes = Changes::new(array);
    for element in object::elements(array)? {
        if let Some(value) = edit(element) {
            let start = changes.offset(element);
            changes.replace(start, start + element.len(), &value);
        }
    }
    changes.finish()
}

/// The string `value` after `map`; nothing if that changes nothing or it is no string.
pub(crate) fn mapped(value: &str, map: &dyn Fn(&str) -> String) -> Option<String> {
    let text = string::decode_if_string(value)?;
    let becomes = map(&text);
    (becomes != text).then(|| string::literal(&becomes))
}

/// The offset behind the comma that follows, or of whatever else follows.
fn behind_comma(text: &str, at: usize) -> usize {
    let is_blank = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\n' | b'\r');
    let blanks = text.as_bytes()[at..].iter().take_while(|byte| is_blank(byte)).count();
    if text.as_bytes().get(at + blanks) == Some(&b',') { at + blanks + 1 } else { at }
}

/// A text being copied with replacements, from front to back.
struct Changes<'t> {
    text: &'t str,
    out: String,
    /// How much of `text` is dealt with.
    copied: usize,
    any: bool,
}

impl<'t> Changes<'t> {
    fn new(text: &'t str) -> Changes<'t> {
        Changes { text, out: String::new(), copied: 0, any: false }
    }

    /// Where `part`, a slice of the text, begins.
    fn offset(&self, part: &str) -> usize {
        part.as_ptr() as usize - self.text.as_ptr() as usize
    }

    fn replace(&mut self, start: usize, end: usize, with: &str) {
        if !self.any {
            self.out.reserve(self.text.len() + with.len());
        }
        self.any = true;
        self.out.push_str(&self.text[self.copied..start]);
        self.out.push_str(with);
        self.copied = end;
    }

    fn finish(mut self) -> Option<String> {
        if !self.any {
            return None;
        }
        self.out.push_str(&self.text[self.copied..]);
        Some(self.out)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::scan;

    fn edited(text: &str) -> Option<String> {
        members(Object::parse(text).expect("an object"), |member| match member.key().as_ref() {
            "drop" | "gone" => Edit::Drop,
            "set" => Edit::Value("7".into()),
            _ => Edit::Keep,
        })
    }

    #[test]
    fn only_what_is_named_changes() {
        let cases = [
            (r#"{ "a":1.0, "b":[ ] }"#, None),
            ("{}", None),
            (r#"{"drop":1}"#, Some("{}")),
            (r#"{ "drop" : 1 }"#, Some("{  }")),
            (r#"{"drop":1, "a":1.0 }"#, Some(r#"{ "a":1.0 }"#)),
            (r#"{"a":1.0 ,"drop":{}}"#, Some(r#"{"a":1.0}"#)),
            (r#"{"a":1.0 , "drop":{}, "b":"\u0041"}"#, Some(r#"{"a":1.0, "b":"\u0041"}"#)),
            (r#"{"drop":1,"gone":2}"#, Some("{}")),
            (r#"{"drop":1,"gone":2,"a":1}"#, Some(r#"{"a":1}"#)),
            (r#"{"drop":1,"a":1,"gone":2}"#, Some(r#"{"a":1}"#)),
            (r#"{"a":1,"drop":1,"gone":2}"#, Some(r#"{"a":1}"#)),
            (r#"{"a":1,"drop":1,"gone":2,"b":3}"#, Some(r#"{"a":1,"b":3}"#)),
            (r#"{ "s\u0065t" : "x" ,"drop":1}"#, Some(r#"{ "s\u0065t" : 7}"#)),
            (r#"{"drop":1,"set":[1],"gone":{}, "z":0}"#, Some(r#"{"set":7, "z":0}"#)),
        ];
        for (before, after) in cases {
            assert_eq!(edited(before).as_deref(), after, "{before}");
        }
    }

    #[test]
    fn elements_are_replaced_in_place() {
        let upper = |text: &str| (text == "\"a\"").then(|| "\"A\"".to_owned());
        assert_eq!(elements(r#"[ "a" ,1, "a"]"#, upper).as_deref(), Some(r#"[ "A" ,1, "A"]"#));
        assert_eq!(elements("[1]", upper), None);
        assert_eq!(elements(r#"{"a":1}"#, upper), None);
    }

    proptest! {
        /// Every combination of members that stay, go and change gives JSON with just the right ones.
        #[test]
        fn the_result_is_sound(names in prop::sample::subsequence(vec!["a", "drop", "b", "set", "gone", "c"], 0..=6)
            .prop_shuffle(), blank in "[ \n]{0,2}") {
            let written: Vec<String> = names.iter().map(|name| format!("{blank}\"{name}\"{blank}:{blank}1{blank}")).collect();
            let text = format!("{{{blank}{}}}", written.join(","));
            let after = edited(&text).unwrap_or_else(|| text.clone());
            scan::check(after.as_bytes()).expect("sound");
            let object = Object::parse(&after).expect("an object");
            let left: Vec<(String, String)> =
                object.members().map(|member| (member.key().into_owned(), member.value.to_owned())).collect();
            let expected: Vec<(String, String)> = names.iter().filter(|name| !["drop", "gone"].contains(name))
                .map(|name| ((*name).to_owned(), if *name == "set" { "7" } else { "1" }.to_owned())).collect();
            prop_assert_eq!(left, expected);
        }
    }
}
