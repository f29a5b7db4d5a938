//! The control channel: how one Toolcrib of a user speaks with the others that are running. Every process that
//! serves listens on `STATE/run/PID.sock`; `toolcrib mcp status`, `reload` and others ask there.
//!
//! One JSON line asks, one answers, and then the connection ends. What a process does
//! when it is asked is in `desk`, what reloading means in `reload`.

mod client;
mod desk;
mod folder;
mod line;
mod listener;
mod neighbours;
mod reload;
#[cfg(test)]
mod tests;
mod words;

pub use client::stop;
pub use desk::{Desk, Seat};
pub use folder::{Folder, serving};
pub use line::{json_line, next_line};
pub use listener::{Control, Opening, is_ours};
pub use neighbours::Neighbours;
pub use reload::{Reloader, in_turn, read};
