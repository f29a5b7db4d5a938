//! `tools show`: one tool in detail.

use std::sync::Arc;

use daemon::assemble::Crib;
use futures_util::FutureExt;
use gate::{BUILT_IN, DECLARED, Definition, Listing, Offered};
use serde_json::{Value, json};
use terminal::{Ending, Trouble, print};
use tool_api::Origin;

use crate::commands::caller::caller;
use crate::commands::gated::settled;
use crate::commands::troubles::unknown_tool;

/// The tool of this name.
pub(super) async fn found(crib: &Crib, name: &str) -> Result<Arc<Offered>, Trouble> {
    let mut found = crib.gate.find(&caller(), name).now_or_never();
    if !matches!(found, Some(Ok(_))) {
        settled(crib).await?;
        found = Some(crib.gate.find(&caller(), name).await);
    }
    found.and_then(Result::ok).ok_or_else(|| unknown_tool(crib, name))
}

pub(super) async fn run(crib: &Crib, name: &str, json: bool) -> Result<Ending, Trouble> {
    let tool = found(crib, name).await?;
    let definition = tool.definition();
    print::found(json, &description(definition), &page(definition))
}

/// A tool as a JSON object: what an agent is told of it, and what we know besides.
pub(super) fn description(definition: &Definition) -> Value {
    let schema = |text: &[u8]| serde_json::from_slice::<Value>(text).unwrap_or(Value::Null);
    let mut description = json!({
        "name": definition.name.as_str(),
        "description": &*definition.description,
        "from": from(definition),
        "effect": definition.effect.name(),
        "destructive": definition.marked_destructive,
        "scopes": &*definition.scopes,
        "timeout_ms": u64::try_from(definition.timeout.as_millis()).unwrap_or(u64::MAX),
        "inputSchema": schema(&definition.input_schema),
    });
    if let Some(text) = &definition.output_schema {
        description["outputSchema"] = schema(text);
    }
    if let Listing::Declared(described) = &definition.listing {
        description["title"] = described.title.as_str().into();
        let example = |arguments: &String| json!({ "arguments": schema(arguments.as_bytes()) });
        description["examples"] = described.examples.iter().map(example).collect();
    }
    if let Listing::Ours(about) = &definition.listing {
        description["title"] = about.title.into();
        let example = |example: &tool_api::Example| json!({ "title": example.title, "arguments": schema(example.arguments.as_bytes()) });
        description["examples"] = about.examples.iter().map(example).collect();
    }
    description
}

/// Who has it.
pub(super) fn from(definition: &Definition) -> &str {
    match &definition.origin {
        Origin::Upstream(name) => name,
        Origin::Declared => DECLARED,
        Origin::BuiltIn | Origin::Script => BUILT_IN,
    }
}

fn page(definition: &Definition) -> String {
    let facts = [
        ("from", from(definition).to_owned()),
        ("effect", effect(definition)),
        ("scopes", definition.scopes.join(", ")),
        ("timeout", format!("{:?}", definition.timeout)),
    ];
    let facts: Vec<Vec<String>> =
        facts.into_iter().map(|(name, fact)| vec![format!("  {name}"), fact]).collect();
    let mut page =
        format!("{}\n\n{}\n\n{}", definition.name, definition.description, print::Table::plain(facts));
    page.push_str(&format!("\n\ninput schema\n{}", laid_out(&definition.input_schema)));
    if let Some(schema) = &definition.output_schema {
        page.push_str(&format!("\n\noutput schema\n{}", laid_out(schema)));
    }
    if let Listing::Ours(about) = &definition.listing {
        for example in about.examples {
            let call = format!("toolcrib tools call {} '{}'", definition.name, example.arguments);
            page.push_str(&format!("\n\n{}\n  {call}", example.title));
        }
    }
    if let Listing::Declared(described) = &definition.listing {
        for arguments in &described.examples {
            page.push_str(&format!("\n\n  toolcrib tools call {} '{arguments}'", definition.name));
        }
    }
    page
}

fn effect(definition: &Definition) -> String {
    let marked = if definition.marked_destructive { ", marked as destructive" } else { "" };
    format!("{}{marked}", definition.effect.name())
}

fn laid_out(schema: &[u8]) -> String {
    let value = serde_json::from_slice::<Value>(schema).unwrap_or(Value::Null);
    format!("{value:#}")
}
