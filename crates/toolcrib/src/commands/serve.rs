//! `serve`: MCP over HTTP, for any number of clients, until somebody stops it.

use std::path::Path;

use config::Loaded;
use daemon::control::{Control, Desk, Neighbours, Opening, Reloader};
use daemon::front::{self, Alone};
use daemon::http_door::{HttpDoor, print_address};
use daemon::resident::Door;
use daemon::upstreams::Start;
use gate::Cancel;
use terminal::signals::{Hangup, Hangups, Signals};
use terminal::{Ending, Trouble, open_files, runtime};

use super::start::{Asking, Log, start};
use super::{audit, waiting};
use crate::cli::{Cli, Serving};

pub(super) fn run(cli: &Cli, serving: Serving) -> Result<Ending, Trouble> {
    let loaded = start(cli, Log::AsConfigured, Asking::Here)?;
    if !cli.json && waiting::is_seen() {
        // Without an audit log no call runs, and each is told why.
        let _ = audit::tell_calls(&loaded.settings);
    }
    let (state, server) = (loaded.settings.state.clone(), loaded.settings.server.clone());
    let served = runtime::run(serve(cli, serving, loaded))?;
    served.map_err(|trouble| with_holder(trouble, &state, &server))?;
    Ok(Ending::Good)
}

/// Each way in a box of its own, so that none has room for the others while it serves.
async fn serve(cli: &Cli, serving: Serving, loaded: Loaded) -> Result<(), Trouble> {
    if !serving.standalone {
        let (signals, hangups) = (Signals::listen()?, Hangups::listen()?);
        match Box::pin(front::attach(&loaded, cli.config.clone(), Door::Http)).await? {
            Ok(mut front) => {
                front.is_json = cli.json;
                return Box::pin(front.stay(signals, Some(hangups))).await;
            }
            Err(Alone(why)) => tracing::warn!(why, "this address is served by a process of its own"),
        }
    }
    open_files::raise_limit();
    Box::pin(alone(cli, loaded)).await
}

/// Who of ours has the address that is taken, if it is one that runs on this state folder.
fn with_holder(trouble: Trouble, state: &Path, server: &server::Config) -> Trouble {
    if !trouble.to_string().contains("is in use by another program") {
        return trouble;
    }
    let (bind, served) = (server.bind, server.url(server.bind));
    let holder = Neighbours::on(state).status().unwrap_or_default().into_iter().find_map(|answered| {
        let holder = answered.answer.ok().filter(|one| one.door.starts_with(&served))?;
        Some(format!(
            "{bind} is in use: Toolcrib serves at {} already, in process {}",
            holder.door, holder.pid
        ))
    });
    match holder {
        Some(holder) => Trouble::Failed(format!(
            "{holder}: clients can use that; `toolcrib stop` ends it, and --port takes another port"
        )),
        None => trouble,
    }
}

async fn alone(cli: &Cli, loaded: Loaded) -> Result<(), Trouble> {
    let (signals, mut hangups) = (Signals::listen()?, Hangups::listen()?);
    // Before anything is started.
    let door = HttpDoor::bind(&loaded.settings).await?;
    let announcement = door.announcement(&loaded).await?;
    let reloader = Reloader::assembled(loaded, cli.config.clone(), Start::AtOnce)?;
    let crib = reloader.crib();
    let desk = Desk::new(&announcement.url, reloader.clone());
    // Whoever reads the banner may ask at once.
    let control = Control::open(&crib.shared.state, desk, Opening::AtOnce).await;
    announcement.say(|url, text| print_address(cli.json, url, text));
    let stopping = Cancel::new();
    let on_signal = async {
        tokio::select! {
            () = signals.stop() => stopping.cancel(),
            () = stopping.cancelled() => {}
        }
    };
    let on_hangup = async {
        while let Some(hangup) = until(&stopping, hangups.next()).await {
            match hangup {
                // How it went is in the log.
                Hangup::Reload => drop(until(&stopping, reloader.reload()).await),
                Hangup::TerminalGone => stopping.cancel(),
            }
        }
    };
    tokio::join!(on_signal, on_hangup, door.serve(&reloader, &stopping));
    control.close().await;
    reloader.named_workspaces().end().await;
    crib.close().await;
    Ok(())
}

/// What the work comes to, unless the program is to stop before that.
async fn until<T>(stopping: &Cancel, work: impl Future<Output = T>) -> Option<T> {
    tokio::select! {
        done = work => Some(done),
        () = stopping.cancelled() => None,
    }
}
