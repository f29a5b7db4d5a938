//! The Toolcribs that are running, as operations speak with them: what changes what they go by is told to them.

use std::io;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Speaks with every Toolcrib that is running on a state folder. Waits for them.
pub trait Running: Send + Sync {
    /// Has each of them read again which secrets are kept.
    ///
    /// # Errors
    /// The system has no room for it. What one of them says stands in its [`Told`].
    fn learn(&self) -> io::Result<Vec<Told>>;

    /// Has each of them that has this server take up what was decided about its definitions.
    ///
    /// # Errors
    /// As [`Running::learn`].
    fn take_up_decisions(&self, server: &str) -> io::Result<Vec<Told>>;
}

/// One of them, and what it made of it.
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
