//! Values that a person types, as the JSON that a schema asks for.

use serde_json::Value;

/// The value that a text stands for, by the JSON Schema of where it is to go. What no schema says a type of is the JSON that
/// it reads as, and else a text.
///
/// # Errors
/// What it must be.
pub(super) fn typed(schema: &Value, text: &str) -> Result<Value, String> {
    let kinds: Vec<&str> = match &schema["type"] {
        Value::Array(several) => several.iter().filter_map(Value::as_str).collect(),
        one => one.as_str().into_iter().collect(),
    };
    let words = words(schema);
    // What a choice is called means that choice, whatever its type.
    if let Some(word) = words.iter().find(|word| shown(std::slice::from_ref(*word)) == text) {
        return Ok(word.clone());
    }
    let whole = || text.parse::<i64>().ok().map(Value::from);
    let json = || whole().or_else(|| serde_json::from_str::<Value>(text).ok());
    let value = match kinds.as_slice() {
        [] => json().filter(|value| !value.is_string()).unwrap_or_else(|| text.into()),
        kinds if kinds.contains(&"string") => text.into(),
        kinds => match json().filter(|value| kinds.iter().any(|kind| is_of(kind, value))) {
            Some(value) => value,
            None if kinds.contains(&"array") => listed(&schema["items"], text)?,
            None => {
                let all: Vec<String> = kinds.iter().map(|kind| kind_words(kind, schema)).collect();
                return Err(format!("this must be {}", all.join(" or ")));
            }
        },
    };
    match words.is_empty() || words.contains(&value) {
        true => fitting(schema, value),
        false => Err(format!("this must be one of: {}", shown(&words))),
    }
}

/// The value, if it is as long, large or many as the schema wants it.
///
/// # Errors
/// What it must be.
pub(super) fn fitting(schema: &Value, value: Value) -> Result<Value, String> {
    let limit = |name: &str| schema[name].as_f64();
    let outside = |is: f64, least: &str, most: &str| {
        limit(least).is_some_and(|least| is < least) || limit(most).is_some_and(|most| is > most)
    };
    let (is, least, most, what) = match &value {
        Value::Number(number) => (number.as_f64(), "minimum", "maximum", ""),
        Value::String(text) => {
            (u32::try_from(text.chars().count()).ok().map(f64::from), "minLength", "maxLength", "characters")
        }
        Value::Array(items) => {
            (u32::try_from(items.len()).ok().map(f64::from), "minItems", "maxItems", "entries")
        }
        Value::Null | Value::Bool(_) | Value::Object(_) => return Ok(value),
    };
    let Some(is) = is.filter(|is| outside(*is, least, most)) else { return Ok(value) };
    let range = range(schema, least, most).unwrap_or_default();
    Err(match what {
        "" => format!("this must be {range}"),
        what => format!("this has {is} {what}; there must be {range}"),
    })
}

/// What a value of a type is for a person, with its limits.
pub(super) fn kind_words(kind: &str, schema: &Value) -> String {
    let within = |what: &str| match range(schema, "minimum", "maximum") {
        Some(range) => format!("{what}, {range}"),
        None => what.to_owned(),
    };
    match kind {
        "integer" => within("a whole number"),
        "number" => within("a number"),
        "boolean" => "true or false".to_owned(),
        "array" => "a list, as a,b".to_owned(),
        "object" => r#"a JSON object, as {"a":1}"#.to_owned(),
        "null" => "null".to_owned(),
        other => other.to_owned(),
    }
}

/// `from 1 to 5`, or what there is of it.
fn range(schema: &Value, least: &str, most: &str) -> Option<String> {
    let limit = |name: &str| schema[name].as_number().map(ToString::to_string);
    match (limit(least), limit(most)) {
        (Some(least), Some(most)) => Some(format!("from {least} to {most}")),
        (Some(least), None) => Some(format!("at least {least}")),
        (None, Some(most)) => Some(format!("at most {most}")),
        (None, None) => None,
    }
}

/// `a,b` as a list.
fn listed(items: &Value, text: &str) -> Result<Value, String> {
    let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
    parts.map(|part| typed(items, part)).collect::<Result<Vec<_>, _>>().map(Value::Array)
}

fn is_of(kind: &str, value: &Value) -> bool {
    match kind {
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        "object" => value.is_object(),
        "array" => value.is_array(),
        _ => false,
    }
}

/// The values that a schema lists, by themselves or with titles.
pub(super) fn words(schema: &Value) -> Vec<Value> {
    let titled = schema["oneOf"].as_array().or(schema["anyOf"].as_array()).into_iter().flatten();
    let titled = titled.filter_map(|choice| choice.get("const").cloned());
    schema["enum"].as_array().into_iter().flatten().cloned().chain(titled).collect()
}

/// Values as a person would type them.
pub(super) fn shown(values: &[Value]) -> String {
    let word = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    values.iter().map(word).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_text_becomes_what_the_schema_asks_for() {
        let of = |kind: Value| json!({ "type": kind });
        let letters = json!({ "enum": ["a", "b"], "type": "string" });
        let titled = json!({ "oneOf": [{ "const": "a", "title": "A" }] });
        for (schema, text, expected) in [
            (of(json!("string")), "5", Ok(json!("5"))),
            (of(json!("integer")), "5", Ok(json!(5))),
            (of(json!("integer")), "05", Ok(json!(5))),
            (of(json!("integer")), "5.5", Err("this must be a whole number")),
            (
                json!({ "type": "integer", "minimum": 1, "maximum": 9 }),
                "x",
                Err("this must be a whole number, from 1 to 9"),
            ),
            (json!({ "type": "integer", "minimum": 1 }), "0", Err("this must be at least 1")),
            (json!({ "type": "number", "maximum": 1.5 }), "1.6", Err("this must be at most 1.5")),
            (
                json!({ "type": "string", "minLength": 2 }),
                "é",
                Err("this has 1 characters; there must be at least 2"),
            ),
            (
                json!({ "type": "array", "maxItems": 1 }),
                "a,b",
                Err("this has 2 entries; there must be at most 1"),
            ),
            (json!({ "enum": ["5", "7"] }), "5", Ok(json!("5"))),
            (of(json!(["number", "null"])), "null", Ok(Value::Null)),
            (of(json!("boolean")), "yes", Err("this must be true or false")),
            (of(json!("object")), "{\"a\":1}", Ok(json!({ "a": 1 }))),
            (json!({ "type": "array", "items": { "type": "string" } }), "1, b", Ok(json!(["1", "b"]))),
            (of(json!("array")), "[1]", Ok(json!([1]))),
            (json!({}), "5", Ok(json!(5))),
            (json!({}), "a b", Ok(json!("a b"))),
            (letters.clone(), "b", Ok(json!("b"))),
            (letters, "c", Err("this must be one of: a, b")),
            (titled, "c", Err("this must be one of: a")),
        ] {
            assert_eq!(typed(&schema, text), expected.map_err(str::to_owned), "{schema} {text}");
        }
    }
}
