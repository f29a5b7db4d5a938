//! `serve`: MCP over HTTP, for any number of clients, until somebody stops it.

mod banner;

use std::net::SocketAddr;

use server::{Server, http};

use super::{Log, start};
use crate::assemble::assemble;
use crate::cli::Cli;
use crate::config::Loaded;
use crate::ending::{Ending, Trouble};
use crate::log::Format;
use crate::signals::Signals;
use crate::upstreams::Start;
use crate::{print, runtime};
use banner::Banner;

pub(super) fn run(cli: &Cli) -> Result<Ending, Trouble> {
    let loaded = start(cli, Log::AsConfigured)?;
    runtime::run(serve(loaded))??;
    Ok(Ending::Good)
}

async fn serve(loaded: Loaded) -> Result<(), Trouble> {
    let signals = Signals::listen()?;
    // Before anything is started: an address in use is the most common mistake.
    let listener = http::bind(&loaded.settings.server).await.map_err(Trouble::because)?;
    let banner = Banner::new(&loaded, listener.local_addr()?);
    let format = loaded.settings.log.format;
    let crib = assemble(loaded.settings, Start::AtOnce)?;
    announce(&banner, format);
    http::serve(Server::new(crib.gate.clone(), None), listener, signals.stop()).await;
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
