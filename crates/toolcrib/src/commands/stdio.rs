//! `stdio`: one client on standard input and output, which gets nothing there but protocol.

use server::Server;

use super::{Log, start};
use crate::assemble::assemble;
use crate::cli::Cli;
use crate::ending::{Ending, Trouble};
use crate::runtime;
use crate::signals::Signals;
use crate::upstreams::Start;

pub(super) fn run(cli: &Cli) -> Result<Ending, Trouble> {
    let loaded = start(cli, Log::AsConfigured)?;
    runtime::run(async {
        let signals = Signals::listen()?;
        let crib = assemble(loaded.settings, Start::WhenWanted)?;
        let served = server::stdio::serve(Server::new(crib.gate.clone(), None), signals.stop()).await;
        crib.close().await;
        served.map_err(|error| Trouble::Failed(format!("standard input or output failed: {error}")))
    })??;
    Ok(Ending::Good)
}
