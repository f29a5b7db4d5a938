//! The process that serves: puts the other crates together into workspaces, takes clients over from their fronts, and
//! answers at the control socket.

pub mod administration;
mod artifact_sweep;
pub mod assemble;
mod build;
pub mod control;
pub mod declared_tools;
pub mod front;
pub mod http_door;
mod named_workspaces;
mod observing;
pub mod own_program;
pub mod person;
pub mod resident;
pub mod self_test;
pub mod shared;
mod token_store;
pub mod upstreams;
pub mod watched_folders;
mod watching;
