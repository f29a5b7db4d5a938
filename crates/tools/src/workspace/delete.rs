//! `workspace_delete`: a file, link or folder moved to the trash, from which `workspace_restore` puts it back.

use std::fmt;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tool_api::{About, ArgumentRoles, Context, Effect, Example, Structured, Tool, ToolError};

use super::file_error::refused;
use super::mover::Mover;
use super::near_paths::or_nearest;
use crate::plain_schema::plain;

/// Deletes a file or folder.
#[derive(Debug)]
pub(crate) struct Delete;

/// The arguments of `workspace_delete`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(transform = plain)]
pub(crate) struct Input {
    /// The file, link or folder.
    path: String,
    /// Delete a folder with all that is in it.
    #[serde(default)]
    recursive: bool,
}

/// What was deleted.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(transform = plain)]
pub(crate) struct Deleted {
    /// Where it was.
    path: String,
    /// How many files, folders and links it is.
    entries: usize,
    /// What `workspace_restore` knows it by.
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
}

impl fmt::Display for Deleted {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Deleted {}", self.path)?;
        match self.entries.saturating_sub(1) {
            0 => {}
            1 => write!(out, " with 1 entry")?,
            more => write!(out, " with {more} entries")?,
        }
        self.id.as_ref().map_or(Ok(()), |id| write!(out, "; workspace_restore puts it back, id {id}"))
    }
}

impl Tool for Delete {
    const ABOUT: About = About {
        name: "workspace_delete",
        title: "Delete",
        summary: "Delete a file, or with `recursive` a folder. It goes to a trash, from which workspace_restore puts it \
                  back for some weeks.",
        effect: Effect::Writes,
        arguments: ArgumentRoles { paths: &["path"], writes: &["path"], ..ArgumentRoles::NONE },
        scopes: &["read_workspace", "write_workspace"],
        needs: &[],
        idempotent: false,
        open_world: false,
        timeout: Duration::from_secs(60),
        examples: &[Example { title: "A file", arguments: r#"{"path": "notes.md"}"# }],
    };
    type Input = Input;
    type Output = Structured<Deleted>;

    async fn run(&self, input: Input, cx: &Context) -> Result<Structured<Deleted>, ToolError> {
        let path = cx.files.locate(&input.path).map_err(refused)?;
        let (mover, asked) = (Mover::of(cx), path.clone());
        let deleted = cx.blocking(move || {
            let trashed = mover.delete(&path, input.recursive)?;
            let entries = trashed.as_ref().map_or(1, |trashed| trashed.entries);
            let id = trashed.map(|trashed| trashed.id);
            Ok(Structured(Deleted { path: path.to_string(), entries, id }))
        });
        or_nearest(deleted.await, &asked, cx).await
    }
}

#[cfg(test)]
mod tests;
