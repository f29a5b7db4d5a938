//! `mcp set`: changes what the configuration says of a server, and the Toolcribs that are running take it up.

use serde_json::json;
use terminal::{Ending, Trouble};

use super::running;
use crate::cli::Cli;
use crate::commands::load::surroundings;
use crate::commands::start::start_nobody;

pub(super) fn run(cli: &Cli, name: &str, values: &[String]) -> Result<Ending, Trouble> {
    let file = config::set_server(cli.config.as_deref(), &surroundings(cli)?, name, values)?;
    let loaded = start_nobody(cli)?;
    let answers = running::reload(&loaded.settings.state)?;
    let file = file.display().to_string();
    let lines = vec![format!("{name}: {} in {file}", values.join(", "))];
    answers.print(cli.json, json!({ "name": name, "file": file, "set": values }), lines)?;
    Ok(Ending::Good)
}
