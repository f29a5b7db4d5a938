//! JSON Schema, compiled once per definition, and violations that a model can act on.

use jsonschema::error::ValidationErrorKind;
use jsonschema::{PatternOptions, ValidationError, Validator};
use serde::Serialize;
use serde_json::Value;

/// Most violations told at once; the first few are what gets repaired.
pub const VIOLATIONS_MAX: usize = 10;

/// Longest piece of a caller's value shown in a violation, in characters.
const SHOWN_CHARS_MAX: usize = 80;

/// Longest text of an expectation, in characters: an enumeration may be long.
const EXPECTED_CHARS_MAX: usize = 400;

/// One place where a value does not fit a schema.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Violation {
    /// JSON pointer (RFC 6901) into the value; empty for the whole.
    pub pointer: String,
    /// What the schema wants there.
    pub expected: String,
    /// What is there.
    pub found: String,
}

impl Violation {
    /// One line for each violation, each with a line break before it.
    pub(crate) fn lines(violations: &[Violation]) -> String {
        let line = |violation: &Violation| {
            let place = if violation.pointer.is_empty() { "(the whole)" } else { &violation.pointer };
            format!("\n- {place}: expected {}, got {}", violation.expected, violation.found)
        };
        violations.iter().map(line).collect()
    }

    fn new(error: &ValidationError<'_>) -> Violation {
        Violation {
            pointer: cut(error.instance_path().as_str(), EXPECTED_CHARS_MAX),
            expected: cut(&expected(error), EXPECTED_CHARS_MAX),
            found: found(error),
        }
    }
}

/// A compiled schema.
#[derive(Debug)]
pub(crate) struct Schema(Validator);

impl Schema {
    /// Compiles a schema's text. Patterns run in linear time and nothing is fetched.
    ///
    /// # Errors
    /// The reason why the schema cannot be used.
    pub(crate) fn compile(text: &[u8]) -> Result<Schema, String> {
        let schema: Value = serde_json::from_slice(text).map_err(|error| error.to_string())?;
        jsonschema::options()
            .with_pattern_options(PatternOptions::regex())
            .build(&schema)
            .map(Schema)
            .map_err(|error| cut(&error.to_string(), EXPECTED_CHARS_MAX))
    }

    /// All violations of `value`, up to [`VIOLATIONS_MAX`].
    pub(crate) fn check(&self, value: &Value) -> Result<(), Vec<Violation>> {
        if self.0.is_valid(value) {
            return Ok(());
        }
        Err(self.0.iter_errors(value).take(VIOLATIONS_MAX).map(|error| Violation::new(&error)).collect())
    }
}

fn expected(error: &ValidationError<'_>) -> String {
    match error.kind() {
        ValidationErrorKind::Type { kind } => describe_types(kind),
        ValidationErrorKind::Required { property } => format!("the member {property}"),
        ValidationErrorKind::AdditionalProperties { unexpected } => {
            let names: Vec<String> = unexpected.iter().map(|name| format!("{name:?}")).collect();
            format!("no member {}", names.join(", "))
        }
        ValidationErrorKind::Enum { options } => format!("one of {options}"),
        ValidationErrorKind::Constant { expected_value } => format!("{expected_value}"),
        ValidationErrorKind::Minimum { limit } => format!("at least {limit}"),
        ValidationErrorKind::Maximum { limit } => format!("at most {limit}"),
        ValidationErrorKind::ExclusiveMinimum { limit } => format!("more than {limit}"),
        ValidationErrorKind::ExclusiveMaximum { limit } => format!("less than {limit}"),
        ValidationErrorKind::MinLength { limit } => format!("at least {limit} characters"),
        ValidationErrorKind::MaxLength { limit } => format!("at most {limit} characters"),
        ValidationErrorKind::MinItems { limit } => format!("at least {limit} items"),
        ValidationErrorKind::MaxItems { limit } => format!("at most {limit} items"),
        ValidationErrorKind::Pattern { pattern } => format!("text that matches {pattern}"),
        ValidationErrorKind::Format { format } => format!("text of the format {format}"),
        // The library's sentence for the rarer ones; it names the keyword.
        _ => format!("a value for which this holds: {}", error.masked()),
    }
}

