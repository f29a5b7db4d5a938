//! `mcp remove`: takes a server out of the files it stands in. What is kept of it stays, so that it can be added again,
//! unless it is to be purged.

use std::path::Path;

use admin::servers::no_server;
use config::{Loaded, files_of_server};
use oauth::Session;
use serde_json::json;
use store::{DefinitionStore as _, Kind, remove as remove_cell};
use terminal::{Ending, Trouble, print, runtime};
use upstream::{Settings, Upstream};

use super::running;
use super::servers::{named, world};
use crate::cli::Cli;
use crate::commands::load::surroundings;
use crate::commands::start::{Asking, Log, start};

pub(super) fn run(cli: &Cli, name: &str, purge: bool) -> Result<Ending, Trouble> {
    let surroundings = surroundings(cli)?;
    let files = files_of_server(cli.config.as_deref(), &surroundings, name)?;
    // A server may be removed because it is what is wrong with the configuration; but what is to be purged has to be
    // known.
    let loaded = start(cli, Log::Quiet, Asking::Nobody);
    let loaded = if purge || files.is_empty() { Some(loaded?) } else { loaded.ok() };
    if let (true, Some(loaded)) = (files.is_empty(), &loaded) {
        return Err(no_server(&loaded.settings.upstreams, name).into());
    }
    // All of them can be changed, or none is.
    for file in &files {
        without(file, &config::hold(file).map_err(Trouble::Failed)?, name)?;
    }
    let purged = match &loaded {
        Some(loaded) if purge => Some(runtime::run(forget(loaded, named(loaded, name)?))??),
        _ => None,
    };
    for file in &files {
        let held = config::hold(file).map_err(Trouble::Failed)?;
        held.write(&without(file, &held, name)?).map_err(Trouble::Failed)?;
    }
    let answers = match &loaded {
        Some(loaded) => running::reload(&loaded.settings.state)?,
        None => running::RunningAnswers::default(),
    };
    let mut settings = loaded.iter().flat_map(|loaded| &loaded.settings.upstreams);
    let kept = match settings.find(|settings| settings.name() == name) {
        Some(settings) if settings.address().is_none() => "its remembered definitions",
        _ => "its sign-in and its remembered definitions",
    };
    let mut lines: Vec<String> =
        files.iter().map(|file| format!("{name}: removed from {}", file.display())).collect();
    lines.push(match purged {
        Some(()) => format!("{kept} are forgotten"),
        None => format!("{kept} are kept; --purge forgets them, too"),
    });
    let files: Vec<_> = files.iter().map(|file| file.display().to_string()).collect();
    let did = json!({ "name": name, "files": files, "purged": purged.is_some() });
    answers.print(cli.json, did, lines)?;
    Ok(Ending::Good)
}

/// The file's text without the server.
fn without(file: &Path, held: &config::Held, name: &str) -> Result<String, Trouble> {
    let refused = |why: String| Trouble::Failed(format!("{}: {why}; nothing was changed", file.display()));
    let text = held.text().map_err(Trouble::Failed)?;
    let text = config::remove_server(&text, name).map_err(refused)?;
    text.ok_or_else(|| refused(format!("it has no server `{name}` any more")))
}

/// Forgets everything that is kept of a server.
async fn forget(loaded: &Loaded, settings: &Settings) -> Result<(), Trouble> {
    let world = world(loaded)?;
    let upstream = Upstream::new(settings.clone(), world.clone());
    if let Some(account) = upstream.account() {
        // Where it cannot be given back it is forgotten all the same.
        if let Err(error) = account.sign_out().await {
            print::remark(&print::harmless(&format!("{}: {error}", settings.name())));
        }
        account.forget().await.map_err(Trouble::because)?;
    }
    // What has no account any more may have had one.
    Session::forget_all(settings.name(), &*world.keeper).await.map_err(Trouble::because)?;
    let store = loaded.settings.kept.store();
    store.forget_definitions(settings.name()).await.map_err(Trouble::because)?;
    remove_cell(&**store, Kind::Pin, &settings.trust_key()).await.map(drop).map_err(Trouble::because)
}
