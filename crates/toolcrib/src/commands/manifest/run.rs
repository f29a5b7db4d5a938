//! `manifest run`: each example of a manifest as a call, through the gate that is in force and in the sandbox. Where the tool knows
//! dry runs, no example does anything that was not tried so first.

mod fixture;
mod junit;
mod tried;

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use config::Manifests;
use daemon::assemble::Crib;
use gate::{Call, Listing, Outcome};
use serde_json::{Value, json};
use terminal::{Ending, Trouble, print};
use tool_api::{AnyTool, DRY_RUN};
use wire::Revision;

use crate::cli::Cli;
use crate::commands::gated::{carry, failed_as, with_crib_of};
use crate::commands::start::{Asking, Log, start};
use fixture::Fixture;
use tried::Tried;

pub(super) fn run(
    cli: &Cli,
    file: &Path,
    fixture: Option<&Path>,
    junit: Option<&Path>,
) -> Result<Ending, Trouble> {
    let fixture = fixture.map(Fixture::read).transpose().map_err(Trouble::Misused)?;
    let mut loaded = start(cli, Log::Quiet, Asking::Nobody)?;
    let tool = match loaded.settings.manifests.check(file) {
        Ok(tool) => tool,
        Err(problems) => return Err(Trouble::Misused(problems.join("\n"))),
    };
    if calls(&*tool).is_empty() {
        return Err(Trouble::Misused(format!("{}: it has no example_invocations to run", file.display())));
    }
    // The file may be another version of one that is in force; and no server has a part in this.
    loaded.settings.manifests = Manifests::only(tool.clone());
    loaded.settings.upstreams.clear();
    with_crib_of(loaded, async |crib| {
        let tried = each(crib, &tool, fixture.as_ref(), cli.json).await?;
        let name = tool.definition().name.as_str();
        if let Some(path) = junit {
            junit::write(path, name, &tried)
                .map_err(|why| Trouble::Failed(format!("{} cannot be written: {why}", path.display())))?;
        }
        if cli.json {
            let facts: Vec<Value> = tried.iter().map(Tried::fact).collect();
            print::json(&json!({ "tool": name, "examples": facts }))?;
        }
        let left = fixture.as_ref().map(|fixture| fixture.left(&tried)).unwrap_or_default();
        left.iter().for_each(|why| print::error(why));
        let faults = tried.iter().filter(|one| one.fault.is_some());
        Ok(faults.map(|one| one.ending).next_back().unwrap_or(if left.is_empty() {
            Ending::Good
        } else {
            Ending::Failed
        }))
    })
}

/// The calls of its examples: arguments, and whether the next one is the same in earnest.
fn calls(tool: &dyn AnyTool) -> Vec<(Value, bool)> {
    let definition = tool.definition();
    let Listing::Declared(described) = &definition.listing else { return Vec::new() };
    let examples = described.examples.iter().filter_map(|text| serde_json::from_str::<Value>(text).ok());
    let inputs: Value = serde_json::from_slice(&definition.input_schema).unwrap_or_default();
    let by_default = inputs["properties"][DRY_RUN]["default"].as_bool().unwrap_or_default();
    let mut calls = Vec::new();
    for example in examples {
        if described.dry_run && !example[DRY_RUN].as_bool().unwrap_or(by_default) {
            let mut dry = example.clone();
            dry[DRY_RUN] = true.into();
            calls.push((dry, true));
        }
        calls.push((example, false));
    }
    calls
}

async fn each(
    crib: &Crib,
    tool: &Arc<dyn AnyTool>,
    fixture: Option<&Fixture>,
    json: bool,
) -> Result<Vec<Tried>, Trouble> {
    let name = tool.definition().name.as_str();
    let mut tried = Vec::new();
    let mut is_barred = false;
    for (arguments, goes_on) in calls(&**tool) {
        if std::mem::take(&mut is_barred) {
            continue;
        }
        let one = once(crib, name, arguments, fixture).await?;
        is_barred = goes_on && one.fault.is_some();
        if !json {
            one.say(is_barred)?;
        }
        tried.push(one);
    }
    Ok(tried)
}

async fn once(
    crib: &Crib,
    name: &str,
    arguments: Value,
    fixture: Option<&Fixture>,
) -> Result<Tried, Trouble> {
    let (began, text) = (Instant::now(), arguments.to_string());
    let outcome = carry(crib, || Call::tool(name, Some(text.clone().into()))).await?;
    let took = began.elapsed();
    let ending = outcome.as_ref().map_or_else(failed_as, |_| Ending::Failed);
    let came = match &outcome {
        Ok(outcome) => Ok(result(outcome)),
        Err(failure) => Err((failure.code().to_owned(), failure.to_string())),
    };
    let fault = match fixture {
        Some(fixture) => fixture.fault(&arguments, &came),
        None => came.as_ref().err().map(|(_, why)| why.clone()),
    };
    Ok(Tried { arguments, came, fault, ending, took })
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
