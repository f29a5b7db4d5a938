//! `serve`: MCP over HTTP, for any number of clients, until somebody stops it.

mod banner;

use std::net::SocketAddr;
use std::path::PathBuf;

use gate::Cancel;
use server::{Server, http, unix};

use super::start::{Asking, Log, start};
use crate::assemble::identity;
use crate::cli::Cli;
use crate::config::Loaded;
use crate::control::{Control, Desk, Opening, Reloader};
use crate::ending::{Ending, Trouble};
use crate::log::Format;
use crate::signals::{Hangup, Hangups, Signals};
use crate::upstreams::Start;
use crate::{open_files, print, runtime};
use banner::Banner;

pub(super) fn run(cli: &Cli) -> Result<Ending, Trouble> {
    let loaded = start(cli, Log::AsConfigured, Asking::Here)?;
    open_files::raise_limit();
    runtime::run(serve(loaded, cli.config.clone()))??;
    Ok(Ending::Good)
}

async fn serve(loaded: Loaded, named: Option<PathBuf>) -> Result<(), Trouble> {
    let (signals, mut hangups) = (Signals::listen()?, Hangups::listen()?);
    let config = loaded.settings.server.clone();
    // Before anything is started: an address in use is the most common mistake.
    let identity = identity(&loaded.settings);
    let listener = http::bind(&config, &identity).await.map_err(Trouble::because)?;
    let socket = match &config.socket {
        Some(path) => Some(unix::bind(path).await.map_err(Trouble::because)?),
        None => None,
    };
    let banner = Banner::new(&loaded, listener.local_addr()?, identity.is_open().await.ok());
    let format = loaded.settings.log.format;
    let reloader = Reloader::assembled(loaded, named, Some(identity.clone()), Start::AtOnce)?;
    let crib = reloader.crib();
    let desk = Desk::new(banner.url(), reloader.clone());
    // Whoever reads the banner may ask at once.
    let control = Control::open(&crib.state, desk, Opening::AtOnce).await;
    announce(&banner, format);
    let server = Server::new(crib.gate.clone(), crib.instructions.clone());
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
    let on_socket = async {
        if let Some(socket) = socket {
            unix::serve(server.clone(), socket, stopping.cancelled()).await;
        }
    };
    let named = reloader.named_workspaces();
    let on_http =
        http::serve(server.clone(), named.clone(), identity, listener, &config, stopping.cancelled());
    tokio::join!(on_signal, on_hangup, on_http, on_socket);
    control.close().await;
    named.end().await;
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

/// Says where it serves, in the form of the log.
fn announce(banner: &Banner, format: Format) {
    match format {
        Format::Text => print::banner(&banner.to_string()),
        Format::Json => tracing::info!(url = banner.url(), "serving"),
    }
}

/// The endpoint at an address.
fn url(address: SocketAddr) -> String {
    format!("http://{address}{}", http::PATH)
}
