//! The doors: stdio, a Unix socket and HTTP, and what all share from a frame to a reply.
//!
//! A door reads bytes, makes frames, and hands messages to `dispatch`; every call goes on to the gate. No
//! authorisation is decided here.

mod abilities;
mod accept;
mod administration;
mod config;
mod dispatch;
mod greeting;
pub mod http;
pub mod identity;
mod list_kind;
mod lists;
mod notification_stream;
mod notifier;
mod ourselves;
mod outgoing;
mod partial_answers;
mod progress;
mod reply;
mod rounds;
mod server;
mod session;
pub mod stdio;
mod subscription;
mod task_view;
mod tool_description;
pub mod unix;
mod watched_tasks;
mod workspaces;

pub use administration::{Administration, OperationFault, OperationFaultKind};
pub use config::{Config, Problem, Tls, address};
pub use greeting::Greeting;
pub use ourselves::OURSELVES;
pub use reply::outcome_json;
pub use server::{Instructions, Server};
pub use tool_description::{tool_description, tool_owner};
pub use workspaces::{Workspaces, check_workspace_name};
