//! `serve`: MCP over HTTP, for any number of clients, until somebody stops it.

mod banner;

use std::net::SocketAddr;

use gate::Cancel;
use server::{Server, http, unix};

use super::{Log, start};
use crate::assemble::assemble;
use crate::cli::Cli;
use crate::config::Loaded;
use crate::ending::{Ending, Trouble};
use crate::log::Format;
use crate::signals::Signals;
use crate::upstreams::Start;
use crate::{open_files, print, runtime};
use banner::Banner;

pub(super) fn run(cli: &Cli) -> Result<Ending, Trouble> {
    let loaded = start(cli, Log::AsConfigured)?;
    open_files::raise_limit();
    runtime::run(serve(loaded))??;
    Ok(Ending::Good)
}

async fn serve(loaded: Loaded) -> Result<(), Trouble> {
    let signals = Signals::listen()?;
    let config = loaded.settings.server.clone();
    // Before anything is started: an address in use is the most common mistake.
    let listener = http::bind(&config).await.map_err(Trouble::because)?;
    let socket = match &config.socket {
        Some(path) => Some(unix::bind(path).await.map_err(Trouble::because)?),
        None => None,
    };
    let banner = Banner::new(&loaded, listener.local_addr()?);
    let format = loaded.settings.log.format;
    let crib = assemble(loaded.settings, Start::AtOnce)?;
    announce(&banner, format);
    let server = Server::new(crib.gate.clone(), None);
    let stopping = Cancel::new();
    let on_signal = async {
        signals.stop().await;
        stopping.cancel();
    };
    let on_socket = async {
        if let Some(socket) = socket {
            unix::serve(server.clone(), socket, stopping.cancelled()).await;
        }
    };
    tokio::join!(on_signal, http::serve(server.clone(), listener, &config, stopping.cancelled()), on_socket);
    crib.close().await;
    Ok(())
}

/// Says where it serves, in the form of the log.
fn announce(banner: &Banner, format: Format) {
    match format {
        Format::Text => print::remark(&banner.to_string()),
        Format::Json => tracing::info!(url = banner.url(), "serving"),
    }
}

/// The endpoint at an address.
fn url(address: SocketAddr) -> String {
    format!("http://{address}{}", http::PATH)
}
