//! `Job`: what is told of a job, and how it is kept.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::JobRow;

use crate::id::JobId;
use crate::state::State;

/// A job, as its caller is told of it. No argument and no result is in it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Job {
    /// Its name.
    pub id: JobId,
    /// The tool.
    pub tool: String,
    /// Whose it is, by the name that the audit log knows.
    pub caller: String,
    /// The key that it was taken with, if one was shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// The workspace that it runs in.
    pub workspace: String,
    /// The conversation that it came from, if one could be told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation: Option<u64>,
    /// How it stands.
    pub state: State,
    /// How urgent it is among its caller's: more comes first.
    #[serde(default)]
    pub priority: i8,
    /// How often its tool has begun. To be asked about by a person is no beginning.
    #[serde(default)]
    pub attempt: u32,
    /// How often it is tried again, should it fail.
    #[serde(default)]
    pub retries: u32,
    /// How often it has failed and was tried again: at most `retries`.
    #[serde(default, skip_serializing_if = "is_none_yet")]
    pub failures: u32,
    /// When it was taken, in milliseconds since 1970.
    pub created_at_ms: i64,
    /// When something last happened to it.
    pub updated_at_ms: i64,
    /// When its tool last began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at_ms: Option<i64>,
    /// When it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at_ms: Option<i64>,
    /// How often it is good to look, in milliseconds.
    pub poll_interval_ms: u64,
    /// How long it is kept once it is over, in milliseconds.
    pub ttl_ms: u64,
    /// How far it has come.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress: Option<Progress>,
    /// What is to be said of it, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Why it ended without a result, for programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// The question to a person that it waits for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<String>,
    /// Its last event.
    #[serde(default)]
    pub last_event: u64,
    /// Bytes of output that its events hold; as many as they can once more came.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub output_bytes: u64,
    /// Output that was not kept: there was too much of it.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub events_lost: u64,
    /// Whether its tool may do the same twice, so that it begins anew after a process ended that ran it.
    #[serde(default)]
    pub idempotent: bool,
    /// Its number among its caller's background tasks in the workspace, if it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub background: Option<u32>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands over references")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands over references")]
fn is_none_yet(count: &u32) -> bool {
    *count == 0
}

/// How far a job has come.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Progress {
    /// How much is done.
    pub done: f64,
    /// How much there is, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total: Option<f64>,
    /// What is happening.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// A job is kept in a way that this program does not know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a job is kept in a way that this program does not know; use the newer toolcrib, or purge it")]
pub struct BadJob;

impl Job {
    /// The job of a row.
    ///
    /// # Errors
    /// Another program wrote it.
    pub fn of(row: &JobRow) -> Result<Job, BadJob> {
        serde_json::from_slice(&row.about).map_err(|_| BadJob)
    }

    /// How it is kept.
    pub fn about(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("a job has text for keys")
    }
}
