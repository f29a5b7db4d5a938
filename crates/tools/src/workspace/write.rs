//! `workspace_write`: one file, replaced or created whole. That readers see the old content or the new is
//! the sandbox's affair.

use std::fmt;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_PAD_INDIFFERENT;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tool_api::{
    About, ArgumentRoles, Context, Effect, Example, Expect, FileError, Structured, Tool, ToolError,
};

use super::file_error::refused;
use super::writer::{CONTENT_BYTES_MAX, Writer};
use crate::plain_schema::plain;

/// Writes a file of the workspace.
#[derive(Debug)]
pub(crate) struct Write;

/// The arguments of `workspace_write`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(transform = plain)]
pub(crate) struct Input {
    /// The file, for example `notes.md` or `/workspace/src/main.rs`. Missing folders are created.
    path: String,
    /// The whole new content, at most 10 MiB.
    content: String,
    /// How `content` is given: `utf8` as the text itself, `base64` for other bytes.
    #[serde(default)]
    encoding: Encoding,
    /// Write only if the present file has this SHA-256 (64 hexadecimal digits); the empty string: only if there is
    /// no file yet. Guards against overwriting somebody else's change.
    #[schemars(extend("pattern" = "^([0-9a-fA-F]{64})?$"))]
    expected_sha256: Option<String>,
}

#[derive(Debug, Clone, Copy, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
enum Encoding {
    #[default]
    Utf8,
    Base64,
}

/// What was written.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(transform = plain)]
pub(crate) struct Written {
    /// The file, relative to the workspace.
    path: String,
    /// Its size now.
    bytes: u64,
    /// True if there was no such file before.
    created: bool,
    /// The SHA-256 of its content now.
    sha256: String,
}

impl fmt::Display for Written {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Wrote {} bytes to {}\nsha256: {}", self.bytes, self.path, self.sha256)
    }
}

impl Tool for Write {
    const ABOUT: About = About {
        name: "workspace_write",
        title: "Write a file",
        summary: "Create a file of the workspace, or replace its whole content, at most 10 MiB. The file is replaced \
                  at once: readers see the old content or the new. Missing folders are created; the file's mode is \
                  kept. With `expected_sha256` a file that has changed meanwhile is left alone. `[REDACTED:…]` stands in \
                  place of a secret: content with it never replaces a file that holds secrets.",
        effect: Effect::Writes,
        arguments: ArgumentRoles { paths: &["path"], writes: &["path"], ..ArgumentRoles::NONE },
        scopes: &["write_workspace"],
        needs: &[],
        idempotent: true,
        open_world: false,
        timeout: Duration::from_secs(30),
        examples: &[
            Example { title: "A file", arguments: r##"{"path": "notes.md", "content": "# Notes\n"}"## },
            Example {
                title: "A file that must not exist yet",
                arguments: r#"{"path": "docs/new.md", "content": "", "expected_sha256": ""}"#,
            },
        ],
    };
    type Input = Input;
    type Output = Structured<Written>;

    async fn run(&self, input: Input, cx: &Context) -> Result<Structured<Written>, ToolError> {
        let path = cx.files.locate(&input.path).map_err(refused)?;
        if input.path.ends_with('/') {
            let why = format!(
                "`path` ends with /, as no file's does; to write into a folder, name the file: {path}/NAME"
            );
            return Err(ToolError::new("invalid_path", why));
        }
        let expect = match input.expected_sha256 {
            None => Expect::Anything,
            Some(digits) if digits.is_empty() => Expect::Absent,
            // What is no SHA-256, which the schema has refused, is that of no file.
            Some(digits) => Expect::Sha256(digits),
        };
        let content = decoded(input.content, input.encoding)?;
        let writer = Writer::of(cx);
        cx.blocking(move || {
            writer.check_cancel()?;
            let done = writer.put(&path, &content, &expect)?;
            let path = path.to_string();
            Ok(Structured(Written { path, bytes: done.bytes, created: done.created, sha256: done.sha256 }))
        })
        .await
    }
}

fn decoded(content: String, encoding: Encoding) -> Result<Vec<u8>, ToolError> {
    let bytes = match encoding {
        Encoding::Utf8 => content.into_bytes(),
        Encoding::Base64 => STANDARD_PAD_INDIFFERENT.decode(&content).map_err(|error| {
            ToolError::new(
                "invalid_content",
                "the content is not base64 (standard alphabet, no spaces or line breaks)",
            )
            .with_source(error)
        })?,
    };
    if bytes.len() > CONTENT_BYTES_MAX {
        return Err(refused(FileError::TooLarge {
            what: "the content",
            max: CONTENT_BYTES_MAX,
            unit: "bytes",
        }));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests;
