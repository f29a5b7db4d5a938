//! What is known of the servers that are configured, without starting one.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::fault::Fault;
use crate::server_report::{SandboxFacts, ServerReport};

/// Knows the servers that are configured, and starts none. Waits for the disk.
pub trait KnownServers: Send + Sync {
    /// All of them, and what is remembered of each. Who runs them is another matter.
    ///
    /// # Errors
    /// Why nobody can say.
    fn configured(&self) -> Result<Vec<ListedServer>, Fault>;

    /// How they are doing where nobody runs them.
    ///
    /// # Errors
    /// Why nobody can say.
    fn resting(&self) -> Result<Vec<ServerReport>, Fault>;
}

/// One server that is configured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ListedServer {
    /// Its name.
    pub name: String,
    /// How it is reached.
    pub transport: String,
    /// Its program or address.
    #[serde(rename = "where")]
    pub place: String,
    /// Whether it is switched on.
    pub enabled: bool,
    /// How it is doing in each Toolcrib that is running and has it.
    pub running: Vec<RunningServer>,
    /// What an earlier run has seen of it.
    pub remembered: Option<RememberedServer>,
    /// How its program is confined, as far as its table says it; nothing for what is no program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<SandboxFacts>,
    /// Whether there is a sign-in; nothing if it cannot be signed in to.
    pub signed_in: Option<bool>,
    /// The file that it stands in.
    pub file: Option<String>,
}

/// A server in one Toolcrib that is running.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunningServer {
    /// The process.
    pub pid: u32,
    /// How it is doing there.
    #[serde(flatten)]
    pub report: ServerReport,
}

/// What an earlier run has seen of a server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RememberedServer {
    /// How many tools it had.
    pub tools: usize,
    /// How long ago that was, in milliseconds.
    pub age_ms: i64,
}
