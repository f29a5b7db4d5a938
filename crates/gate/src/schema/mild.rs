//! What is made of a schema that is not as its draft wants it, but whose server gets along with it: every other client
//! works with such a tool, and the server checks its arguments itself.

use serde_json::{Map, Value};

use super::pattern::Patterns;

/// Members whose value may be null.
const MAY_BE_NULL: [&str; 4] = ["const", "default", "enum", "examples"];

/// The same schema without members that have no value, or a draft that nobody knows. Tells what was left out.
pub(super) fn milder(schema: &Value) -> (Value, Option<String>) {
    let mut schema = schema.clone();
    let draft = schema.get("$schema").and_then(Value::as_str).map(str::to_owned);
    let unknown = draft.filter(|draft| !draft.contains("json-schema.org/"));
    if let (Some(_), Some(members)) = (&unknown, schema.as_object_mut()) {
        members.remove("$schema");
    }
    each_object(&mut schema, &mut |members| {
        members.retain(|name, member| !member.is_null() || MAY_BE_NULL.contains(&name.as_str()));
    });
    (schema, unknown)
}

/// Leaves out patterns of names that cannot be run: the validator runs them itself, by an engine that counts nothing but
/// takes no longer than ours for those that ours takes.
pub(super) fn without_unusable_names(schema: &mut Value, patterns: &Patterns) {
    each_object(schema, &mut |members| {
        let Some(Value::Object(patterned)) = members.get_mut("patternProperties") else { return };
        let before = patterned.len();
        patterned.retain(|text, _| patterns.compile(text).is_some());
        if patterned.len() < before {
            // Nobody can tell which members it would have been for.
            members.remove("additionalProperties");
            members.remove("unevaluatedProperties");
        }
    });
}

fn each_object(schema: &mut Value, change: &mut impl FnMut(&mut Map<String, Value>)) {
    match schema {
        Value::Object(members) => {
            change(members);
            members.values_mut().for_each(|member| each_object(member, change));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| each_object(item, change)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
