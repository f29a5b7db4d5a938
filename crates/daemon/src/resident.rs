//! The one process that serves all clients of a user: what it does, and what fronts say to it. A front starts it, hands its
//! client over and stays only to carry the client's end and signals ([`crate::front`]).

mod attached;
mod entering;
mod hand_over;
mod listeners;
mod process;
#[cfg(test)]
mod tests;
mod words;
mod workspaces;

pub use entering::GreetWith;
pub use hand_over::send;
pub use process::{main, socket_name};
pub use words::{Door, FromFront, LINE_BYTES_MAX, Place, ToFront};
