//! The doors: stdio and HTTP, and what both share from a frame to a reply.
//!
//! A door reads bytes, makes frames, and hands messages to `dispatch`; every call goes on to the gate. No
//! authorisation is decided here.

mod config;
mod dispatch;
pub mod http;
mod lists;
mod progress;
mod reply;
mod session;
pub mod stdio;

use std::sync::Arc;

use gate::Gate;
use wire::initialize::Ourselves;

pub use config::Config;
use lists::Lists;
pub use reply::outcome_json;

/// What we call ourselves on the wire.
pub const OURSELVES: Ourselves<'static> = Ourselves { name: "toolcrib", version: env!("CARGO_PKG_VERSION") };

/// What all doors share.
pub struct Server {
    gate: Arc<Gate>,
    lists: Lists,
    instructions: Option<String>,
}

impl Server {
    /// A server over one gate. `instructions` are told to every client that connects.
    pub fn new(gate: Arc<Gate>, instructions: Option<String>) -> Arc<Server> {
        Arc::new(Server { gate, lists: Lists::default(), instructions })
    }

    /// The gate behind the doors.
    pub fn gate(&self) -> &Arc<Gate> {
        &self.gate
    }
}
