//! `mcp status`: how the servers of every running Toolcrib are doing, now or with every change; without one, what is
//! remembered of them. Nothing is started.

mod shown;
mod watching;

use admin::nearest;
use admin::servers::unknown_server;
use config::Loaded;
use daemon::assemble::assemble;
use daemon::control::{self, Running};
use daemon::upstreams::Start;
use serde_json::{Value, json};
use terminal::{Ending, Trouble, print, runtime};

use super::servers::picked;
use crate::cli::Cli;
use crate::commands::start::start_nobody;
use crate::commands::trust;
use shown::{Section, is_wanted};

pub(super) fn run(cli: &Cli, names: &[String], watch: bool) -> Result<Ending, Trouble> {
    let loaded = start_nobody(cli)?;
    runtime::run(async {
        let (running, silent) = control::told_apart(control::running(&loaded.settings.state).await);
        silent.iter().for_each(|line| print::remark(&print::harmless(line)));
        match (running.is_empty(), silent.is_empty()) {
            (true, true) => return alone(cli, loaded, names).await,
            (true, false) => {
                if cli.json {
                    print_sections(&[], true)?;
                }
                return Ok(Ending::Failed);
            }
            (false, _) => {}
        }
        let sections: Vec<Section> = running.iter().map(|running| Section::of(running, names)).collect();
        check_names(&running, &sections, names)?;
        if watch {
            return watching::run(&loaded.settings.state, names, cli.json).await;
        }
        print_sections(&sections, cli.json)?;
        Ok(if silent.is_empty() { ending(&sections) } else { Ending::Failed })
    })?
}

/// Nobody is running: what is remembered of the servers.
async fn alone(cli: &Cli, loaded: Loaded, names: &[String]) -> Result<Ending, Trouble> {
    picked(&loaded, names)?;
    print::remark(
        "no Toolcrib is running; this is what is remembered, and `toolcrib mcp test` tries the servers",
    );
    trust::line(&loaded.held).iter().for_each(|line| print::remark(line));
    let crib = assemble(loaded.settings, Start::Never)?;
    crib.gate.catalog().settled().await;
    let upstreams = crib.upstreams.iter().filter(|upstream| is_wanted(upstream.name(), names));
    let reports: Vec<Value> = upstreams.map(|upstream| json!(upstream.status())).collect();
    crib.close().await;
    let sections = [Section::alone(&reports)];
    print_sections(&sections, cli.json)?;
    Ok(ending(&sections))
}

fn print_sections(sections: &[Section], json: bool) -> Result<(), Trouble> {
    let facts: Vec<Value> = sections.iter().map(Section::to_json).collect();
    let words: Vec<String> = sections.iter().map(|section| section.to_text(sections.len() > 1)).collect();
    print::found(json, &json!({ "toolcribs": facts }), &words.join("\n\n")).map(drop)
}

fn ending(sections: &[Section]) -> Ending {
    if sections.iter().all(Section::is_good) { Ending::Good } else { Ending::Failed }
}

/// Every name must be a server's in one of those that are running.
fn check_names(running: &[Running], sections: &[Section], names: &[String]) -> Result<(), Trouble> {
    let is_known = |name: &&String| sections.iter().any(|section| section.has(name));
    let Some(unknown) = names.iter().find(|name| !is_known(name)) else { return Ok(()) };
    let known = running.iter().flat_map(|running| &running.upstreams);
    let known = known.filter_map(|report| report["name"].as_str());
    let hint = nearest(unknown, known).map(|near| format!("did you mean `{near}`?"));
    let hint = hint.unwrap_or_else(|| "if it is new, run `toolcrib mcp reload`".to_owned());
    let said = format!("no running Toolcrib has a server `{unknown}`; {hint}");
    Err(unknown_server(said).into())
}
