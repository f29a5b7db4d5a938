//! `mcp test`: connects to servers, lists what they have, times each step, and says what is wrong and what to try.

mod probe;
mod programs;
mod sandbox;

use admin::servers::NO_SERVERS;
use futures_util::future::join_all;
use serde_json::json;
use terminal::paint::Painted;
use terminal::signals::unless_stopped;
use terminal::{Ending, Trouble, print, runtime};
use upstream::Settings;

use super::servers::{picked, pinned_world};
use crate::cli::Cli;
use crate::commands::misplaced::misplaced;
use crate::commands::start::{Asking, Log, start};

pub(super) use probe::{Tested, probe};

pub(super) fn run(cli: &Cli, names: &[String]) -> Result<Ending, Trouble> {
    let loaded = start(cli, Log::Quiet, Asking::Here)?;
    let picked = picked(&loaded, names)?;
    // Whoever names a disabled server is told that it is disabled.
    let (picked, skipped): (Vec<&Settings>, Vec<_>) =
        picked.into_iter().partition(|settings| settings.enabled || !names.is_empty());
    runtime::run(async {
        let world = pinned_world(&loaded)?;
        let tests = picked.iter().map(|settings| probe(settings, world.clone()));
        let mut tested = unless_stopped(join_all(tests)).await?;
        for (tested, &settings) in tested.iter_mut().zip(&picked) {
            tested.remember(&loaded, settings);
            tested.misplaced(misplaced(settings, &loaded.settings));
        }
        let skipped: Vec<&str> = skipped.iter().map(|settings| settings.name()).collect();
        let servers: Vec<_> = tested.iter().map(Tested::to_json).collect();
        let facts = json!({ "servers": servers, "disabled": skipped });
        print::found(cli.json, &facts, &Painted::states(&pages(&tested, &skipped)))?;
        Ok(if tested.iter().all(Tested::is_good) { Ending::Good } else { Ending::Failed })
    })?
}

fn pages(tested: &[Tested], skipped: &[&str]) -> String {
    let mut pages: Vec<String> = tested.iter().map(Tested::lines).collect();
    if !skipped.is_empty() {
        pages.push(format!("disabled, and not tested: {}", skipped.join(", ")));
    }
    if pages.is_empty() {
        pages.push(NO_SERVERS.to_owned());
    }
    pages.join("\n\n")
}
