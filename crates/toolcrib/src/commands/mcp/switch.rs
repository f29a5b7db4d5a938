//! `mcp enable` and `mcp disable`: a server stays in the configuration, and is used or left alone.

use admin::servers::no_server;
use serde_json::json;
use terminal::{Ending, Trouble};

use super::running;
use crate::cli::Cli;
use crate::commands::load::surroundings;
use crate::commands::start::start_nobody;

pub(super) fn run(cli: &Cli, name: &str, enabled: bool) -> Result<Ending, Trouble> {
    let loaded = start_nobody(cli)?;
    let upstreams = &loaded.settings.upstreams;
    if !upstreams.iter().any(|settings| settings.name() == name) {
        return Err(no_server(upstreams, name).into());
    }
    let values = [format!("enabled={enabled}")];
    let file = config::set_server(cli.config.as_deref(), &surroundings(cli)?, name, &values)?;
    let answers = running::reload(&loaded.settings.state)?;
    let (done, file) = (if enabled { "enabled" } else { "disabled" }, file.display().to_string());
    let did = json!({ "name": name, "file": file, "enabled": enabled });
    answers.print(cli.json, did, vec![format!("{name}: {done} in {file}")])?;
    Ok(Ending::Good)
}
