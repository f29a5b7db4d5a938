//! `artifact_read`: a part of an artifact, as much as suits one answer.

use std::num::NonZeroU64;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use tool_api::{
    ARTIFACT_READ, About, ArgumentRoles, Artifact, ArtifactReader, Block, Cancel, Context, Document, Effect,
    Example, Need, Tool, ToolError,
};

use super::blocks::Blocks;
use super::opened::opened;
use crate::plain_schema::plain;

/// A part ends with a line, if a line ends within this fraction of the part before its end.
const LINE_END_FRACTION: usize = 8;

/// The longest character, in bytes.
const CHAR_BYTES_MAX: usize = 4;

/// Reads a part of an artifact.
#[derive(Debug)]
pub(crate) struct Read {
    /// Text in one answer.
    pub(crate) text_bytes_max: usize,
}

/// The arguments of `artifact_read`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(transform = plain)]
pub(crate) struct Input {
    /// The artifact, as the answer says that has made it.
    id: String,
    /// The first byte to show, counted from 0. Default: 0.
    offset: Option<u64>,
    /// Instead of `offset`: the first line to show, counted from 1.
    line: Option<NonZeroU64>,
    /// Instead of `offset`: show so many of the last lines.
    tail: Option<NonZeroU64>,
    /// How many bytes to show at most. Default: as many as fit into one answer.
    bytes: Option<u64>,
    /// How many lines to show at most.
    lines: Option<NonZeroU64>,
}

/// What is asked for.
struct Asked {
    from: From,
    bytes_max: usize,
    lines_max: u64,
}

#[derive(Clone, Copy)]
enum From {
    Byte(u64),
    Line(u64),
    Last(u64),
}

impl Tool for Read {
    const ABOUT: About = About {
        name: ARTIFACT_READ,
        title: "Read an artifact",
        summary: "Read a result that was too large for one answer and is kept as an artifact: the answer of the call \
                  names its `id`. Shows it from its beginning, from an `offset` in bytes, from a `line`, or its last \
                  lines (`tail`), as much as suits one answer; a second block then says how to go on. To find \
                  something in a long one, use artifact_search. Artifacts are kept for a day, unless newer ones need \
                  their room.",
        effect: Effect::Reads,
        arguments: ArgumentRoles::NONE,
        // A caller's own artifacts are results that it was given.
        scopes: &[],
        needs: &[Need::Artifacts],
        idempotent: true,
        open_world: false,
        timeout: Duration::from_secs(60),
        examples: &[
            Example {
                title: "Reading on",
                arguments: r#"{"id": "0123456789abcdef0123456789abcdef", "offset": 65536}"#,
            },
            Example {
                title: "The last 20 lines",
                arguments: r#"{"id": "0123456789abcdef0123456789abcdef", "tail": 20}"#,
            },
        ],
    };
    type Input = Input;
    type Output = Document;

    async fn run(&self, input: Input, cx: &Context) -> Result<Document, ToolError> {
        let reader = opened(&input.id, cx).await?;
        let asked = Asked::of(&input, self.text_bytes_max)?;
        let cancel = cx.cancel.clone();
        cx.blocking(move || asked.read(&*reader, &cancel)).await
    }
}

impl Asked {
    fn of(input: &Input, most: usize) -> Result<Asked, ToolError> {
        let from = match (input.offset, input.line, input.tail) {
            (offset, None, None) => From::Byte(offset.unwrap_or(0)),
            (None, Some(line), None) => From::Line(line.get()),
            (None, None, Some(tail)) => From::Last(tail.get()),
            _ => {
                let message = "`offset`, `line` and `tail` each say where to begin: give one of them";
                return Err(ToolError::new("invalid_arguments", message));
            }
        };
        let bytes = input.bytes.map_or(most, |bytes| usize::try_from(bytes).unwrap_or(usize::MAX));
        let lines_max = input.lines.map_or(u64::MAX, NonZeroU64::get);
        Ok(Asked { from, bytes_max: bytes.min(most), lines_max })
    }

    fn read(&self, reader: &dyn ArtifactReader, cancel: &Cancel) -> Result<Document, ToolError> {
        let artifact = reader.artifact();
        let mut blocks = Blocks::of(reader, cancel);
        let start = match self.from {
            From::Byte(offset) => offset,
            From::Line(line) => blocks.line(line)?,
            From::Last(tail) => blocks.line(artifact.lines.saturating_sub(tail) + 1)?,
        };
        if start >= artifact.bytes && artifact.bytes > 0 {
            let message = format!(
                "there is nothing from there on: the artifact has {} bytes and {} lines",
                artifact.bytes, artifact.lines
            );
            return Err(ToolError::new("invalid_offset", message));
        }
        if !artifact.is_text() {
            let bytes = blocks.range(start, self.bytes_max)?;
            let mark = mark(artifact, start, bytes.len());
            let (uri, mime) = (artifact.uri(), artifact.media_type.clone().into());
            return Ok(Document(vec![Block::Blob { uri, mime, bytes }, Block::Text(mark)]));
        }
        // An offset within a character means the character.
        let before = start.min(CHAR_BYTES_MAX as u64 - 1);
        let range = blocks.range(start - before, self.bytes_max + before as usize + CHAR_BYTES_MAX)?;
        let start = start - within_char(&range, before as usize) as u64;
        let range = &range[before as usize - within_char(&range, before as usize)..];
        let shown = &range[..self.end(range)];
        let mark = mark(artifact, start, shown.len());
        Ok(Document(vec![Block::Text(String::from_utf8_lossy(shown).into_owned()), Block::Text(mark)]))
    }

    /// How much of a text is shown: up to the end of a line close before the most, or else between two characters.
    fn end(&self, text: &[u8]) -> usize {
        let last = usize::try_from(self.lines_max.saturating_sub(1)).unwrap_or(usize::MAX);
        let by_lines = memchr::memchr_iter(b'\n', text).nth(last).map_or(text.len(), |at| at + 1);
        if by_lines <= self.bytes_max || text.len() <= self.bytes_max {
            return by_lines;
        }
        let near = self.bytes_max - self.bytes_max / LINE_END_FRACTION;
        match memchr::memrchr(b'\n', &text[near..self.bytes_max]) {
            Some(at) => near + at + 1,
            None => self.bytes_max - within_char(text, self.bytes_max),
        }
    }
}

/// How many bytes before `at` the character begins that it stands in; none if one begins there.
fn within_char(text: &[u8], at: usize) -> usize {
    let goes_on = |at: usize| text.get(at).is_some_and(|byte| byte & 0b1100_0000 == 0b1000_0000);
    let back = (0..CHAR_BYTES_MAX.min(at + 1)).find(|back| !goes_on(at - back));
    back.unwrap_or(0)
}

/// What is said below a part.
fn mark(artifact: &Artifact, start: u64, shown: usize) -> String {
    let Artifact { id, bytes, lines, .. } = artifact;
    let end = start + shown as u64;
    let on = match end < *bytes {
        true => format!("To read on, call {ARTIFACT_READ} with id: \"{id}\", offset: {end}."),
        false => "This is its end.".to_owned(),
    };
    format!("[{shown} bytes from byte {start} of an artifact with {bytes} bytes in {lines} lines. {on}]")
}

#[cfg(test)]
mod tests;
