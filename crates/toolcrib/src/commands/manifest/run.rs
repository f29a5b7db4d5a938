//! `manifest run`: each example of a manifest as a call, through the gate that is in force and in the sandbox.

use std::path::Path;
use std::sync::Arc;

use config::Manifests;
use daemon::assemble::Crib;
use gate::{Call, Failure, Listing, Outcome};
use serde_json::{Value, json};
use terminal::{Ending, Trouble, print};
use tool_api::AnyTool;
use wire::Revision;

use crate::cli::Cli;
use crate::commands::gated::{carry, failed_as, with_crib_of};
use crate::commands::start::{Asking, Log, start};

pub(super) fn run(cli: &Cli, file: &Path) -> Result<Ending, Trouble> {
    let mut loaded = start(cli, Log::Quiet, Asking::Nobody)?;
    let tool = match loaded.settings.manifests.check(file) {
        Ok(tool) => tool,
        Err(problems) => return Err(Trouble::Misused(problems.join("\n"))),
    };
    if examples(&*tool).is_empty() {
        return Err(Trouble::Misused(format!("{}: it has no example_invocations to run", file.display())));
    }
    // The file may be another version of one that is in force; and no server has a part in this.
    loaded.settings.manifests = Manifests::only(tool.clone());
    loaded.settings.upstreams.clear();
    with_crib_of(loaded, async |crib| each(crib, &tool, cli.json).await)
}

/// The arguments of its sample calls.
fn examples(tool: &dyn AnyTool) -> &[String] {
    match &tool.definition().listing {
        Listing::Declared(described) => &described.examples,
        Listing::Ours(_) | Listing::Relayed(_) => &[],
    }
}

async fn each(crib: &Crib, tool: &Arc<dyn AnyTool>, json: bool) -> Result<Ending, Trouble> {
    let name = tool.definition().name.as_str();
    let (mut told, mut ending) = (Vec::new(), Ending::Good);
    for arguments in examples(&**tool) {
        let outcome = carry(crib, || Call::tool(name, Some(arguments.clone().into()))).await?;
        if let Err(failure) = &outcome {
            ending = failed_as(failure);
        }
        if !json {
            say(arguments, &outcome)?;
        }
        told.push(fact(arguments, outcome));
    }
    if json {
        print::json(&json!({ "tool": name, "examples": told }))?;
    }
    Ok(ending)
}

fn say(arguments: &str, outcome: &Result<Outcome, Failure>) -> Result<(), Trouble> {
    match outcome {
        Ok(outcome) => print::line(&format!("{arguments}\n  good: {}", result(outcome)))?,
        Err(failure) => {
            print::line(&format!("{arguments}\n  {}", failure.code()))?;
            print::error(&failure.to_string());
        }
    }
    Ok(())
}

fn fact(arguments: &str, outcome: Result<Outcome, Failure>) -> Value {
    let arguments: Value = serde_json::from_str(arguments).unwrap_or_default();
    match outcome {
        Ok(outcome) => json!({ "arguments": arguments, "result": result(&outcome) }),
        Err(failure) => {
            json!({ "arguments": arguments, "error": { "code": failure.code(), "message": failure.to_string() } })
        }
    }
}

/// What it gave: its structure, or the text where it has none.
fn result(outcome: &Outcome) -> Value {
    let result = server::outcome_json(Revision::LATEST_LEGACY, outcome);
    let mut result: Value = serde_json::from_slice(&result).unwrap_or_default();
    match result["structuredContent"].take() {
        Value::Null => result["content"][0]["text"].take(),
        structured => structured,
    }
}
