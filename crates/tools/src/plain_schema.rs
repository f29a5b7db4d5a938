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
