//! `workspace_read`: one file, shown to a model. How its bytes become content is left to `content`.

use std::num::NonZeroU64;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use tool_api::{About, ArgumentRoles, Block, Context, Document, Effect, Example, Tool, ToolError};

use super::content::{Asked, MEDIA_BYTES_MAX};
use super::file_error::refused;
use super::listing::OnOneLine;
use super::near_paths::or_nearest;
use super::text_range::TextRange;
use crate::plain_schema::plain;

/// Files up to this size are read where the call arrived: that takes some microseconds, less than asking
/// another thread.
const INLINE_BYTES_MAX: usize = 256 * 1024;

/// Lines in one answer where a call does not say how many it wants, and of what a command prints: OpenCode shows its model
/// 2,000 of an answer, and not its end.
pub(crate) const LINES_MAX: u64 = 1_900;

/// Most files of one call beside the first.
const PATHS_MAX: usize = 19;

/// Reads a file of the workspace.
#[derive(Debug)]
pub(crate) struct Read {
    /// Text in one answer.
    pub(crate) text_bytes_max: usize,
}

/// The arguments of `workspace_read`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(transform = plain)]
pub(crate) struct Input {
    /// The file, for example `notes.md` or `/workspace/src/main.rs`.
    path: String,
    /// More files, shown behind it.
    #[serde(default)]
    #[schemars(length(max = PATHS_MAX))]
    paths: Vec<String>,
    /// Text only: the last so many lines.
    tail: Option<NonZeroU64>,
    /// Text only: the first line to show, counted from 1.
    #[serde(default = "first_line")]
    offset: NonZeroU64,
    /// Text only: how many lines to show at most. Default: as many as fit into one answer.
    limit: Option<NonZeroU64>,
    /// Text only: how many bytes of the first line to leave out. For going on within a line that is too long
    /// for one answer, as the end of that answer says.
    #[serde(default)]
    line_byte: u64,
    /// Also give the SHA-256 of the whole file, which `workspace_write` takes as `expected_sha256`.
    #[serde(default)]
    sha256: bool,
}

fn first_line() -> NonZeroU64 {
    NonZeroU64::MIN
}

impl Tool for Read {
    const ABOUT: About = About {
        name: "workspace_read",
        title: "Read a file",
        summary: "Read a file of the workspace, or several. Text is shown as it is, whole or a range of lines \
                  (`offset`, `limit`, `tail`), as much as fits into one answer; a second block then says which lines these are and how \
                  to read on. Pictures (PNG, JPEG, GIF, WebP), sounds (WAV, MP3, Ogg, FLAC) and other binary files are \
                  shown as such, up to 5 MiB.",
        effect: Effect::Reads,
        arguments: ArgumentRoles { paths: &["path", "paths"], ..ArgumentRoles::NONE },
        scopes: &["read_workspace"],
        needs: &[],
        idempotent: true,
        open_world: false,
        timeout: Duration::from_secs(30),
        examples: &[
            Example { title: "A whole file", arguments: r#"{"path": "notes.md"}"# },
            Example {
                title: "Lines 201 to 300",
                arguments: r#"{"path": "src/main.rs", "offset": 201, "limit": 100}"#,
            },
        ],
    };
    type Input = Input;
    type Output = Document;

    async fn run(&self, input: Input, cx: &Context) -> Result<Document, ToolError> {
        if input.paths.len() > PATHS_MAX {
            let message =
                format!("`paths` takes at most {PATHS_MAX} files; read the others with another call");
            return Err(ToolError::new("invalid_arguments", message));
        }
        let is_cut = input.limit.is_some() || input.offset != first_line() || input.line_byte > 0;
        let is_several = !input.paths.is_empty();
        if is_cut && (is_several || input.tail.is_some()) {
            let message = "`offset`, `limit` and `line_byte` are for one file, without `tail`";
            return Err(ToolError::new("invalid_arguments", message));
        }
        if !is_several {
            return self.one(&input.path, &input, 1, cx).await;
        }
        let names: Vec<&String> = std::iter::once(&input.path).chain(&input.paths).collect();
        let (mut blocks, mut media_bytes, files) = (Vec::new(), 0, names.len());
        for name in names {
            let shown = match self.one(name, &input, files, cx).await {
                Ok(shown) => shown.0,
                Err(error) if error.code() == ToolError::WORKSPACE_GONE => return Err(error),
                // One that cannot be read keeps the others from nobody.
                Err(error) => vec![Block::Text(format!("[{error}]"))],
            };
            let is_text = |block: &Block| matches!(block, Block::Text(_));
            media_bytes += shown.iter().filter(|block| !is_text(block)).map(Block::bytes).sum::<usize>();
            blocks.push(Block::Text(format!("[{}:]", OnOneLine(name))));
            match media_bytes > MEDIA_BYTES_MAX {
                true => blocks.push(Block::Text("[Too much that is no text; read it by itself.]".to_owned())),
                false => blocks.extend(shown),
            }
        }
        Ok(Document(blocks))
    }
}

impl Read {
    /// One of so many, which share what an answer holds.
    async fn one(
        &self,
        name: &str,
        input: &Input,
        files: usize,
        cx: &Context,
    ) -> Result<Document, ToolError> {
        let path = cx.files.locate(name).map_err(refused)?;
        let head = match cx.files.read(&path, 0, INLINE_BYTES_MAX) {
            Ok(head) => head,
            Err(error) => return or_nearest(Err(refused(error)), &path, cx).await,
        };
        let range = TextRange {
            first_line: input.offset.get(),
            line_byte: input.line_byte,
            lines_max: Some(input.limit.map_or(LINES_MAX / files as u64, NonZeroU64::get)),
        };
        let tail = input.tail.map(NonZeroU64::get);
        let secrets = cx.secrets.clone();
        let asked = Asked {
            path,
            range,
            tail,
            sha256: input.sha256,
            text_bytes_max: self.text_bytes_max / files,
            secrets,
        };
        if head.total_bytes <= INLINE_BYTES_MAX as u64 {
            return asked.small(head, &cx.cancel);
        }
        let (files, cancel) = (cx.files.clone(), cx.cancel.clone());
        cx.blocking(move || asked.large(head, &files, &cancel)).await
    }
}

#[cfg(test)]
mod secret_tests;
#[cfg(test)]
mod several_tests;
#[cfg(test)]
mod tests;
