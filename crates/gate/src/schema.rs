//! JSON Schema, compiled once per definition, and violations that a model can act on.
//!
//! The draft is the one that a schema names, and 2020-12 if it names none. Nothing is fetched; a format is a remark and
//! no check, as both drafts have it by default. A pattern that is not of ECMAScript and Rust alike, cannot be run in linear time
//! or would be large is not checked, which the log says when its schema is first used.

mod coerced;
mod cost;
mod counted;
mod meant;
mod meter;
mod mild;
mod pattern;
mod references;
#[cfg(test)]
mod tests;
mod told;
mod unique;

use std::sync::Arc;

use jsonschema::error::ValidationErrorKind;
use jsonschema::{Draft, PatternOptions, Retrieve, ValidationError, ValidationOptions, Validator};
use serde::Serialize;
use serde_json::Value;

use cost::{Cost, SCHEMA_BYTES_MAX};
use counted::Counted;
use pattern::Patterns;

/// Most violations told at once; the first few are what gets repaired.
pub const VIOLATIONS_MAX: usize = 10;

/// Longest text or number shown in a violation, in characters. A longer one is not shown at all: half a secret would not be
/// found again to be struck out.
const SHOWN_CHARS_MAX: usize = 80;

/// Most names of members shown.
const NAMES_MAX: usize = 20;

/// Longest text of an expectation, in characters: an enumeration may be long.
const EXPECTED_CHARS_MAX: usize = 400;

/// Most steps of one check, over all values, texts and branches: some 3 ns each, so about 60 ms.
const STEPS_MAX: u64 = 20_000_000;

/// Most steps to find out where what is wrong. They take longer, up to 200 ns each, since much is written down that is not
/// used.
const STEPS_TOLD_MAX: u64 = 100_000;

/// How often a value is read anew: a place may show what is wrong within it only once it is of the right type.
const READINGS_MAX: usize = 3;

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

    /// `members` are those that the whole may have, where the schema names them.
    fn new(error: &ValidationError<'_>, members: &[String]) -> Violation {
        let pointer = cut(error.instance_path().as_str(), EXPECTED_CHARS_MAX);
        let members = if pointer.is_empty() { members } else { &[] };
        Violation {
            pointer,
            expected: cut(&expected(error, members), EXPECTED_CHARS_MAX),
            found: found(error),
        }
    }
}

/// Why a value does not pass.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Misfit {
    /// It does not fit, up to [`VIOLATIONS_MAX`] times.
    Wrong(Vec<Violation>),
    /// It could not be told in as many steps as a check may have.
    Undecided(Vec<Violation>),
}

impl Misfit {
    /// What to tell whoever made the value.
    pub(crate) fn violations(self) -> Vec<Violation> {
        let (Misfit::Wrong(violations) | Misfit::Undecided(violations)) = self;
        violations
    }

    fn whole(expected: &str, found: &str) -> Vec<Violation> {
        vec![Violation { pointer: String::new(), expected: expected.to_owned(), found: found.to_owned() }]
    }
}

/// How schemas are compiled.
type Options<'r> = ValidationOptions<'r, Arc<dyn Retrieve>, Counted>;

/// A compiled schema.
#[derive(Debug)]
pub(crate) struct Schema {
    validator: Validator<Counted>,
    cost: Cost,
    /// The members that the whole may have, as far as the schema names them.
    members: Vec<String>,
    /// What of it is not held against values as it is written.
    unheld: Option<String>,
}

