//! `mcp logout`: forgets the sign-in to a server, here and in the Toolcribs that are running.

use serde_json::json;
use terminal::{Ending, Trouble, runtime};
use upstream::Upstream;

use super::auth::no_account;
use super::running;
use super::servers::{named, world};
use crate::cli::Cli;
use crate::commands::start::{Asking, Log, start};

pub(super) fn run(cli: &Cli, name: &str) -> Result<Ending, Trouble> {
    let loaded = start(cli, Log::Quiet, Asking::Nobody)?;
    let settings = named(&loaded, name)?;
    let was_signed_in = runtime::run(async {
        let upstream = Upstream::new(settings.clone(), world(&loaded)?);
        let account = upstream.account().ok_or_else(|| no_account(settings))?;
        account.sign_out().await.map_err(Trouble::because)
    })??;
    let answers = running::reconnect(&loaded, name)?;
    let line = match was_signed_in {
        true => format!("{name}: signed out; what was kept of the sign-in is gone"),
        false => format!("{name}: there was no sign-in"),
    };
    answers.print(cli.json, json!({ "name": name, "was_signed_in": was_signed_in }), vec![line])?;
    Ok(Ending::Good)
}
