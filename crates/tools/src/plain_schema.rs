//! Schemas as models are shown them: an optional field is left out, never null; a number has a type and
//! bounds, not the name of a Rust type; a description is one paragraph; the whole has none, since the tool has.
//!
//! A type asks for it with `#[schemars(transform = plain)]`.

use schemars::Schema;
use serde_json::{Map, Value};

/// Rewrites the fields of an object's schema, also of objects in lists.
pub(crate) fn plain(schema: &mut Schema) {
    if let Some(schema) = schema.as_object_mut() {
        schema.remove("description");
        plain_object(schema);
    }
}

/// The same for results, of which every list of tools has the schema: without what only a checker needs to know, or what a word
/// says by itself.
pub(crate) fn brief(schema: &mut Schema) {
    plain(schema);
    if let Some(schema) = schema.as_object_mut() {
        brief_object(schema);
    }
}

fn brief_object(schema: &mut Map<String, Value>) {
    if schema.get("minimum").and_then(Value::as_u64) == Some(0) {
        schema.remove("minimum");
    }
    if let Some(words) = words_alone(schema) {
        schema.remove("oneOf");
        schema.insert("enum".to_owned(), words);
    }
    let fields = schema.get_mut("properties").and_then(Value::as_object_mut);
    for field in fields.into_iter().flat_map(Map::values_mut).filter_map(Value::as_object_mut) {
        brief_object(field);
    }
    if let Some(items) = schema.get_mut("items").and_then(Value::as_object_mut) {
        brief_object(items);
    }
}

/// The words of a choice between words.
fn words_alone(schema: &Map<String, Value>) -> Option<Value> {
    let choices = schema.get("oneOf")?.as_array()?;
    let words: Option<Vec<Value>> = choices.iter().map(|choice| choice.get("const").cloned()).collect();
    words.map(Value::Array)
}

fn plain_object(schema: &mut Map<String, Value>) {
    let fields = schema.get_mut("properties").and_then(Value::as_object_mut);
    for field in fields.into_iter().flat_map(Map::values_mut).filter_map(Value::as_object_mut) {
        plain_field(field);
    }
    if let Some(items) = schema.get_mut("items").and_then(Value::as_object_mut) {
        plain_object(items);
    }
}

fn plain_field(field: &mut Map<String, Value>) {
    field.retain(|name, value| name != "format" && !(name == "default" && value.is_null()));
    if let Some(Value::Array(types)) = field.get_mut("type") {
        types.retain(|name| name != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            field.insert("type".to_owned(), only);
        }
    }
    if let Some(Value::String(description)) = field.get_mut("description") {
        *description = description.replace('\n', " ");
    }
    plain_object(field);
}

#[cfg(test)]
mod tests {
    use schemars::{JsonSchema, schema_for};
    use serde_json::json;

    use super::*;

    #[derive(JsonSchema)]
    #[schemars(transform = brief)]
    #[expect(dead_code, reason = "only its schema is looked at")]
    struct Told {
        /// What came of it.
        all: Vec<One>,
    }

    #[derive(JsonSchema)]
    #[schemars(inline)]
    #[expect(dead_code, reason = "only its schema is looked at")]
    struct One {
        state: State,
        count: usize,
        least: Option<std::num::NonZeroU8>,
    }

    #[derive(JsonSchema)]
    #[schemars(inline)]
    #[expect(dead_code, reason = "only its schema is looked at")]
    enum State {
        /// It said so.
        Answered,
        /// It did not.
        Silent,
    }

    #[test]
    fn a_result_is_told_by_its_fields_and_words() {
        let schema = schema_for!(Told);
        let expected = json!({
            "type": "array",
            "description": "What came of it.",
            "items": {
                "type": "object",
                "properties": {
                    "state": { "enum": ["Answered", "Silent"] },
                    "count": { "type": "integer" },
                    "least": { "type": "integer", "minimum": 1, "maximum": 255 },
                },
                "required": ["state", "count"],
            },
        });
        assert_eq!(schema.get("properties").and_then(|fields| fields.get("all")), Some(&expected));
    }
}
