//! What an input schema says of an argument outside of its `properties` and its `required`. Where that is about an
//! argument that we add, callers could not keep to it: they would be asked for what they cannot see, or need not
//! send. It goes, and the server still holds what it gets against its own schema.

use serde_json::Value;
use wire::{Object, patch};

/// Keywords that say something of the whole object, and may name its members.
const OF_MEMBERS: [&str; 17] = [
    "allOf",
    "anyOf",
    "oneOf",
    "not",
    "if",
    "then",
    "else",
    "dependentRequired",
    "dependentSchemas",
    "dependencies",
    "propertyNames",
    "const",
    "enum",
    "default",
    "examples",
    REFERENCE,
    "$dynamicRef",
];

/// Keywords that count its members, ours among them.
const OF_THEIR_NUMBER: [&str; 2] = ["minProperties", "maxProperties"];

/// Forbids members that no other keyword has described, such as one that has gone.
const UNEVALUATED: &str = "unevaluatedProperties";

const REFERENCE: &str = "$ref";

/// Where the schemas stand that others refer to.
const DEFINITIONS: [&str; 2] = ["$defs", "definitions"];

/// The schema's text without what callers cannot keep to, if we add arguments of the names for which `is_ours` holds.
pub(super) fn loosened(schema: Object<'_>, is_ours: &dyn Fn(&str) -> bool) -> String {
    let mut text = schema.text().to_owned();
    let named = OF_MEMBERS.iter().filter(|key| schema.get(key).is_some_and(|value| names(value, is_ours)));
    let named: Vec<&str> = named.copied().collect();
    let unevaluated = (!named.is_empty()).then_some(UNEVALUATED);
    for key in named.into_iter().chain(OF_THEIR_NUMBER).chain(unevaluated) {
        if schema.get(key).is_some() {
            text = Object::parse(&text).map(|schema| patch::remove(schema, key)).unwrap_or(text);
        }
    }
    text
}

/// True if the schema may describe an argument for which `is_hidden` holds by a reference to another schema, which
/// cannot be left out: it may be needed elsewhere.
pub(super) fn refers(schema: Object<'_>, is_hidden: &dyn Fn(&str) -> bool) -> bool {
    let is_described = || DEFINITIONS.iter().filter_map(|key| schema.get(key)).any(|it| names(it, is_hidden));
    let mut of_members = OF_MEMBERS.iter().filter_map(|key| Some((*key, schema.get(key)?)));
    of_members.any(|(key, value)| key == REFERENCE || names(value, &|word| word == REFERENCE))
        && is_described()
}

/// True if a key or a string in the JSON text is such a name. What is nested too deeply to be read may have any.
fn names(text: &str, is_name: &dyn Fn(&str) -> bool) -> bool {
    fn names(value: &Value, is_name: &dyn Fn(&str) -> bool) -> bool {
        match value {
            Value::String(text) => is_name(text),
            Value::Array(elements) => elements.iter().any(|element| names(element, is_name)),
            Value::Object(members) => {
                members.iter().any(|(key, value)| is_name(key) || names(value, is_name))
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => false,
        }
    }
    serde_json::from_str(text).map_or(true, |value: Value| names(&value, is_name))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is left of the schema where we add `ours`, and whether that is hidden from callers at all.
    #[track_caller]
    fn check(schema: &str, left: &str, is_referred_to: bool) {
        let schema = Object::parse(schema).expect("an object");
        let is_ours = |name: &str| name == "ours";
        assert_eq!(loosened(schema, &is_ours), left);
        assert_eq!(refers(schema, &is_ours), is_referred_to);
    }

    #[test]
    fn what_names_an_argument_of_ours_goes() {
        for (keyword, value) in [
            ("allOf", r#"[{"required":["ours"]}]"#),
            ("anyOf", r#"[{"required":["ours"]},{"required":["q"]}]"#),
            ("oneOf", r#"[{"properties":{"ours":{}}}]"#),
            ("not", r#"{"required":["our\u0073"]}"#),
            ("if", r#"{"properties":{"ours":{"const":1}}}"#),
            ("dependentRequired", r#"{"q":["ours"]}"#),
            ("dependentSchemas", r#"{"ours":{}}"#),
            ("propertyNames", r#"{"enum":["ours","q"]}"#),
            ("examples", r#"[{"ours":1}]"#),
            ("minProperties", "2"),
            ("maxProperties", "2"),
        ] {
            let schema = format!(r#"{{"a":1.0,"{keyword}":{value},"b":2}}"#);
            check(&schema, r#"{"a":1.0,"b":2}"#, false);
        }
        let deep = format!(r#"{{"not":{}{}}}"#, "[".repeat(200), "]".repeat(200));
        assert_eq!(loosened(Object::parse(&deep).expect("an object"), &|_| false), "{}");
    }

    #[test]
    fn the_rest_stays_as_it_came() {
        for schema in [
            r#"{"anyOf":[{"required":["q"]},{"required":["r"]}],"unevaluatedProperties":false}"#,
            r#"{"properties":{"nested":{"required":["ours"],"minProperties":2}}}"#,
            r##"{ "allOf":[{"$ref":"#/$defs/it"}],"$defs":{"it":{"required":["q"]}}}"##,
            r##"{"title":"ours","properties":{"q":{"$ref":"#/$defs/it"}},"$defs":{"it":{"required":["ours"]}}}"##,
        ] {
            check(schema, schema, false);
        }
    }

    #[test]
    fn what_was_described_by_what_goes_is_allowed() {
        check(r#"{"allOf":[{"properties":{"ours":{},"q":{}}}],"unevaluatedProperties":false}"#, "{}", false);
    }

    #[test]
    fn what_is_described_elsewhere_cannot_be_hidden() {
        for schema in [
            r##"{"$ref":"#/$defs/it","$defs":{"it":{"properties":{"ours":{}}}}}"##,
            r##"{"allOf":[{"$ref":"#/definitions/it"}],"definitions":{"it":{"required":["ours"]}}}"##,
        ] {
            check(schema, schema, true);
        }
    }
}
