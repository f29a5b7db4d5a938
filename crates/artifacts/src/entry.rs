//! What the index says of one artifact.

use serde::{Deserialize, Serialize};
use store::{Cell, Content};

/// Whose an artifact is. Whoever differs in any of this is told that there is none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Owner {
    /// The caller's id.
    pub caller: String,
    /// The key that it holds: a later one of the same name is somebody else's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// The folder of the workspace.
    pub workspace: String,
}

/// One artifact.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// What it is asked for by.
    pub id: String,
    /// Whose it is.
    #[serde(flatten)]
    pub owner: Owner,
    /// What it is, for people.
    pub name: String,
    /// Its media type.
    pub media_type: String,
    /// The tool that has made it.
    pub tool: String,
    /// How many bytes it has.
    pub bytes: u64,
    /// How many lines.
    pub lines: u64,
    /// The SHA-256 of its bytes, as hexadecimal digits.
    pub sha256: String,
    /// When it was finished, in milliseconds since 1970.
    pub made_at_ms: i64,
    /// When it is removed.
    pub ends_at_ms: i64,
}

impl Entry {
    /// What is kept of it, found by its owner and its content.
    pub(crate) fn content(&self) -> Content {
        Content {
            value: serde_json::to_vec(self).expect("an entry has texts and numbers alone"),
            owner: self.owner.caller.clone(),
            topic: self.sha256.clone(),
            state: String::new(),
            ends_at_ms: Some(self.ends_at_ms),
        }
    }

    /// What a cell says; nothing if it is none of ours.
    pub(crate) fn of(cell: &Cell) -> Option<Entry> {
        serde_json::from_slice(&cell.value).ok()
    }
}
