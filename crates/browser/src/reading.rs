//! What of a page is read, by a script of ours that shares its document and none of its scripts.

use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;

use crate::error::BrowserError;
use crate::opening::read;
use crate::tab::Tab;

/// Gives what a reader sees, and counts what cannot be read.
const SCRIPT: &str = include_str!("reading.js");

/// How often it is tried where the page leads on in between.
const ATTEMPTS_MAX: usize = 3;

/// What the script says.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Reading {
    pub(crate) url: String,
    pub(crate) base: String,
    pub(crate) title: String,
    pub(crate) media_type: String,
    pub(crate) html: String,
    pub(crate) is_cut: bool,
    pub(crate) closed_roots: usize,
    pub(crate) other_frames: usize,
    pub(crate) frame_addresses: Vec<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct World {
    execution_context_id: i64,
}

#[derive(Deserialize)]
struct Evaluated {
    result: Remote,
}

#[derive(Deserialize)]
struct Remote {
    value: Option<Box<RawValue>>,
}

impl Tab<'_> {
    /// What the page shows now.
    pub(crate) async fn reading(&mut self) -> Result<Reading, BrowserError> {
        let mut attempt = 1;
        loop {
            match self.try_reading().await {
                Err(BrowserError::Refused { .. }) if attempt < ATTEMPTS_MAX => attempt += 1,
                result => return result,
            }
        }
    }

    async fn try_reading(&mut self) -> Result<Reading, BrowserError> {
        let world = json!({ "frameId": self.seen.page(), "worldName": "toolcrib" });
        let World { execution_context_id: context } =
            read(&self.ask("Page.createIsolatedWorld", world).await?)?;
        let script = json!({ "expression": SCRIPT, "contextId": context, "returnByValue": true });
        let evaluated = self.ask("Runtime.evaluate", script).await?;
        let Evaluated { result } = read(&evaluated)?;
        let why = || BrowserError::Refused {
            method: "Runtime.evaluate",
            why: "the page cannot be read".to_owned(),
        };
        let value = result.value.ok_or_else(why)?;
        // A page may be a million characters long.
        let parsed = tokio::task::spawn_blocking(move || read(&value)).await;
        parsed.map_err(|_| BrowserError::Unreadable("a page was not read"))?
    }
}
