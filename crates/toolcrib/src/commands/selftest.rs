//! `selftest`: is what we list what we run, and is it what was released? Works on the built-in tools with
//! default settings and a state of its own; touches neither the user's files nor any upstream.

mod snapshot;

use std::path::Path;

use bytes::Bytes;
use config::Settings;
use daemon::assemble::assemble;
use daemon::upstreams::Start;
use gate::{Call, Caller, Failure, Gate, Offered, Refusal, Via};
use serde_json::json;
use terminal::{Ending, Trouble, print, runtime};

use crate::cli::Cli;

/// Arguments that no tool takes: they must come as far as the tool's own schema, and no further.
const PROBE: &[u8] = br#"{"toolcrib selftest":true}"#;

pub(super) fn run(cli: &Cli) -> Result<Ending, Trouble> {
    let folder = tempfile::tempdir()?;
    let (names, problems) = runtime::run(check(folder.path()))??;
    match (cli.json, problems.is_empty()) {
        (true, _) => print::json(&json!({ "tools": names, "problems": problems }))?,
        (false, true) => print::line(&format!("{} tools, all as they should be", names.len()))?,
        (false, false) => print::remark(&problems.join("\n")),
    }
    Ok(if problems.is_empty() { Ending::Good } else { Ending::Failed })
}

/// The names of all tools, and everything that is wrong with them.
async fn check(folder: &Path) -> Result<(Vec<String>, Vec<String>), Trouble> {
    let crib = assemble(Settings::for_selftest(folder), Start::WhenWanted)?;
    let offer = crib.gate.catalog().offer();
    let mut problems = snapshot::differences(snapshot::RELEASED, &snapshot::of(&offer.tools));
    for collision in &offer.collisions {
        problems.push(format!("{}: two tools have this name", collision.name));
    }
    for tool in &offer.tools {
        problems.extend(sound(&crib.gate, tool).await.err());
    }
    let names = offer.tools.iter().map(|tool| tool.definition().name.to_string()).collect();
    crib.close().await;
    Ok((names, problems))
}

/// Whether a listed tool has schemas that work, and is found by a call under its name.
async fn sound(gate: &Gate, tool: &Offered) -> Result<(), String> {
    let name = tool.definition().name.as_str();
    tool.check_schemas().map_err(|why| format!("{name}: {why}"))?;
    let caller = Caller::local_user(Via::CommandLine);
    if !gate.may_see(&caller, tool) {
        return Err(format!("{name}: it is not listed for the local user"));
    }
    let arguments = Some(Bytes::from_static(PROBE));
    let call = Call::tool(name, arguments);
    match gate.call(&caller, call).await {
        Err(Failure::Refused(Refusal::InvalidArguments { tool, .. })) if tool == name => Ok(()),
        Err(failure) => Err(format!("{name}: a call does not reach it: {failure}")),
        Ok(_) => Err(format!("{name}: it takes arguments that are not in its schema")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tools_are_sound() {
        let folder = tempfile::tempdir().expect("a folder");
        let checked = runtime::run(check(folder.path())).expect("a runtime").expect("an assembly");
        assert_eq!(checked.1, Vec::<String>::new());
        assert!(checked.0.contains(&"workspace_read".to_owned()), "{:?}", checked.0);
    }
}
