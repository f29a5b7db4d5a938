//! `mcp import`: takes over the servers that other clients have configured, after showing them and asking.

mod carry_out;
mod moves;
mod scorpiox;
mod show;

use std::path::Path;

use admin::import::{Gathered, Grown, ImportPart, Plan, Taken};
use config::{Draft, Loaded};
use daemon::administration;
use serde_json::json;
use terminal::{Ending, Trouble, print};

use super::ask;
use super::running;
use crate::cli::{Cli, Import};
use crate::commands::load::{load, surroundings};
use crate::commands::trust;

pub(in crate::commands) use scorpiox::run as run_scorpiox;

pub(super) fn run(cli: &Cli, import: &Import) -> Result<Ending, Trouble> {
    if import.moves {
        return moves::run(cli, import);
    }
    let (named, surroundings) = (cli.config.as_deref(), surroundings(cli)?);
    let loaded = load(cli).ok();
    // With nothing else known, where we serve by default.
    let bind = loaded.as_ref().map_or(server::Config::default().bind, |loaded| loaded.settings.server.bind);
    let part = administration::import(named, &surroundings, bind)?;
    let found = part.plan(&import.from)?;
    let how = How { dry_run: import.dry_run, yes: import.yes };
    let draft = Draft::new(named, surroundings)?;
    take_over(cli, how, &part, &draft, loaded.as_ref(), (found.0, found.1, Taken::default()))
}

/// How far an import goes.
#[derive(Debug, Clone, Copy)]
struct How {
    /// Not further than showing it.
    dry_run: bool,
    /// As far as writing, without asking.
    yes: bool,
}

/// Shows what was found, asks, and writes it.
fn take_over(
    cli: &Cli,
    how: How,
    part: &ImportPart,
    draft: &Draft,
    loaded: Option<&Loaded>,
    (gathered, mut plan, mut taken): (Gathered, Plan, Taken),
) -> Result<Ending, Trouble> {
    let mut report = serde_json::to_value(part.report(&gathered, &plan)).expect("a report has text for keys");
    report["settings"] = json!(taken.lists);
    report["left"] = json!(taken.told);
    let target = part.target.path();
    if !cli.json {
        print::foreign(&show::text(&gathered, &plan, &taken, target))?;
    }
    gathered.errors.iter().for_each(|error| print::remark(&print::harmless(error)));
    let is_empty = plan.add.is_empty() && taken.lists.is_empty();
    let wanted = !how.dry_run && !is_empty;
    let refused = wanted && !how.yes && (cli.json || !ask::is_possible());
    if !wanted || refused || !(how.yes || choose(&mut plan, &mut taken, target)?) {
        plan.add.clear();
        taken.lists.clear();
    }
    write(cli, draft, &plan, &taken)?;
    let is_written = !(plan.add.is_empty() && taken.lists.is_empty());
    let answers = loaded.filter(|_| is_written).map(|loaded| running::reload(&loaded.settings.state));
    let answers = answers.transpose()?.unwrap_or_default();
    if cli.json {
        report["added"] = plan.add.iter().map(|planned| planned.name.as_str()).collect();
        report["set"] = taken.lists.iter().map(Grown::path).collect();
        report["running"] = json!(answers.told);
        print::json(&report)?;
    } else if wanted && !refused {
        print::line(&[done(&plan, &taken, target), answers.lines].concat().join("\n"))?;
    }
    match (refused, gathered.errors.is_empty()) {
        (true, _) => Err(Trouble::Misused(
            "nothing was added, since nobody can be asked here; say --yes to add without asking".to_owned(),
        )),
        (false, true) => Ok(Ending::Good),
        (false, false) => Ok(Ending::Failed),
    }
}

fn done(plan: &Plan, taken: &Taken, target: &Path) -> Vec<String> {
    let target = target.display();
    let mut done: Vec<String> =
        taken.lists.iter().map(|list| format!("set {} in {target}", list.path())).collect();
    if !plan.add.is_empty() {
        done.push(format!("added {} to {target}", print::counted(plan.add.len(), "server")));
        done.push("now run `toolcrib mcp test` to see whether they work".to_owned());
    }
    if done.is_empty() {
        done.push("nothing was added".to_owned());
    }
    done
}

/// Writes what is left of it into the configuration.
fn write(cli: &Cli, draft: &Draft, plan: &Plan, taken: &Taken) -> Result<(), Trouble> {
    if !taken.lists.is_empty() {
        draft.grow(&taken.lists)?;
    }
    if plan.add.is_empty() {
        return Ok(());
    }
    let new: Vec<_> = plan.add.iter().map(|new| (new.name.as_str(), &new.server)).collect();
    draft.save(&new)?;
    trust::agree_to_written(cli, &new.iter().map(|(name, _)| *name).collect::<Vec<_>>())
}

/// Asks what to add; leaves that. Whether there is any.
fn choose(plan: &mut Plan, taken: &mut Taken, target: &Path) -> Result<bool, Trouble> {
    let what = show::counted(plan, taken).unwrap_or_default();
    let question = format!("add {what} to {}? [y]es, [N]o, [c]hoose", target.display());
    match ask::ask(&question)?.unwrap_or_default().to_lowercase().as_str() {
        "y" | "yes" => return Ok(true),
        "c" | "choose" => {}
        _ => return Ok(false),
    }
    plan.add = ask::chosen(std::mem::take(&mut plan.add), |planned| format!("add {}?", planned.name))?;
    let lists = std::mem::take(&mut taken.lists);
    taken.lists = ask::chosen(lists, |list| format!("set {} ({})?", list.path(), list.from))?;
    Ok(!(plan.add.is_empty() && taken.lists.is_empty()))
}
