//! `tool_description`: a tool for programs, in one form on the command line and over HTTP.

use gate::{BUILT_IN, DECLARED, Definition, Listing, has_dry_run, is_idempotent};
use serde_json::{Value, json};

/// A tool as a JSON object: what an agent is told of it, and what we know besides.
pub fn tool_description(definition: &Definition) -> Value {
    let schema = |text: &[u8]| serde_json::from_slice::<Value>(text).unwrap_or(Value::Null);
    let mut description = json!({
        "name": definition.name.as_str(),
        "description": &*definition.description,
        "from": tool_owner(definition),
        "effect": definition.effect.name(),
        "destructive": definition.marked_destructive,
        "idempotent": is_idempotent(definition),
        "dry_run_supported": has_dry_run(definition),
        "scopes": &*definition.scopes,
        "timeout_ms": u64::try_from(definition.timeout.as_millis()).unwrap_or(u64::MAX),
        "inputSchema": schema(&definition.input_schema),
    });
    if let Some(text) = &definition.output_schema {
        description["outputSchema"] = schema(text);
    }
    match &definition.listing {
        Listing::Declared(described) => {
            let example = |arguments: &String| json!({ "arguments": schema(arguments.as_bytes()) });
            description["title"] = described.title.as_str().into();
            if let Some(version) = &described.version {
                description["version"] = version.as_str().into();
            }
            description["examples"] = described.examples.iter().map(example).collect();
        }
        Listing::Ours(about) => {
            let examples = about.examples.iter().map(
                |example| json!({ "title": example.title, "arguments": schema(example.arguments.as_bytes()) }),
            );
            description["title"] = about.title.into();
            description["examples"] = examples.collect();
        }
        Listing::Relayed(_) => {}
    }
    description
}

/// Who has it.
pub fn tool_owner(definition: &Definition) -> &str {
    match (&definition.listing, definition.upstream()) {
        (_, Some(server)) => server,
        (Listing::Declared(_), None) => DECLARED,
        (Listing::Ours(_) | Listing::Relayed(_), None) => BUILT_IN,
    }
}
