//! Approval of one exact call: every state it can be in, every answer, and everything that must be refused.

#![expect(clippy::disallowed_methods, reason = "the tests write the rules files that calls are judged by")]
#![expect(clippy::unwrap_used, reason = "a test may panic")]

#[path = "../samples/definition.rs"]
mod definition;
mod scene;

mod answers;
mod beginnings;
mod client;
mod code;
mod grants;
mod limits;
mod meanwhile;
mod plan;
mod race;
mod waiting;
mod workspaces;
