//! `workspace_edit`: exact pieces of a text file replaced, all or none. Finding them is left to `edits`, how the text is
//! written to `whole_text`.

use std::fmt;
use std::num::NonZeroU32;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tool_api::{About, ArgumentRoles, Context, Effect, Example, Inside, Structured, Tool, ToolError};

use super::edits::{Edit, edited};
use super::file_error::refused;
use super::near_paths::or_nearest;
use super::whole_text::WholeText;
use super::writer::Writer;
use crate::plain_schema::plain;

/// Most edits of one call.
const EDITS_MAX: usize = 100;

/// Edits a file of the workspace.
#[derive(Debug)]
pub(crate) struct EditFile;

/// The arguments of `workspace_edit`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(transform = plain)]
pub(crate) struct Input {
    /// The file.
    path: String,
    /// The replacements, made one after the other.
    #[schemars(length(min = 1, max = EDITS_MAX))]
    edits: Vec<Replacement>,
    /// Edit only if the file has this SHA-256.
    #[schemars(extend("pattern" = "^[0-9a-fA-F]{64}$"))]
    expected_sha256: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
struct Replacement {
    /// The text to replace, exactly as it stands in the file, with its indentation.
    old_text: String,
    /// What is to stand there.
    new_text: String,
    /// How many times `old_text` stands there; all are replaced. Default: 1.
    count: Option<NonZeroU32>,
}

/// What was edited.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(transform = plain)]
pub(crate) struct Edited {
    /// The file, relative to the workspace.
    path: String,
    /// How many places were replaced.
    replaced: usize,
    /// Its size now.
    bytes: u64,
    /// The SHA-256 of its content now.
    sha256: String,
}

impl fmt::Display for Edited {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let places = if self.replaced == 1 { "place" } else { "places" };
        write!(out, "Edited {}: {} {places}\nsha256: {}", self.path, self.replaced, self.sha256)
    }
}

impl Tool for EditFile {
    const ABOUT: About = About {
        name: "workspace_edit",
        title: "Edit a file",
        summary: "Replace exact pieces of a text file. `old_text` must stand in the file as often as `count` says, once \
                  by default; take lines around it to make it unique. Several edits are made in order, all or none. \
                  Encoding, line ends and mode are kept.",
        effect: Effect::Writes,
        arguments: ArgumentRoles { paths: &["path"], writes: &["path"], ..ArgumentRoles::NONE },
        scopes: &["read_workspace", "write_workspace"],
        needs: &[],
        idempotent: false,
        open_world: false,
        timeout: Duration::from_secs(30),
        examples: &[Example {
            title: "One line",
            arguments: r##"{"path": "notes.md", "edits": [{"old_text": "# Notes", "new_text": "# Plans"}]}"##,
        }],
    };
    type Input = Input;
    type Output = Structured<Edited>;

    async fn run(&self, input: Input, cx: &Context) -> Result<Structured<Edited>, ToolError> {
        let path = cx.files.locate(&input.path).map_err(refused)?;
        if !(1..=EDITS_MAX).contains(&input.edits.len()) {
            return Err(ToolError::new("invalid_edit", format!("`edits` takes 1 to {EDITS_MAX} of them")));
        }
        let (writer, at) = (Writer::of(cx), path.clone());
        let made = cx.blocking(move || input.made(&writer, &at)).await;
        or_nearest(made, &path, cx).await.map(Structured)
    }
}

impl Input {
    /// Makes all the edits, or none. Blocks.
    fn made(&self, writer: &Writer, path: &Inside) -> Result<Edited, ToolError> {
        writer.check_cancel()?;
        let text = WholeText::read(&writer.files, path)?;
        text.check(self.expected_sha256.as_deref())?;
        let edits: Vec<_> = self.edits.iter().map(Replacement::edit).collect();
        let (new, replaced) = edited(text.text(), &edits)?;
        let new = text.written(path, new)?;
        let done = writer.put(path, &new, &text.expected())?;
        Ok(Edited { path: path.to_string(), replaced, bytes: done.bytes, sha256: done.sha256 })
    }
}

impl Replacement {
    fn edit(&self) -> Edit<'_> {
        let count = self.count.map_or(1, |count| count.get() as usize);
        Edit { old: &self.old_text, new: &self.new_text, count }
    }
}

#[cfg(test)]
mod tests;
