//! The doors: stdio, a Unix socket and HTTP, and what all share from a frame to a reply.
//!
//! A door reads bytes, makes frames, and hands messages to `dispatch`; every call goes on to the gate. No
//! authorisation is decided here.

mod abilities;
mod announcer;
mod config;
mod dispatch;
mod feed;
mod greeting;
pub mod http;
pub mod identity;
mod instructions;
mod lists;
mod progress;
mod reply;
mod rounds;
mod session;
pub mod stdio;
pub mod unix;
mod watch;

use std::sync::Arc;

use gate::{Cancel, Gate};
use wire::initialize::Ourselves;

pub use config::{Config, Problem};
pub use greeting::Greeting;
pub use instructions::Instructions;
use lists::Lists;
pub use reply::outcome_json;

/// What we call ourselves on the wire.
pub const OURSELVES: Ourselves<'static> = Ourselves { name: "toolcrib", version: env!("CARGO_PKG_VERSION") };

/// What all doors share.
pub struct Server {
    gate: Arc<Gate>,
    lists: Lists,
    instructions: Instructions,
    stopping: Cancel,
}

impl Server {
    /// A server over one gate. `instructions` are told to every client that connects.
    pub fn new(gate: Arc<Gate>, instructions: Instructions) -> Arc<Server> {
        Arc::new(Server { gate, lists: Lists::default(), instructions, stopping: Cancel::new() })
    }

    /// The gate behind the doors.
    pub fn gate(&self) -> &Arc<Gate> {
        &self.gate
    }

    /// Says that the doors are closing: subscriptions end in peace, with their final result.
    pub(crate) fn stop(&self) {
        self.stopping.cancel();
    }

    /// Set once the doors are closing.
    pub(crate) fn stopping(&self) -> &Cancel {
        &self.stopping
    }
}
