//! JSON Schema as the gate applies it: what a tool's schema says of a value.

use jsonschema::Validator;
use serde_json::Value;

/// The validator of a tool's schema.
pub(crate) fn compiled(schema: &[u8]) -> Validator {
    let schema: Value = serde_json::from_slice(schema).expect("a schema is JSON");
    jsonschema::draft202012::new(&schema)
        .unwrap_or_else(|error| panic!("the schema does not compile: {error}"))
}

/// Everything that the schema holds against `value`, one line each.
pub(crate) fn objections(schema: &[u8], value: &Value) -> String {
    let validator = compiled(schema);
    validator
        .iter_errors(value)
        .map(|error| format!("refused {}: {error}\n", error.instance_path()))
        .collect()
}
