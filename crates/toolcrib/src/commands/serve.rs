//! `serve`: MCP over HTTP, for any number of clients, until somebody stops it.

use std::path::PathBuf;

use config::Loaded;
use daemon::control::{Control, Desk, Opening, Reloader};
use daemon::front::{self, Alone};
use daemon::http_door::HttpDoor;
use daemon::resident::Door;
use daemon::upstreams::Start;
use gate::Cancel;
use terminal::signals::{Hangup, Hangups, Signals};
use terminal::{Ending, Trouble, open_files, print, runtime};

use super::start::{Asking, Log, start};
use crate::cli::{Cli, Serving};

pub(super) fn run(cli: &Cli, serving: Serving) -> Result<Ending, Trouble> {
    let loaded = start(cli, Log::AsConfigured, Asking::Here)?;
    runtime::run(async {
        if !serving.standalone {
            let (signals, hangups) = (Signals::listen()?, Hangups::listen()?);
            match front::attach(&loaded, cli.config.clone(), Door::Http).await? {
                Ok(front) => return front.stay(signals, Some(hangups)).await,
                Err(Alone(why)) => tracing::warn!(why, "this address is served by a process of its own"),
            }
        }
        open_files::raise_limit();
        alone(loaded, cli.config.clone()).await
    })??;
    Ok(Ending::Good)
}

async fn alone(loaded: Loaded, named: Option<PathBuf>) -> Result<(), Trouble> {
    let (signals, mut hangups) = (Signals::listen()?, Hangups::listen()?);
    // Before anything is started.
    let door = HttpDoor::bind(&loaded.settings).await?;
    let announcement = door.announcement(&loaded).await?;
    let reloader = Reloader::assembled(loaded, named, Start::AtOnce)?;
    let crib = reloader.crib();
    let desk = Desk::new(&announcement.url, reloader.clone());
    // Whoever reads the banner may ask at once.
    let control = Control::open(&crib.shared.state, desk, Opening::AtOnce).await;
    announcement.say(print::banner);
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
