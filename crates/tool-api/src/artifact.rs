//! The hand of tools whose results are too large to be said: they write them down piece by piece, and say where. Where that
//! is, for how long, and how much of it there may be is not for a tool to say; secrets are struck out on the way.

use std::io;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use serde_json::{Value, json};

use crate::failure::ToolError;

/// The media type of plain text, whose lines are counted and read by their numbers.
pub const TEXT: &str = "text/plain; charset=utf-8";

/// The media type of JSON.
pub const JSON: &str = "application/json";

/// What was written down, and is not changed any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Artifact {
    /// What it is asked for by; only its owner is told of it.
    pub id: String,
    /// What it is, for people: `stdout`, `report.json`.
    pub name: String,
    /// Its media type.
    pub media_type: String,
    /// How many bytes it has.
    pub bytes: u64,
    /// How many lines.
    pub lines: u64,
    /// The SHA-256 of all its bytes, as hexadecimal digits.
    pub sha256: String,
}

impl Artifact {
    /// What its resource is asked for by.
    pub fn uri(&self) -> String {
        format!("{ARTIFACT_SCHEME}{}", self.id)
    }

    /// What results and errors say of it, for programs: `id`, `uri`, `name`, `media_type`, `bytes` and `sha256`, and of text
    /// its `lines`.
    pub fn facts(&self) -> Value {
        let Artifact { id, name, media_type, bytes, lines, sha256 } = self;
        let mut facts = json!({
            "id": id, "uri": self.uri(), "name": name, "media_type": media_type, "bytes": bytes, "sha256": sha256,
        });
        if self.is_text() {
            facts["lines"] = json!(lines);
        }
        facts
    }

    /// Whether it is text, which is read by lines.
    pub fn is_text(&self) -> bool {
        is_text(&self.media_type)
    }
}

/// The tool that reads an artifact. The gate cuts nothing for callers who may not call it.
pub const ARTIFACT_READ: &str = "artifact_read";

/// The tool that finds something in one.
pub const ARTIFACT_SEARCH: &str = "artifact_search";

/// How the URIs of artifacts begin, as resources.
pub const ARTIFACT_SCHEME: &str = "artifact://";

/// Whether bytes of this media type are text.
pub fn is_text(media_type: &str) -> bool {
    media_type.starts_with("text/") || media_type == JSON
}

/// Makes artifacts of one call, and reads those of its caller.
pub trait Artifacts: Send + Sync {
    /// Begins one. Nobody can read it before it is finished.
    fn create<'a>(
        &'a self,
        name: &'a str,
        media_type: &'a str,
    ) -> BoxFuture<'a, Result<Box<dyn ArtifactWriter>, ToolError>>;

    /// The artifact of this id; nothing if it is another caller's, or not kept any more.
    fn open<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<Box<dyn ArtifactReader>>, ToolError>>;
}

/// Writes one artifact. Dropped before its end, it leaves nothing behind.
pub trait ArtifactWriter: Send {
    /// Adds a piece. Nothing of it is kept in memory beyond a bounded rest.
    fn write(&mut self, piece: Bytes) -> BoxFuture<'_, Result<(), ToolError>>;

    /// Ends it: from now on its owner can read it.
    fn finish(self: Box<Self>) -> BoxFuture<'static, Result<Artifact, ToolError>>;
}

/// Reads one artifact, on a thread that may wait for a disk.
pub trait ArtifactReader: Send + Sync {
    /// What it is.
    fn artifact(&self) -> &Artifact;

    /// Reads at this byte as much as is there and fits; 0 bytes at the end and behind it.
    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<usize>;
}