fn describe_types(kind: &jsonschema::error::TypeKind) -> String {
    match kind {
        jsonschema::error::TypeKind::Single(one) => one.to_string(),
        jsonschema::error::TypeKind::Multiple(several) => {
            several.iter().map(|one| one.to_string()).collect::<Vec<_>>().join(" or ")
        }
    }
}

/// Describes the value at fault; its members are not shown, since only one of them is wrong.
fn found(error: &ValidationError<'_>) -> String {
    match error.instance().as_ref() {
        Value::Object(members) => {
            let names: Vec<&str> = members.keys().map(String::as_str).collect();
            cut(&format!("an object with {}", listed(&names)), EXPECTED_CHARS_MAX)
        }
        Value::Array(items) => format!("an array of {}", items.len()),
        Value::String(text) => format!("string {:?}", cut(text, SHOWN_CHARS_MAX)),
        Value::Number(number) => format!("number {}", cut(&number.to_string(), SHOWN_CHARS_MAX)),
        Value::Bool(flag) => format!("boolean {flag}"),
        Value::Null => "null".into(),
    }
}

fn listed(names: &[&str]) -> String {
    if names.is_empty() { "no members".into() } else { format!("the members {}", names.join(", ")) }
}

fn cut(text: &str, chars_max: usize) -> String {
    match text.char_indices().nth(chars_max) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(value: Value, expected: Expect) {
        let schema = json!({
            "type": "object",
            "properties": {
                "path": { "type": "string", "minLength": 1 },
                "limit": { "type": "integer", "minimum": 1 },
                "mode": { "enum": ["text", "base64"] },
                "nested": { "type": "array", "items": { "type": ["string", "null"] } },
                "even": { "multipleOf": 2 },
            },
            "required": ["path"],
            "additionalProperties": false,
        });
        let schema = Schema::compile(schema.to_string().as_bytes()).expect("sound");
        let told = schema.check(&value).err().map(|found| Violation::lines(&found)).unwrap_or_default();
        expected.assert_eq(&told);
    }

    #[test]
    fn violations_name_the_pointer_what_was_expected_and_what_came() {
        check(json!({ "path": "x", "limit": 5, "mode": "text", "nested": ["a", null] }), expect![""]);
        check(
            json!({}),
            expect![[r#"

            - (the whole): expected the member "path", got an object with no members"#]],
        );
        check(
            json!({ "path": 5, "limit": "abc", "nested": ["a", 1] }),
            expect![[r#"

            - /limit: expected integer, got string "abc"
            - /nested/1: expected null or string, got number 1
            - /path: expected string, got number 5"#]],
        );
        check(
            json!({ "path": "", "limit": 0, "mode": "hex", "pth": 1, "even": 3 }),
            expect![[r#"

            - /even: expected a value for which this holds: value is not a multiple of 2, got number 3
            - /limit: expected at least 1, got number 0
            - /mode: expected one of ["text","base64"], got string "hex"
            - /path: expected at least 1 characters, got string ""
            - (the whole): expected no member "pth", got an object with the members even, limit, mode, path, pth"#]],
        );
        check(
            json!({ "path": "x", "mode": "y".repeat(200) }),
            expect![[r#"

            - /mode: expected one of ["text","base64"], got string "yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy…""#]],
        );
    }

    #[test]
    fn a_bad_schema_says_why() {
        for text in [r#"{"type":"strng"}"#, "{", r#"{"pattern":"("}"#, r##"{"$ref":"http://127.0.0.1/x"}"##] {
            assert!(!Schema::compile(text.as_bytes()).expect_err(text).is_empty());
        }
    }
}
