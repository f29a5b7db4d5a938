//! What is said of a schema that is not as its draft wants it: where, as a JSON pointer, and why, with nothing of the library that
//! found out.

use jsonschema::ValidationError;
use jsonschema::error::ValidationErrorKind;
use serde_json::Value;

use super::references::{Led, References};
use crate::pointer::below;

/// The members that refer to another place.
const REFERENCES: [&str; 3] = ["$ref", "$dynamicRef", "$recursiveRef"];

/// What there is of them (JSON Schema validation, 6.1.1).
const TYPES: &str = "there are array, boolean, integer, null, number, object and string";

/// What stands in the address of every draft that is known.
const DRAFTS: &str = "json-schema.org/";

/// Where the error of compiling a schema is, and what.
pub(super) fn fault(schema: &Value, error: &ValidationError<'_>) -> String {
    match error.kind() {
        ValidationErrorKind::Referencing(_) => lost(schema),
        _ => {
            let place = error.instance_path().as_str();
            let is_type = place.ends_with("/type")
                && !place.ends_with("/properties/type")
                && error.instance().is_string();
            let why =
                if is_type { format!("{} is no type; {TYPES}", error.instance()) } else { error.to_string() };
            placed(place, &why)
        }
    }
}

/// Where a pattern stands, and what is wrong with it.
pub(super) fn pattern(schema: &Value, pattern: &str) -> String {
    let is_it = |key: &str, value: &Value| {
        (key == "pattern" && value == pattern)
            || (key == "patternProperties" && value.as_object().is_some_and(|all| all.contains_key(pattern)))
    };
    let place = place(schema, &is_it).unwrap_or_default();
    placed(&place, &format!("the pattern {pattern:?} is none, or is not run in linear time"))
}

/// The library says which address it was given no means to fetch; we never fetch.
fn lost(schema: &Value) -> String {
    let is_unknown = |key: &str, value: &Value| {
        key == "$schema" && value.as_str().is_some_and(|draft| !draft.contains(DRAFTS))
    };
    if let Some(place) = place(schema, &is_unknown) {
        return placed(&place, "it names no draft of JSON Schema that is known; leave it out for 2020-12");
    }
    let references = References::of(schema);
    let leads_nowhere = |key: &str, value: &Value| {
        let reference = value.as_str().filter(|_| REFERENCES.contains(&key));
        reference.is_some_and(|it| matches!(references.follow(it), Led::To(places) if places.is_empty()))
    };
    let place = place(schema, &leads_nowhere).unwrap_or_default();
    placed(
        &place,
        "the reference leads to nothing within the schema, and nothing is fetched; write it into `$defs`",
    )
}

fn placed(place: &str, why: &str) -> String {
    if place.is_empty() { why.to_owned() } else { format!("{place}: {why}") }
}

/// The pointer of the first member for which this holds.
fn place(value: &Value, is_it: &dyn Fn(&str, &Value) -> bool) -> Option<String> {
    let within = |key: &str, member: &Value| place(member, is_it).map(|place| below("", key) + &place);
    match value {
        Value::Object(members) => members.iter().find_map(|(key, member)| match is_it(key, member) {
            true => Some(format!("/{key}")),
            false => within(key, member),
        }),
        Value::Array(items) => {
            items.iter().enumerate().find_map(|(nth, item)| within(&nth.to_string(), item))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}
