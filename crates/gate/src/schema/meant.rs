//! A value of another JSON kind than a tool of ours takes, where it can mean one thing alone: models send `"1"` for a number, `"true"`
//! for a flag, `null` for what they leave out, a list or an object as its JSON text, and a list where its JSON text is wanted.
//!
//! Nothing is guessed: `"1.0"` is no whole number, `1` no text, `"yes"` no flag.

use jsonschema::error::{TypeKind, ValidationErrorKind};
use jsonschema::{JsonType, ValidationError};
use serde_json::Value;

use super::coerced::Repair;

/// How the names of members end that take a value as its JSON text.
const TEXT_OF_JSON: &str = "_json";

/// What the value in an error's place means, if that is certain.
pub(super) fn reading(error: &ValidationError<'_>) -> Option<Vec<Repair>> {
    let ValidationErrorKind::Type { kind: TypeKind::Single(wanted) } = error.kind() else { return None };
    let takes_json = || error.instance_path().as_str().ends_with(TEXT_OF_JSON);
    let meant = match (error.instance().as_ref(), wanted) {
        (Value::Null, _) => None,
        (Value::String(text), wanted) => Some(parsed(text, *wanted)?),
        (found @ (Value::Array(_) | Value::Object(_)), JsonType::String) if takes_json() => {
            Some(found.to_string().into())
        }
        _ => return None,
    };
    Some(vec![Repair::of(error, meant)])
}

/// What a text says in JSON, if that is of this type.
fn parsed(text: &str, wanted: JsonType) -> Option<Value> {
    let value: Value = serde_json::from_str(text).ok()?;
    let is_it = match wanted {
        JsonType::Integer => value.is_i64() || value.is_u64(),
        JsonType::Number => value.is_number(),
        JsonType::Boolean => value.is_boolean(),
        JsonType::Array => value.is_array(),
        JsonType::Object => value.is_object(),
        JsonType::String | JsonType::Null => false,
    };
    is_it.then_some(value)
}
