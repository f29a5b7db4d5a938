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
mod server;
mod session;
pub mod stdio;
pub mod unix;
mod watch;

pub use config::{Config, Problem};
pub use greeting::Greeting;
pub use instructions::Instructions;
pub use reply::outcome_json;
pub use server::{OURSELVES, Server};
