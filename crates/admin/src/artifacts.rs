//! Artifacts: results that were too large for an answer. An operator sees and removes those of all callers.

use std::cmp::Reverse;
use std::sync::Arc;

use artifacts::{ArtifactError, Artifacts, Entry};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::by::By;
use crate::fault::Fault;
use crate::operation::Operation;

/// The most that is read at once, in bytes.
pub const PIECE_BYTES_MAX: usize = 1024 * 1024;

/// Most artifacts in a page.
pub const PAGE_MAX: usize = 200;

/// What operations on artifacts work on.
pub struct ArtifactPart {
    /// Those of the state folder.
    pub artifacts: Arc<Artifacts>,
}

/// One artifact.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ArtifactReport {
    /// What it is asked for by.
    pub id: String,
    /// Whose it is.
    pub caller: String,
    /// The folder of the workspace that it is of.
    pub workspace: String,
    /// The tool that has made it.
    pub tool: String,
    /// What it is.
    pub name: String,
    /// Its media type.
    pub media_type: String,
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

/// A page of them, the newest first.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct List {
    /// Those of this caller; of all if nothing is said.
    pub caller: Option<String>,
    /// Most of them; 0 for as many as a page holds.
    pub limit: usize,
    /// Where the page before ended.
    pub cursor: Option<String>,
}

/// Those there are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ArtifactList {
    /// Those of the page.
    pub artifacts: Vec<ArtifactReport>,
    /// The bytes of all that are meant, on whatever page.
    pub bytes: u64,
    /// Where the next page begins; nothing if this is the last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

/// Reads a piece of one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Read {
    /// Its id.
    pub id: String,
    /// The first byte.
    #[serde(default)]
    pub offset: u64,
    /// How many bytes at most; never more than 1 MiB.
    #[serde(default)]
    pub bytes: Option<u64>,
}

/// A piece of one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Piece {
    /// What it is of.
    pub artifact: ArtifactReport,
    /// The first byte.
    pub offset: u64,
    /// The bytes, in base64; none at the end.
    pub base64: String,
}

/// Removes one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Remove {
    /// Its id.
    pub id: String,
}

/// One that was removed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Removed {
    /// Its id.
    pub id: String,
}

impl Operation for List {
    const NAME: &'static str = "artifacts.list";
    type Part = ArtifactPart;
    type Output = ArtifactList;

    fn perform(self, part: &ArtifactPart, _: &By) -> Result<ArtifactList, Fault> {
        let List { caller, limit, cursor } = self;
        let before = cursor.map(|cursor| Place::parse(&cursor).ok_or_else(bad_cursor)).transpose()?;
        let limit = if limit == 0 { PAGE_MAX } else { limit.min(PAGE_MAX) };
        let mut meant = part.artifacts.list().map_err(fault)?;
        meant.retain(|entry| caller.as_ref().is_none_or(|caller| *caller == entry.owner.caller));
        meant.sort_by_cached_key(|entry| Reverse(Place::of(entry)));
        let bytes = meant.iter().map(|one| one.bytes).sum();
        let begin = before.map_or(0, |before| meant.partition_point(|entry| Place::of(entry) >= before));
        let mut page = meant.split_off(begin);
        let has_more = page.len() > limit;
        page.truncate(limit);
        let cursor = page.last().filter(|_| has_more).map(|last| Place::of(last).cursor());
        Ok(ArtifactList { artifacts: page.into_iter().map(ArtifactReport::from).collect(), bytes, cursor })
    }
}

/// Where one stands in the list: it stays there whatever is removed or made before it.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    made_at_ms: i64,
    id: String,
}

impl Place {
    fn of(entry: &Entry) -> Place {
        Place { made_at_ms: entry.made_at_ms, id: entry.id.clone() }
    }

    fn cursor(&self) -> String {
        format!("{}-{}", self.made_at_ms, self.id)
    }

    fn parse(cursor: &str) -> Option<Place> {
        let (made_at_ms, id) = cursor.split_once('-')?;
        Some(Place { made_at_ms: made_at_ms.parse().ok()?, id: id.to_owned() })
    }
}

fn bad_cursor() -> Fault {
    Fault::misused("the cursor is none that a page has given; leave it out for the first page")
}

impl Operation for Read {
    const NAME: &'static str = "artifacts.read";
    type Part = ArtifactPart;
    type Output = Piece;

    fn perform(self, part: &ArtifactPart, _: &By) -> Result<Piece, Fault> {
        let Read { id, offset, bytes } = self;
        let reader = part.artifacts.open_any(&id).map_err(fault)?.ok_or_else(|| unknown(&id))?;
        let most = bytes.and_then(|bytes| usize::try_from(bytes).ok()).unwrap_or(PIECE_BYTES_MAX);
        let mut piece = vec![0; most.min(PIECE_BYTES_MAX)];
        let count = reader.read_at(offset, &mut piece).map_err(Fault::because)?;
        Ok(Piece { artifact: reader.entry.into(), offset, base64: STANDARD.encode(&piece[..count]) })
    }
}

impl Operation for Remove {
    const NAME: &'static str = "artifacts.remove";
    type Part = ArtifactPart;
    type Output = Removed;

    fn perform(self, part: &ArtifactPart, _: &By) -> Result<Removed, Fault> {
        match part.artifacts.remove(&self.id).map_err(fault)? {
            true => Ok(Removed { id: self.id }),
            false => Err(unknown(&self.id)),
        }
    }
}

impl From<Entry> for ArtifactReport {
    fn from(entry: Entry) -> ArtifactReport {
        ArtifactReport {
            id: entry.id,
            caller: entry.owner.caller,
            workspace: entry.owner.workspace,
            tool: entry.tool,
            name: entry.name,
            media_type: entry.media_type,
            bytes: entry.bytes,
            lines: entry.lines,
            sha256: entry.sha256,
            made_at_ms: entry.made_at_ms,
            ends_at_ms: entry.ends_at_ms,
        }
    }
}

impl Piece {
    /// The bytes.
    ///
    /// # Errors
    /// They are no base64.
    pub fn decoded(&self) -> Result<Vec<u8>, Fault> {
        STANDARD.decode(&self.base64).map_err(Fault::because)
    }
}

fn unknown(id: &str) -> Fault {
    let message = format!("there is no artifact {id}; `toolcrib artifacts list` shows those there are");
    Fault::unknown("artifact_not_found", message)
}

fn fault(error: ArtifactError) -> Fault {
    Fault::because(error)
}
