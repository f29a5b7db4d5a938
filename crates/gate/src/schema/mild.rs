//! What is made of a schema that is not as its draft wants it, but whose server gets along with it: every other client
//! works with such a tool, and the server checks its arguments itself.

use serde_json::{Map, Value, json};

use super::pattern::{self, Patterns};
use super::validator::validator;

/// Members whose value may be null.
const MAY_BE_NULL: [&str; 4] = ["const", "default", "enum", "examples"];

/// The same schema without what no validator here can use: patterns that are none, members without a value, a draft that
/// nobody knows. Tells what was left out.
pub(super) fn milder(schema: &Value) -> (Value, Vec<String>) {
    let (mut schema, mut left_out) = (schema.clone(), Vec::new());
    if let Some(draft) = schema.get("$schema").and_then(Value::as_str)
        && !draft.contains("json-schema.org/")
    {
        left_out.push(format!("the draft {draft:?}, which is unknown"));
        schema.as_object_mut().and_then(|members| members.remove("$schema"));
    }
    mend(&mut schema, &Patterns::default(), &mut left_out);
    (schema, left_out)
}

fn mend(schema: &mut Value, patterns: &Patterns, left_out: &mut Vec<String>) {
    match schema {
        Value::Object(members) => {
            mend_members(members, patterns, left_out);
            members.values_mut().for_each(|member| mend(member, patterns, left_out));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| mend(item, patterns, left_out)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn mend_members(members: &mut Map<String, Value>, patterns: &Patterns, left_out: &mut Vec<String>) {
    members.retain(|name, member| !member.is_null() || MAY_BE_NULL.contains(&name.as_str()));
    let bad = members.get("pattern").and_then(Value::as_str).filter(|text| !patterns.has(text));
    if let Some(bad) = bad {
        left_out.push(format!("the pattern {bad:?}"));
        members.remove("pattern");
    }
    let Some(Value::Object(patterned)) = members.get_mut("patternProperties") else { return };
    let before = patterned.len();
    *patterned = std::mem::take(patterned)
        .into_iter()
        .filter_map(|(text, schema)| match usable(text) {
            Ok(text) => Some((text, schema)),
            Err(text) => {
                left_out.push(format!("the pattern {text:?}"));
                None
            }
        })
        .collect();
    if patterned.len() < before {
        // Nobody can tell which members it would have been for.
        members.remove("additionalProperties");
        members.remove("unevaluatedProperties");
    }
}

/// A pattern of names in such words that the validator's own engine reads it as it is meant, or as it was if there are none.
fn usable(text: String) -> Result<String, String> {
    let is_used = |text: &str| {
        validator(&json!({ "patternProperties": { text: true } }), &jsonschema::options_for()).is_ok()
    };
    if is_used(&text) {
        return Ok(text);
    }
    pattern::in_rust(&text).filter(|text| is_used(text)).ok_or(text)
}
