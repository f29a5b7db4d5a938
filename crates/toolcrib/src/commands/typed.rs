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
    let json = || serde_json::from_str::<Value>(text).ok();
    let value = match kinds.as_slice() {
        [] => json().filter(|value| !value.is_string()).unwrap_or_else(|| text.into()),
        kinds if kinds.contains(&"string") => text.into(),
        kinds => match json().filter(|value| kinds.iter().any(|kind| is_of(kind, value))) {
            Some(value) => value,
            None if kinds.contains(&"array") => listed(&schema["items"], text)?,
            None => return Err(format!("it must be of the type {}", kinds.join(" or "))),
        },
    };
    let words = words(schema);
    match words.is_empty() || words.contains(&value) {
        true => Ok(value),
        false => Err(format!("it must be one of {}", shown(&words))),
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
            (of(json!("integer")), "5.5", Err("it must be of the type integer")),
            (of(json!(["number", "null"])), "null", Ok(Value::Null)),
            (of(json!("boolean")), "yes", Err("it must be of the type boolean")),
            (of(json!("object")), "{\"a\":1}", Ok(json!({ "a": 1 }))),
            (json!({ "type": "array", "items": { "type": "string" } }), "1, b", Ok(json!(["1", "b"]))),
            (of(json!("array")), "[1]", Ok(json!([1]))),
            (json!({}), "5", Ok(json!(5))),
            (json!({}), "a b", Ok(json!("a b"))),
            (letters.clone(), "b", Ok(json!("b"))),
            (letters, "c", Err("it must be one of a, b")),
            (titled, "c", Err("it must be one of a")),
        ] {
            assert_eq!(typed(&schema, text), expected.map_err(str::to_owned), "{schema} {text}");
        }
    }
}
