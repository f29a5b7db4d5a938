//! What is made of a schema that is not as its draft wants it, but whose server gets along with it: every other client
//! works with such a tool, and the server checks its arguments itself.

use fancy_regex::Regex;
use serde_json::{Map, Value};

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
    mend(&mut schema, &mut left_out);
    (schema, left_out)
}

fn mend(schema: &mut Value, left_out: &mut Vec<String>) {
    match schema {
        Value::Object(members) => {
            mend_members(members, left_out);
            members.values_mut().for_each(|member| mend(member, left_out));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| mend(item, left_out)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn mend_members(members: &mut Map<String, Value>, left_out: &mut Vec<String>) {
    members.retain(|name, member| !member.is_null() || MAY_BE_NULL.contains(&name.as_str()));
    let is_bad = |pattern: &str| Regex::new(pattern).is_err();
    if let Some(pattern) = members.get("pattern").and_then(Value::as_str).filter(|pattern| is_bad(pattern)) {
        left_out.push(format!("the pattern {pattern:?}"));
        members.remove("pattern");
    }
    let Some(Value::Object(patterned)) = members.get_mut("patternProperties") else { return };
    let before = patterned.len();
    patterned.retain(|pattern, _| {
        if is_bad(pattern) {
            left_out.push(format!("the pattern {pattern:?}"));
        }
        !is_bad(pattern)
    });
    if patterned.len() < before {
        // Nobody can tell which members it would have been for.
        members.remove("additionalProperties");
        members.remove("unevaluatedProperties");
    }
}
