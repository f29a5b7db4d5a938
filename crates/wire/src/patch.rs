//! Changing one member of an object and leaving every other byte as it was.

use crate::edit::{self, Edit};
use crate::object::Object;
use crate::string;

/// The text of `object` with `key` set to `value` (JSON text): replaced where it stands, else put first.
pub fn set(object: Object<'_>, key: &str, value: &str) -> String {
    let text = object.text();
    match object.get(key) {
        Some(present) => {
            let start = present.as_ptr() as usize - text.as_ptr() as usize;
            [&text[..start], value, &text[start + present.len()..]].concat()
        }
        None => {
            let rest = text[1..].trim_start();
            let comma = if rest.starts_with('}') { "" } else { "," };
            ["{", &string::literal(key), ":", value, comma, &text[1..]].concat()
        }
    }
}

/// The text of `object` without `key`; the rest keeps its bytes.
pub fn remove(object: Object<'_>, key: &str) -> String {
    edit::members(object, |member| Edit::drop_if(member.is(key))).unwrap_or_else(|| object.text().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_named_member_changes() {
        let cases = [
            (r#"{"a":1.0, "name":"x","b":[ ] }"#, r#"{"a":1.0, "name":"y","b":[ ] }"#),
            (r#"{"n\u0061me":"x"}"#, r#"{"n\u0061me":"y"}"#),
            ("{}", r#"{"name":"y"}"#),
            ("{ }", r#"{"name":"y" }"#),
            (r#"{ "a":1e3}"#, r#"{"name":"y", "a":1e3}"#),
        ];
        for (before, after) in cases {
            assert_eq!(set(Object::parse(before).expect("object"), "name", "\"y\""), after);
        }
    }

    #[test]
    fn a_removed_member_is_gone_and_the_rest_stays() {
        let cases = [
            (r#"{"a":1.0,"x":{"y":1},"b":"\u0041"}"#, r#"{"a":1.0,"b":"\u0041"}"#),
            (r#"{"x":1}"#, "{}"),
            (r#"{"a":[1, 2]}"#, r#"{"a":[1, 2]}"#),
        ];
        for (before, after) in cases {
            assert_eq!(remove(Object::parse(before).expect("object"), "x"), after);
        }
    }
}
