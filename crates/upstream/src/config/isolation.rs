//! Who shares a connection.

use schemars::JsonSchema;
use serde::Deserialize;

/// Who shares a connection to a server. For a program every further connection is a process of its own.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Isolation {
    /// Everybody: calls of all clients go over one connection.
    #[default]
    Shared,
    /// The calls of one caller whose clients can do the same, for a server that keeps something for each caller.
    Caller,
    /// The calls of one client's session, for a server that keeps something for each session.
    Session,
}
