//! The control channel: how one Toolcrib of a user speaks with the others that are running. Every process that
//! serves listens on `STATE/run/PID.sock`; `toolcrib mcp status`, `reload` and others ask there.
//!
//! One JSON line asks, one answers, and then the connection ends. What a process does
//! when it is asked is in [`desk`], what reloading means in [`mod@reload`].

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

pub(crate) use client::{Asked, reconnect, reload, running, stderr, stop, told_apart};
pub(crate) use desk::{Desk, Seat};
pub(crate) use folder::{Folder, serving};
pub(crate) use line::next_line;
pub(crate) use listener::{Control, Opening};
pub(crate) use neighbours::{Neighbours, told};
pub(crate) use reload::{Reloader, in_turn, read};
pub(crate) use words::{Refused, Reloaded, Running};
