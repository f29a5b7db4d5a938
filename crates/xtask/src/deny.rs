//! What dependencies may be, by `deny.toml`: always licences, bans and sources, and advisories where they can be had.

use std::time::Duration;

use anyhow::Context as _;

use crate::checkout::Checkout;
use crate::watched::{self, End};
use crate::{install, step};

/// The database is a few megabytes; where the network has not brought it by then, it will not.
const FETCH_TIME_MAX: Duration = Duration::from_secs(60);

pub(crate) fn run(checkout: &Checkout) -> anyhow::Result<()> {
    let deny = install::cargo_tool(checkout, &install::pins::CARGO_DENY)?;
    step::run(&mut checkout.command(&deny, &["--locked", "check", "licenses", "bans", "sources"]))?;
    if fetched(checkout, &deny)? {
        step::run(&mut checkout.command(&deny, &["--locked", "check", "--disable-fetch", "advisories"]))
    } else {
        println!("advisories were not looked at: their database could not be fetched");
        Ok(())
    }
}

/// Whether the advisories of today are there.
fn fetched(checkout: &Checkout, deny: &str) -> anyhow::Result<bool> {
    let folder = tempfile::tempdir().context("no temporary folder")?;
    let mut fetch = checkout.command(deny, &["--locked", "fetch", "db"]);
    // Nobody is there to be asked for a password.
    fetch.env("GIT_TERMINAL_PROMPT", "0");
    let end = watched::run(&mut fetch, &folder.path().join("output"), FETCH_TIME_MAX)?;
    Ok(matches!(end, End::Exited(status) if status.success()))
}
