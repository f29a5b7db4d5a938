//! JSON Schema, compiled once per definition, and violations that a model can act on.
//!
//! The draft is the one that a schema names, and 2020-12 if it names none. Nothing is fetched; a format is a remark and
//! no check, as both drafts have it by default.

mod cost;
mod mild;
#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "the suite is read from files")]
mod suite;

use jsonschema::error::ValidationErrorKind;
use jsonschema::{Draft, PatternOptions, ValidationError, ValidationOptions, Validator};
use serde::Serialize;
use serde_json::Value;

use cost::{Cost, Price, SCHEMA_BYTES_MAX};

/// Most violations told at once; the first few are what gets repaired.
pub const VIOLATIONS_MAX: usize = 10;

/// Longest text or number shown in a violation, in characters. A longer one is not shown at all: half a secret would not be
/// found again to be struck out.
const SHOWN_CHARS_MAX: usize = 80;

/// Most names of members shown.
const NAMES_MAX: usize = 20;

/// Longest text of an expectation, in characters: an enumeration may be long.
const EXPECTED_CHARS_MAX: usize = 400;

/// Most steps of a pattern that needs backtracking (look-around, back references) on one text; beyond it the text counts
/// as not matching. All other patterns run in linear time.
const BACKTRACKS_MAX: usize = 100_000;

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
pub(crate) struct Schema {
    validator: Validator,
    cost: Cost,
}

impl Schema {
    /// Compiles a schema's text. Nothing is fetched.
    ///
    /// # Errors
    /// The reason why the schema cannot be used.
    pub(crate) fn compile(text: &[u8]) -> Result<Schema, String> {
        if text.len() > SCHEMA_BYTES_MAX {
            return Err(format!("it has {} bytes, and at most {SCHEMA_BYTES_MAX} are read", text.len()));
        }
        let schema: Value = serde_json::from_slice(text).map_err(|error| error.to_string())?;
        Schema::build(&schema, Cost::of(&schema)?, jsonschema::options())
    }

    fn build(schema: &Value, cost: Cost, options: ValidationOptions<'_>) -> Result<Schema, String> {
        let options = options.should_validate_formats(false);
        let validator = validator(schema, &options).or_else(|why| {
            let (milder, left_out) = mild::milder(schema);
            // Without a name it is 2020-12; much that has none was written for the one before.
            let older = options.clone().with_draft(Draft::Draft7);
            let found = validator(&milder, &options).or_else(|_| validator(&milder, &older));
            let found = found.map_err(|_| cut(&why.to_string(), EXPECTED_CHARS_MAX))?;
            tracing::warn!(%why, ?left_out, "a schema is not as its draft wants it; arguments are checked as far as it goes");
            Ok::<_, String>(found)
        })?;
        Ok(Schema { validator, cost })
    }

    /// All violations of `value`, up to [`VIOLATIONS_MAX`]. `bytes` is the length of its text.
    pub(crate) fn check(&self, value: &Value, bytes: usize) -> Result<(), Vec<Violation>> {
        let price = self.cost.price(value, bytes);
        let one = |expected: &str, found: String| {
            Err(vec![Violation { pointer: String::new(), expected: expected.to_owned(), found }])
        };
        if let Price::TooMuch(found) = price {
            return one("a value that can be checked against the schema in time", found);
        }
        if self.validator.is_valid(value) {
            return Ok(());
        }
        if price != Price::Small {
            return one(
                "a value that fits the schema",
                "one that does not, too large to tell where".to_owned(),
            );
        }
        let errors = self.validator.iter_errors(value).take(VIOLATIONS_MAX);
        Err(errors.map(|error| Violation::new(&error)).collect())
    }
}

/// Compiles a schema: in linear time if all its patterns allow that.
fn validator(schema: &Value, options: &ValidationOptions<'_>) -> Result<Validator, ValidationError<'static>> {
    let linear = options.clone().with_pattern_options(PatternOptions::regex()).build(schema);
    linear.or_else(|error| match error.kind() {
        // A pattern with look-around, most likely; such patterns are common in generated schemas.
        ValidationErrorKind::Format { .. } => {
            let patterns = PatternOptions::fancy_regex().backtrack_limit(BACKTRACKS_MAX);
            options.clone().with_pattern_options(patterns).build(schema)
        }
        _ => Err(error),
    })
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
            let names: Vec<&str> = members.keys().map(String::as_str).filter(|name| is_short(name)).collect();
            let left_out = members.len() - names.len().min(NAMES_MAX);
            let more = if left_out > 0 { format!(" and {left_out} more") } else { String::new() };
            format!("an object with {}{more}", listed(&names[..names.len().min(NAMES_MAX)]))
        }
        Value::Array(items) => format!("an array of {}", items.len()),
        Value::String(text) if is_short(text) => format!("string {text:?}"),
        Value::String(text) => format!("a string of {} characters", text.chars().count()),
        Value::Number(number) if is_short(&number.to_string()) => format!("number {number}"),
        Value::Number(_) => "a long number".to_owned(),
        Value::Bool(flag) => format!("boolean {flag}"),
        Value::Null => "null".into(),
    }
}

fn is_short(text: &str) -> bool {
    text.chars().nth(SHOWN_CHARS_MAX).is_none()
}

