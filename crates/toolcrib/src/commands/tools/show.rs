//! `tools show`: one tool in detail.

use std::sync::Arc;

use daemon::assemble::Crib;
use futures_util::FutureExt;
use gate::{Definition, Listing, Offered};
use serde_json::Value;
use server::{tool_description, tool_owner};
use terminal::{Ending, Trouble, print};

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
    print::found(json, &tool_description(definition), &page(definition))
}

fn page(definition: &Definition) -> String {
    let facts = [
        ("from", tool_owner(definition).to_owned()),
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
