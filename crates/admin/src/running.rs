//! The Toolcribs that are running, as operations speak with them: what changes what they go by is told to them.

use std::fmt;
use std::io;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::server_report::ServerReport;

/// Speaks with every Toolcrib that is running on a state folder, one answer for each configuration that it serves. Waits
/// for them. What one of them says stands in its [`Answered`] or [`Told`]; an error is that the system has no room for it.
pub trait Running: Send + Sync {
    /// How each of them is doing, and its servers.
    ///
    /// # Errors
    /// The system has no room for it.
    fn status(&self) -> io::Result<Vec<Answered<Toolcrib>>>;

    /// Has each of them read its configuration again.
    ///
    /// # Errors
    /// As [`Running::status`].
    fn reload(&self) -> io::Result<Vec<Answered<Reloaded>>>;

    /// Has each of them read again which secrets are kept.
    ///
    /// # Errors
    /// As [`Running::status`].
    fn learn(&self) -> io::Result<Vec<Told>>;

    /// Has each of them let go of this server and connect to it anew.
    ///
    /// # Errors
    /// As [`Running::status`].
    fn reconnect(&self, server: &str) -> io::Result<Vec<Told>>;

    /// Has each of them that has this server take up what was decided about its definitions.
    ///
    /// # Errors
    /// As [`Running::status`].
    fn take_up_decisions(&self, server: &str) -> io::Result<Vec<Told>>;

    /// The end of what the program of this server wrote on its stderr, in each of them.
    ///
    /// # Errors
    /// As [`Running::status`].
    fn stderr(&self, server: &str) -> io::Result<Vec<Answered<String>>>;
}

/// One of them, and what it answered for one of the configurations that it serves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answered<T> {
    /// Its process.
    pub pid: u32,
    /// What it said.
    pub answer: Result<T, Refused>,
}

/// Why a process did not do what it was asked. Prints for people.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Refused {
    /// Something is in the way.
    #[serde(rename = "error")]
    Because(String),
    /// Its configuration has these problems.
    Problems(Vec<String>),
}

/// A Toolcrib that is running.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Toolcrib {
    /// Its process.
    pub pid: u32,
    /// Where its clients come in: an address, or `stdio`.
    pub door: String,
    /// The files of its configuration, as they are shown.
    pub configuration: Vec<String>,
    /// How its servers are doing.
    pub upstreams: Vec<ServerReport>,
    /// How it is doing itself; nothing if it is of an earlier version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub health: Option<Health>,
}

/// How a Toolcrib is doing, as `GET /mcp/health` says it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Health {
    /// `ok`, `degraded` while the state database cannot be written, or `not_ready` while the audit log cannot.
    pub status: String,
    /// What is wrong and what to try, unless it is `ok`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// Of the program.
    pub version: String,
    /// For how long its process has served, in seconds, whenever this workspace was made.
    pub uptime_s: u64,
    /// Tools on offer to its owner.
    pub tools: u64,
    /// Its jobs.
    pub jobs: JobCounts,
}

/// How many jobs a process holds.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct JobCounts {
    /// Those that wait for their turn.
    pub queued: u64,
    /// Those whose tools work.
    pub running: u64,
    /// Those that wait for a person, or for their next try.
    pub waiting: u64,
}

/// What reading the configuration again has changed, by the names of the servers.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Reloaded {
    /// New ones.
    pub added: Vec<String>,
    /// Ones that are gone.
    pub removed: Vec<String>,
    /// Ones that were connected anew, switched on or switched off.
    pub changed: Vec<String>,
    /// Ones that were left alone.
    pub unchanged: Vec<String>,
    /// Sections and keys that read differently than before and are in force now.
    #[serde(default)]
    pub in_force: Vec<String>,
    /// Sections that read differently than at the start, and take effect at the next one.
    pub next_start: Vec<String>,
}

/// One of them that was told of a change, and what it made of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Told {
    /// Its process.
    pub pid: u32,
    /// Whether it has done it.
    pub ok: bool,
    /// How it is doing then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<Value>,
    /// Why it has not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

impl<T: Serialize> From<Answered<T>> for Told {
    fn from(Answered { pid, answer }: Answered<T>) -> Told {
        match answer {
            Ok(answer) => Told { pid, ok: true, answer: Some(json!(answer)), error: None },
            Err(refused) => Told { pid, ok: false, answer: None, error: Some(refused.to_string()) },
        }
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refused::Because(why) => out.write_str(why),
            Refused::Problems(problems) => out.write_str(&problems.join("\n")),
        }
    }
}