fn listed(names: &[&str]) -> String {
    if names.is_empty() { "no members".into() } else { format!("the members {}", names.join(", ")) }
}

/// The beginning of a text, without the word that would be cut.
fn cut(text: &str, chars_max: usize) -> String {
    let Some((end, _)) = text.char_indices().nth(chars_max) else { return text.to_owned() };
    let end = text[..end].rfind([' ', ',', '"', '/', '\n']).unwrap_or(0);
    format!("{}…", &text[..end])
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
        let told = schema
            .check(&value, value.to_string().len())
            .err()
            .map(|found| Violation::lines(&found))
            .unwrap_or_default();
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

                - /mode: expected one of ["text","base64"], got a string of 200 characters"#]],
        );
    }

    /// Compiles it and checks a value with it, and says how that ended.
    fn tried(schema: &Value, value: &Value) -> Result<bool, String> {
        let schema = Schema::compile(schema.to_string().as_bytes())?;
        Ok(schema.check(value, value.to_string().len()).is_ok())
    }

    #[test]
    fn bombs_are_refused_or_harmless() {
        let branch = |nth: usize| json!({ "required": [format!("p{nth}")] });
        let many = json!({ "anyOf": (0..10_000).map(branch).collect::<Vec<_>>() });
        let items = json!({ "items": many });
        let long = json!("a".repeat(100_000) + "!");
        let cycle = json!({ "$defs": { "a": { "$ref": "#/$defs/b" }, "b": { "$ref": "#/$defs/a" } }, "$ref": "#/$defs/a" });
        let mut doubled = json!({ "d0": {} });
        for nth in 1..=40 {
            let before = json!({ "$ref": format!("#/$defs/d{}", nth - 1) });
            doubled[format!("d{nth}")] = json!({ "allOf": [before.clone(), before] });
        }
        let doubled = json!({ "$defs": doubled, "$ref": "#/$defs/d40" });
        let huge = json!({ "description": "x".repeat(2 * 1024 * 1024) });
        let array = |length: usize| Value::Array(vec![json!({}); length]);
        let outcome =
            |schema: &Value, value: &Value| tried(schema, value).map_err(|why| why[..22].to_owned());
        assert_eq!(outcome(&json!({ "pattern": "^(a+)+$" }), &long), Ok(false));
        assert_eq!(outcome(&json!({ "pattern": "^(?=a)(a+)+$" }), &json!("a".repeat(60) + "!")), Ok(false));
        assert_eq!(outcome(&many, &json!({ "p9999": 1 })), Ok(true));
        assert_eq!(outcome(&many, &json!({ "p10000": 1 })), Ok(false));
        assert_eq!(outcome(&items, &array(10)), Ok(false));
        assert_eq!(outcome(&items, &array(2_000)), Ok(false), "refused by its cost");
        assert_eq!(outcome(&cycle, &json!(1)), Ok(true));
        assert_eq!(outcome(&doubled, &json!(1)), Err("it looks at one value ".to_owned()));
        let recursive = json!({ "oneOf": [{ "type": "string" }, { "items": { "$ref": "#" } }, { "items": { "$ref": "#" }, "maxItems": 0 }] });
        let deep = |levels: usize| (0..levels).fold(json!(5), |within, _| json!([within]));
        assert_eq!(outcome(&recursive, &deep(100)), Ok(false), "refused by its cost");
        assert_eq!(outcome(&huge, &json!(1)), Err("it has 2097170 bytes, ".to_owned()));
    }

    #[test]
    fn a_pattern_with_look_around_works() {
        let schema = json!({ "pattern": "^(?!\\.)(?!.*\\.\\.)[a-z.]+@[a-z.]+$" });
        for (text, fits) in [("a.b@c.org", true), (".a@c.org", false), ("a..b@c.org", false)] {
            assert_eq!(tried(&schema, &json!(text)), Ok(fits), "{text}");
        }
    }

    #[test]
    fn a_bad_schema_says_why() {
        for text in [r#"{"type":"strng"}"#, "{", r#"{"required":5}"#, r##"{"$ref":"http://127.0.0.1/x"}"##] {
            assert!(!Schema::compile(text.as_bytes()).expect_err(text).is_empty());
        }
    }

    #[test]
    fn a_schema_that_every_server_gets_along_with_is_used_as_far_as_it_goes() {
        for (schema, fits, does_not) in [
            (json!({ "items": [{ "type": "integer" }] }), json!([1, "x"]), json!(["x"])),
            (json!({ "$schema": "https://example.com/mine", "type": "integer" }), json!(1), json!("x")),
            (json!({ "type": "string", "pattern": "(" }), json!("x"), json!(1)),
            (json!({ "type": "string", "pattern": "^.{1,1000000}$" }), json!("x"), json!(1)),
            (
                json!({ "patternProperties": { "(": {} }, "additionalProperties": false, "required": ["a"] }),
                json!({ "a": 1 }),
                json!({}),
            ),
            (json!({ "properties": null, "type": "object", "default": null }), json!({}), json!(1)),
        ] {
            assert_eq!(tried(&schema, &fits), Ok(true), "{schema}");
            assert_eq!(tried(&schema, &does_not), Ok(false), "{schema}");
        }
    }
}
