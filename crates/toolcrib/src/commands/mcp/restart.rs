//! `mcp restart`: every running Toolcrib ends its connection to a server, and makes another.

use serde_json::json;
use terminal::{Ending, Trouble};

use super::running;
use crate::cli::Cli;
use crate::commands::start::start_nobody;

pub(super) fn run(cli: &Cli, name: &str) -> Result<Ending, Trouble> {
    let loaded = start_nobody(cli)?;
    let answers = running::reconnect(&loaded, name)?;
    if answers.lines.is_empty() {
        let what = "no Toolcrib is running on this state folder; the next one starts the server anew anyway";
        return Err(Trouble::Failed(what.to_owned()));
    }
    answers.print(cli.json, json!({ "name": name }), Vec::new())?;
    Ok(Ending::Good)
}
