//! `mcp import`: takes over the servers that other clients have configured, after showing them and asking.

mod carry_out;
mod moves;
mod show;

use std::path::Path;

use admin::import::Plan;
use config::{Draft, Loaded};
use daemon::administration;
use serde_json::json;
use terminal::{Ending, Trouble, print};

use super::ask;
use super::running::{self, RunningAnswers};
use crate::cli::{Cli, Import};
use crate::commands::load::{load, surroundings};
use crate::commands::trust;

pub(super) fn run(cli: &Cli, import: &Import) -> Result<Ending, Trouble> {
    if import.moves {
        return moves::run(cli, import);
    }
    let (named, surroundings) = (cli.config.as_deref(), surroundings(cli)?);
    let loaded = load(cli).ok();
    // With nothing else known, where we serve by default.
    let bind = loaded.as_ref().map_or(server::Config::default().bind, |loaded| loaded.settings.server.bind);
    let part = administration::import(named, &surroundings, bind)?;
    let (gathered, mut plan) = part.plan(&import.from)?;
    let mut report = serde_json::to_value(part.report(&gathered, &plan)).expect("a report has text for keys");
    let target = part.target.path();
    if !cli.json {
        print::foreign(&show::text(&gathered, &plan, target))?;
    }
    gathered.errors.iter().for_each(|error| print::remark(&print::harmless(error)));
    let wanted = !import.dry_run && !plan.add.is_empty();
    let refused = wanted && !import.yes && (cli.json || !ask::is_possible());
    if !wanted || refused || !(import.yes || choose(&mut plan, target)?) {
        plan.add.clear();
    }
    let draft = Draft::new(named, surroundings)?;
    let answers = add(cli, &draft, &plan, loaded.as_ref())?;
    if cli.json {
        report["added"] = plan.add.iter().map(|planned| planned.name.as_str()).collect();
        report["running"] = json!(answers.told);
        print::json(&report)?;
    } else if wanted && !refused {
        let done = match plan.add.len() {
            0 => "nothing was added".to_owned(),
            count => format!(
                "added {} to {}\nnow run `toolcrib mcp test` to see whether they work",
                print::counted(count, "server"),
                target.display()
            ),
        };
        print::line(&[vec![done], answers.lines].concat().join("\n"))?;
    }
    match (refused, gathered.errors.is_empty()) {
        (true, _) => Err(Trouble::Misused(
            "nothing was added, since nobody can be asked here; say --yes to add without asking".to_owned(),
        )),
        (false, true) => Ok(Ending::Good),
        (false, false) => Ok(Ending::Failed),
    }
}

/// Adds what is in the plan, and has the running Toolcribs take it up.
fn add(cli: &Cli, draft: &Draft, plan: &Plan, loaded: Option<&Loaded>) -> Result<RunningAnswers, Trouble> {
    if plan.add.is_empty() {
        return Ok(RunningAnswers::default());
    }
    let new: Vec<_> = plan.add.iter().map(|new| (new.name.as_str(), &new.server)).collect();
    draft.save(&new)?;
    trust::agree_to_written(cli, &new.iter().map(|(name, _)| *name).collect::<Vec<_>>())?;
    let answers = loaded.map(|loaded| running::reload(&loaded.settings.state));
    Ok(answers.transpose()?.unwrap_or_default())
}

/// Asks which of them to add; leaves those in the plan. Whether there are any.
fn choose(plan: &mut Plan, target: &Path) -> Result<bool, Trouble> {
    let what = format!("add {} to {}?", print::counted(plan.add.len(), "server"), target.display());
    let answer = ask::ask(&format!("{what} [y]es, [N]o, [c]hoose"))?.unwrap_or_default().to_lowercase();
    match answer.as_str() {
        "y" | "yes" => Ok(true),
        "c" | "choose" => {
            let mut chosen = Vec::new();
            for planned in std::mem::take(&mut plan.add) {
                if ask::confirm(&print::harmless(&format!("add {}?", planned.name)))? {
                    chosen.push(planned);
                }
            }
            plan.add = chosen;
            Ok(!plan.add.is_empty())
        }
        _ => Ok(false),
    }
}
