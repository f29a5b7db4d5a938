//! `stdio`: one client on standard input and output, which gets nothing there but protocol.

mod greeting;

use std::path::PathBuf;
use std::sync::Arc;

use config::Loaded;
use daemon::administration;
use daemon::control::{Control, Desk, Neighbours, Opening, Reloader};
use daemon::front::{self, Alone, Heir};
use daemon::person;
use daemon::resident::{Door, GreetWith};
use daemon::upstreams::Start;
use server::{Greeting, Server};
use terminal::runtime;
use terminal::signals::Signals;
use terminal::{Ending, Trouble};

use super::start::{Asking, Log, start};
use crate::cli::{Cli, Serving};
use greeting::FolderGreeting;

/// What others are told of where its client comes in.
const DOOR: &str = "stdio";

pub(super) fn run(cli: &Cli, serving: Serving) -> Result<Ending, Trouble> {
    let loaded = start(cli, Log::AsConfigured, Asking::Nobody)?;
    // Each way in a box of its own, so that none has room for the others while it serves.
    runtime::run(async {
        // A terminal or a file is nobody's but this process's to read.
        if !serving.standalone && front::can_hand_over() {
            let signals = Signals::listen()?;
            match Box::pin(front::attach(&loaded, cli.config.clone(), Door::Stdio)).await? {
                Ok(front) => return Box::pin(front.stay(signals, None)).await,
                Err(Alone(why)) => tracing::warn!(why, "this client is served by a process of its own"),
            }
        }
        Box::pin(alone(loaded, cli.config.clone())).await
    })??;
    Ok(Ending::Good)
}

async fn alone(loaded: Loaded, named: Option<PathBuf>) -> Result<(), Trouble> {
    let signals = Signals::listen()?;
    let greet = greet(&loaded);
    let heir = Heir::of(&loaded, named.clone());
    let reloader = Reloader::assembled(loaded, named, Start::WhenWanted)?;
    let crib = reloader.crib().clone();
    let of_clients = crib.shared.state.clone();
    crib.gate.approvals().ask_clients_if(Box::new(move |askers| person::is_at_client(&of_clients, askers)));
    let greeting = greet(&reloader);
    let desk = Desk::new(DOOR, reloader.clone());
    let control = Control::open(&crib.shared.state, desk, Opening::Later).await;
    let server = Server::new(crib.gate.clone(), crib.instructions.clone());
    let served = server::stdio::serve(server, greeting, signals.stop()).await;
    control.close().await;
    crib.close().await;
    if let Some(workspace) = crib.gate.workspace()
        && crib.shared.jobs.has_left(workspace).await
    {
        hand_over_jobs(heir, &reloader).await;
    }
    served.map_err(|error| Trouble::Failed(format!("standard input or output failed: {error}")))
}

/// Has the user's process run the jobs that are left. They are kept all the same, so no trouble is one of the client's.
async fn hand_over_jobs(heir: Heir, reloader: &Reloader) {
    let why = match heir.take_over_jobs(reloader).await {
        Ok(Ok(_)) => return,
        Ok(Err(Alone(why))) => why,
        Err(trouble) => trouble.to_string(),
    };
    tracing::warn!(why, "the jobs that are left wait until a Toolcrib serves this folder");
}

/// What the person behind a client is asked about what the folder declares.
pub(crate) fn greet(loaded: &Loaded) -> GreetWith {
    let folders = administration::folders(loaded, Neighbours::on(&loaded.settings.state));
    let held = loaded.held.clone();
    Box::new(move |reloader| {
        let greeting = FolderGreeting::new(&held, Arc::new(folders), reloader);
        greeting.map(|greeting| Arc::new(greeting) as Arc<dyn Greeting>)
    })
}
