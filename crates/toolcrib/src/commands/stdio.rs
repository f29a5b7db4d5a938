//! `stdio`: one client on standard input and output, which gets nothing there but protocol.

mod greeting;

use std::sync::Arc;

use server::{Greeting, Server};

use super::start::{Asking, Log, start};
use super::trust::ReceiptStore;
use crate::assemble::assemble;
use crate::cli::Cli;
use crate::control::{AtStart, Control, Desk, Opening};
use crate::ending::{Ending, Trouble};
use crate::signals::Signals;
use crate::upstreams::Start;
use crate::{person, runtime};
use greeting::FolderGreeting;

/// What others are told of where its client comes in.
const DOOR: &str = "stdio";

pub(super) fn run(cli: &Cli) -> Result<Ending, Trouble> {
    let loaded = start(cli, Log::AsConfigured, Asking::Nobody)?;
    runtime::run(async {
        let signals = Signals::listen()?;
        let (at_start, state) = (AtStart::of(&loaded, cli.config.clone()), loaded.settings.state.clone());
        let (instructions, keeper) = (loaded.instructions(), ReceiptStore::of(&loaded));
        let crib = Arc::new(assemble(loaded.settings, Start::WhenWanted)?);
        let of_clients = state.clone();
        crib.gate
            .approvals()
            .ask_clients_if(Box::new(move |askers| person::is_at_client(&of_clients, askers)));
        crib.instructions.store(instructions.map(Arc::new));
        let reloader = at_start.reloader(&crib, None);
        let greeting = FolderGreeting::new(&loaded.held, keeper, &reloader);
        let greeting = greeting.map(|greeting| Arc::new(greeting) as Arc<dyn Greeting>);
        let desk = Desk::new(DOOR, reloader);
        let control = Control::open(&state, desk, Opening::Later).await;
        let server = Server::new(crib.gate.clone(), crib.instructions.clone());
        let served = server::stdio::serve(server, greeting, signals.stop()).await;
        control.close().await;
        crib.close().await;
        served.map_err(|error| Trouble::Failed(format!("standard input or output failed: {error}")))
    })??;
    Ok(Ending::Good)
}
