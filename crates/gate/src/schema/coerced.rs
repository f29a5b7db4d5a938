//! A value as a server would read it that turns single values into what its schema expects: `"1"` for a number, `1` for a
//! text, `null` for a member that may be left out. Only the check reads it so; what is sent on stays as it came.
//!
//! Texts are not read as objects or lists, though some servers do: rules look for paths in a value as it stands.

use jsonschema::error::{TypeKind, ValidationErrorKind};
use jsonschema::{JsonType, ValidationError};
use serde_json::{Number, Value};

use crate::pointer;

/// Most places of one value that are read anew at once.
const REPAIRS_MAX: usize = 100;

/// Another reading of one place.
pub(super) struct Repair {
    /// JSON pointer (RFC 6901) into the value.
    pointer: String,
    /// What stands there; nothing if the member is left out.
    reading: Option<Value>,
}

impl Repair {
    /// The place of an error, read so.
    pub(super) fn of(error: &ValidationError<'_>, reading: Option<Value>) -> Repair {
        Repair { pointer: error.instance_path().as_str().to_owned(), reading }
    }
}

/// How what an error is about may be read as well.
pub(super) type Reading = fn(&ValidationError<'_>) -> Option<Vec<Repair>>;

/// The other readings of what does not fit.
pub(super) fn repairs<'e>(
    errors: impl Iterator<Item = ValidationError<'e>>,
    reading: Reading,
) -> Vec<Repair> {
    errors.take(REPAIRS_MAX).filter_map(|error| reading(&error)).flatten().collect()
}

/// Reads the places so. False if none can be.
pub(super) fn apply(value: &mut Value, repairs: Vec<Repair>) -> bool {
    let mut is_changed = false;
    for Repair { pointer, reading } in repairs {
        is_changed |= match reading {
            Some(reading) => value.pointer_mut(&pointer).map(|place| *place = reading).is_some(),
            None => left_out(value, &pointer),
        };
    }
    is_changed
}

fn left_out(value: &mut Value, pointer: &str) -> bool {
    let Some((above, name)) = pointer.rsplit_once('/') else { return false };
    let name = pointer::name(name);
    let members = value.pointer_mut(above).and_then(Value::as_object_mut);
    members.is_some_and(|members| members.remove(&name).is_some())
}

/// How everything is read that this is about; nothing if it cannot be read otherwise.
pub(super) fn readings(error: &ValidationError<'_>) -> Option<Vec<Repair>> {
    let found = error.instance().as_ref();
    let one = |reading| vec![Repair::of(error, reading)];
    if found.is_null() {
        return Some(one(None));
    }
    match error.kind() {
        ValidationErrorKind::Type { kind } => {
            let types: Vec<JsonType> = match kind {
                TypeKind::Single(single) => vec![*single],
                TypeKind::Multiple(several) => several.iter().collect(),
            };
            types.into_iter().find_map(|wanted| read_as(found, wanted)).map(|reading| one(Some(reading)))
        }
        ValidationErrorKind::Enum { options } => {
            let meant = options.as_array()?.iter().find(|option| means(found, option))?;
            Some(one(Some(meant.clone())))
        }
        ValidationErrorKind::Constant { expected_value } => {
            means(found, expected_value).then(|| one(Some((**expected_value).clone())))
        }
        ValidationErrorKind::AnyOf { context } | ValidationErrorKind::OneOfNotValid { context } => {
            let branch = |errors: &Vec<ValidationError<'_>>| -> Option<Vec<Repair>> {
                let readings: Option<Vec<_>> = errors.iter().map(readings).collect();
                Some(readings?.into_iter().flatten().collect())
            };
            context.iter().find_map(branch)
        }
        _ => None,
    }
}

/// True if a value is another spelling of this one.
fn means(found: &Value, option: &Value) -> bool {
    let wanted = match option {
        Value::Number(_) => JsonType::Number,
        Value::Bool(_) => JsonType::Boolean,
        Value::String(_) => JsonType::String,
        Value::Null | Value::Array(_) | Value::Object(_) => return false,
    };
    read_as(found, wanted).as_ref() == Some(option)
}

/// A single value as one of another type.
fn read_as(found: &Value, wanted: JsonType) -> Option<Value> {
    match (wanted, found) {
        (JsonType::Integer | JsonType::Number, Value::String(text)) => number(text.trim()),
        (JsonType::Integer | JsonType::Number, Value::Bool(flag)) => Some(u8::from(*flag).into()),
        (JsonType::Boolean, Value::String(text)) => flag(text.trim()).map(Value::Bool),
        (JsonType::Boolean, Value::Number(number)) => match number.as_f64()? {
            0.0 => Some(Value::Bool(false)),
            1.0 => Some(Value::Bool(true)),
            _ => None,
        },
        (JsonType::String, Value::Number(_) | Value::Bool(_)) => Some(found.to_string().into()),
        _ => None,
    }
}

fn number(text: &str) -> Option<Value> {
    let exact = serde_json::from_str::<Number>(text).ok();
    let number = exact.or_else(|| Number::from_f64(text.parse().ok()?))?;
    Some(Value::Number(number))
}

fn flag(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "true" | "t" | "yes" | "y" | "on" | "1" => Some(true),
        "false" | "f" | "no" | "n" | "off" | "0" => Some(false),
        _ => None,
    }
}
