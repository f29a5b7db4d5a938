//! `workspace_read`: one file, shown to a model. How its bytes become content is left to `content`.

use std::num::NonZeroU64;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use tool_api::{About, ArgumentRoles, Context, Document, Effect, Example, Tool, ToolError};

use super::content::Asked;
use super::file_error::refused;
use super::text_range::TextRange;
use crate::plain_schema::plain;

/// Files up to this size are read where the call arrived: that takes some microseconds, less than asking
/// another thread.
const INLINE_BYTES_MAX: usize = 256 * 1024;

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
        summary: "Read a file of the workspace. Text is shown as it is, whole or a range of lines (`offset`, \
                  `limit`), as much as fits into one answer; a second block then says which lines these are and how \
                  to read on. Pictures (PNG, JPEG, GIF, WebP), sounds (WAV, MP3, Ogg, FLAC) and other binary files are \
                  shown as such, up to 5 MiB.",
        effect: Effect::Reads,
        arguments: ArgumentRoles { paths: &["path"], ..ArgumentRoles::NONE },
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
        let path = cx.files.locate(&input.path).map_err(refused)?;
        let head = cx.files.read(&path, 0, INLINE_BYTES_MAX).map_err(refused)?;
        let range = TextRange {
            first_line: input.offset.get(),
            line_byte: input.line_byte,
            lines_max: input.limit.map(NonZeroU64::get),
        };
        let asked = Asked { path, range, sha256: input.sha256, text_bytes_max: self.text_bytes_max };
        if head.total_bytes <= INLINE_BYTES_MAX as u64 {
            return asked.small(head, &cx.cancel);
        }
        let (files, cancel) = (cx.files.clone(), cx.cancel.clone());
        cx.blocking(move || asked.large(head, &files, &cancel)).await
    }
}

#[cfg(test)]
mod tests;
