//! `stdio`: one client on standard input and output, which gets nothing there but protocol.

mod greeting;

use std::sync::Arc;

use server::{Greeting, Server};

use super::start::{Asking, Log, start};
use super::trust::ReceiptStore;
use crate::cli::Cli;
use crate::control::{Control, Desk, Opening, Reloader};
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
        let (held, keeper) = (loaded.held.clone(), ReceiptStore::of(&loaded));
        let reloader = Reloader::assembled(loaded, cli.config.clone(), None, Start::WhenWanted)?;
        let crib = reloader.crib().clone();
        let of_clients = crib.state.clone();
        crib.gate
            .approvals()
            .ask_clients_if(Box::new(move |askers| person::is_at_client(&of_clients, askers)));
        let greeting = FolderGreeting::new(&held, keeper, &reloader);
        let greeting = greeting.map(|greeting| Arc::new(greeting) as Arc<dyn Greeting>);
        let desk = Desk::new(DOOR, reloader);
        let control = Control::open(&crib.state, desk, Opening::Later).await;
        let server = Server::new(crib.gate.clone(), crib.instructions.clone());
        let served = server::stdio::serve(server, greeting, signals.stop()).await;
        control.close().await;
        crib.close().await;
        served.map_err(|error| Trouble::Failed(format!("standard input or output failed: {error}")))
    })??;
    Ok(Ending::Good)
}
