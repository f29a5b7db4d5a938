//! `mcp logs`: what a server's program last wrote on its stderr, in each Toolcrib that runs it.

use admin::servers::Stderr;
use admin::{By, Operation as _};
use daemon::administration;
use daemon::control::Neighbours;
use terminal::{Ending, Trouble, print};

use crate::cli::Cli;
use crate::commands::start::start_nobody;

pub(super) fn run(cli: &Cli, name: &str) -> Result<Ending, Trouble> {
    let loaded = start_nobody(cli)?;
    let part = administration::servers(&loaded, Neighbours::on(&loaded.settings.state));
    let found = Stderr { server: name.to_owned() }.perform(&part, &By::owner())?;
    if found.running.is_empty() && !cli.json {
        let what = format!(
            "no running Toolcrib has it; `toolcrib mcp test {name}` starts it and says what is wrong"
        );
        return Err(Trouble::Failed(what));
    }
    let several = found.running.len() > 1;
    let text = |one: &admin::servers::StderrOf| match (several, one.text.is_empty()) {
        (_, true) => format!("process {}: it has written nothing", one.pid),
        (true, false) => format!("process {}:\n{}", one.pid, one.text),
        (false, false) => one.text.clone(),
    };
    print::found(cli.json, &found, &found.running.iter().map(text).collect::<Vec<_>>().join("\n"))
}