/// What is wrong with a schema that its own author wants to know of, also where servers' tools get by with it; and with these
/// values, which are to fit it.
pub fn faults(schema: &[u8], values: &[Value]) -> Result<(), Vec<String>> {
    let schema = Schema::compile(schema).map_err(|why| vec![why])?;
    if let Some(why) = schema.unheld {
        return Err(vec![why]);
    }
    let wrong = values.iter().enumerate().filter_map(|(nth, value)| {
        let violations = schema.check(value).err()?.violations();
        Some(format!("example_invocations[{nth}] does not fit it:{}", Violation::lines(&violations)))
    });
    let wrong: Vec<String> = wrong.collect();
    if wrong.is_empty() { Ok(()) } else { Err(wrong) }
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
        Schema::build(schema, jsonschema::options_for())
    }

    fn build(mut schema: Value, options: Options<'_>) -> Result<Schema, String> {
        let cost = Cost::of(&schema)?;
        let members = schema["properties"].as_object().map(|members| members.keys().cloned().collect());
        let patterns = Patterns::default();
        mild::without_unusable_names(&mut schema, &patterns);
        let own = patterns.clone();
        let options = options
            .should_validate_formats(false)
            .with_keyword("pattern", move |_, text, _| own.keyword(text))
            .with_pattern_options(PatternOptions::regex());
        let mut unheld = None;
        let validator = options.build(&schema).or_else(|why| {
            let (milder, unknown_draft) = mild::milder(&schema);
            // Without a name it is 2020-12; much that has none was written for the one before.
            let older = options.clone().with_draft(Draft::Draft7);
            let found = options.build(&milder).or_else(|_| older.build(&milder));
            let told = cut(&told::fault(&schema, &why), EXPECTED_CHARS_MAX);
            let found = found.map_err(|_| told.clone())?;
            unheld = Some(told);
            tracing::warn!(%why, ?unknown_draft, "a schema is not as its draft wants it; values are checked as far as it goes");
            Ok::<_, String>(found)
        })?;
        let left_out = patterns.left_out();
        if !left_out.is_empty() {
            tracing::warn!(
                ?left_out,
                "a schema has patterns that are not checked: they are none, or not run in linear time"
            );
        }
        if let Some(pattern) = left_out.first() {
            unheld.get_or_insert(cut(&told::pattern(&schema, pattern), EXPECTED_CHARS_MAX));
        }
        Ok(Schema { validator, cost, members: members.unwrap_or_default(), unheld })
    }

    /// Tells whether a value fits.
    pub(crate) fn check(&self, value: &Value) -> Result<(), Misfit> {
        let Some((fits, _)) = self.within(STEPS_MAX, value, || self.validator.is_valid(value)) else {
            return Err(Misfit::Undecided(Misfit::whole(
                "a value that can be checked against the schema in time",
                "one that takes too many steps; send less at once, less deep, or shorter texts",
            )));
        };
        if fits {
            return Ok(());
        }
        let errors = self.within(STEPS_TOLD_MAX, value, || {
            let errors = self.validator.iter_errors(value).take(VIOLATIONS_MAX);
            errors.map(|error| Violation::new(&error, &self.members)).collect::<Vec<_>>()
        });
        let errors = errors.map(|(errors, _)| errors).filter(|errors| !errors.is_empty());
        Err(Misfit::Wrong(errors.unwrap_or_else(|| {
            Misfit::whole("a value that fits the schema", "one that does not, too large to tell where")
        })))
    }

    /// Tells whether a value fits, or would as a server reads it that turns single values into what it expects.
    pub(crate) fn check_leniently(&self, value: &Value) -> Result<(), Misfit> {
        let Err(misfit) = self.check(value) else { return Ok(()) };
        self.read_anew(value, coerced::readings).map(drop).ok_or(misfit)
    }

    /// The value that fits and that is meant by one that does not, if it can be read in one way alone.
    pub(crate) fn meant(&self, value: &Value) -> Option<Value> {
        self.read_anew(value, meant::reading)
    }

    /// A value that fits, of one that does not, where what does not fit is read in another way.
    fn read_anew(&self, value: &Value, reading: coerced::Reading) -> Option<Value> {
        let mut read = value.clone();
        for _ in 0..READINGS_MAX {
            let look = || coerced::repairs(self.validator.iter_errors(&read), reading);
            let (repairs, _) = self.within(STEPS_TOLD_MAX, &read, look)?;
            if !coerced::apply(&mut read, repairs) {
                return None;
            }
            if self.check(&read).is_ok() {
                return Some(read);
            }
        }
        None
    }

    /// What came of looking at a value, and in how many steps; nothing if those did not suffice.
    fn within<T>(&self, steps: u64, value: &Value, look: impl FnOnce() -> T) -> Option<(T, u64)> {
        if !self.cost.is_bearable(value) {
            return None;
        }
        meter::within(steps, self.cost.looks_per_value, look)
    }
}

fn expected(error: &ValidationError<'_>, members: &[String]) -> String {
    match error.kind() {
        ValidationErrorKind::Type { kind } => describe_types(kind),
        ValidationErrorKind::Required { property } => format!("the member {property}"),
        ValidationErrorKind::AdditionalProperties { unexpected } => {
            let names: Vec<String> = unexpected.iter().map(|name| format!("{name:?}")).collect();
            let near = |name: &String| policy::nearest(name, members.iter().map(String::as_str));
            let near: Vec<_> = unexpected.iter().filter_map(near).collect();
            let hint = match near.is_empty() {
                true => String::new(),
                false => format!(" (did you mean {near:?}?)").replace(['[', ']'], ""),
            };
            format!("no member {}{hint}", names.join(", "))
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
        // A pattern.
        ValidationErrorKind::Custom { message, .. } => message.clone(),
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
        Value::Number(number) if is_short(&number.to_string()) && !number.is_f64() => {
            format!("integer {number}")
        }
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
