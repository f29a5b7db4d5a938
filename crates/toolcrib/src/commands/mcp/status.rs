//! `mcp status`: how the servers of every running Toolcrib are doing, now or with every change; without one, what is
//! remembered of them. Nothing is started.

mod shown;
mod watching;

use admin::servers::{Status, ToolcribStatus};
use admin::{By, Operation as _};
use daemon::administration;
use daemon::control::Neighbours;
use terminal::paint::{Painted, Words as _};
use terminal::times::now_ms;
use terminal::{Ending, Trouble, print};

use crate::cli::Cli;
use crate::commands::start::start_nobody;
use crate::commands::trust;
use shown::{are_good, to_text};

pub(super) fn run(cli: &Cli, names: &[String], watch: bool) -> Result<Ending, Trouble> {
    let loaded = start_nobody(cli)?;
    let running = Neighbours::on(&loaded.settings.state);
    let part = administration::servers(&loaded, running.clone());
    let report = Status { servers: names.to_vec() }.perform(&part, &By::owner())?;
    report.silent.iter().for_each(|line| print::remark(&print::harmless(line)));
    let toolcribs = &report.toolcribs;
    let is_alone = toolcribs.iter().all(|one| one.pid.is_none());
    if is_alone && report.silent.is_empty() {
        print::remark(
            "no Toolcrib is running; this is what is remembered, and `toolcrib mcp test` tries the servers",
        );
        trust::line(&loaded.held).iter().for_each(|line| print::remark(line));
    } else if watch && !is_alone {
        return watching::run(&*running, names, cli.json);
    }
    let text = |one: &ToolcribStatus| to_text(one, toolcribs.len() > 1, now_ms());
    let apart = |words: Option<Painted>, one| {
        Some(words.map_or(text(one), |words| words.and("\n\n".painted()).and(text(one))))
    };
    let words = toolcribs.iter().fold(None, apart).unwrap_or_default();
    if cli.json || !toolcribs.is_empty() {
        print::found(cli.json, &report, &words)?;
    }
    let is_good = report.silent.is_empty() && toolcribs.iter().all(are_good);
    Ok(if is_good { Ending::Good } else { Ending::Failed })
}
