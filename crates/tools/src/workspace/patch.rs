//! `workspace_patch`: a unified diff over several files, applied whole or not at all. What it wants is read by `plan`, with the
//! counts that `hunk_counts` puts right; where a hunk fits is found by `hunks`, and `steps` does it and undoes it.

mod hunk_counts;
mod hunks;
mod looking;
mod plan;
mod steps;

use std::fmt;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tool_api::{About, ArgumentRoles, Context, Effect, Example, Structured, Tool, ToolError};

use super::file_error::refused;
use super::mover::Mover;
use super::writer::Writer;
use crate::plain_schema::plain;
use looking::Looking;
use plan::Plan;

/// The longest patch, in bytes.
const PATCH_BYTES_MAX: usize = 2 * 1024 * 1024;

/// Most files of one.
const FILES_MAX: usize = 200;

/// Most lines of context at each end of a hunk that may differ.
const FUZZ_MAX: u8 = 3;

/// Applies a patch.
#[derive(Debug)]
pub(crate) struct ApplyPatch;

/// The arguments of `workspace_patch`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(transform = plain)]
pub(crate) struct Input {
    /// A unified diff, as `git diff` or `diff -u` makes it.
    patch: String,
    /// Every file that it changes, adds, deletes or renames, under old and new names.
    #[schemars(length(min = 1, max = FILES_MAX))]
    paths: Vec<String>,
    /// How many lines of context at each end of a hunk may differ.
    #[serde(default)]
    #[schemars(range(max = FUZZ_MAX))]
    fuzz: u8,
}

/// What was patched.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(transform = plain)]
pub(crate) struct Patched {
    /// Each file with what became of it.
    files: Vec<PatchedFile>,
}

/// A file that was patched.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline)]
struct PatchedFile {
    path: String,
    change: String,
}

impl fmt::Display for Patched {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (nth, PatchedFile { path, change }) in self.files.iter().enumerate() {
            write!(out, "{}{path}: {change}", if nth > 0 { "\n" } else { "" })?;
        }
        Ok(())
    }
}

impl Tool for ApplyPatch {
    const ABOUT: About = About {
        name: "workspace_patch",
        title: "Apply a patch",
        summary: "Apply a unified diff to several files, all or none: changes, new and deleted files, renames and \
                  modes of git's form, and plain `diff -u`. A hunk may stand on other lines than it says, and its \
                  counts may be wrong; its context must be exact unless `fuzz` says otherwise. What does not fit is told \
                  hunk by hunk.",
        effect: Effect::Writes,
        arguments: ArgumentRoles { paths: &["paths"], writes: &["paths"], ..ArgumentRoles::NONE },
        scopes: &["read_workspace", "write_workspace"],
        needs: &[],
        idempotent: false,
        open_world: false,
        timeout: Duration::from_secs(60),
        examples: &[Example {
            title: "One line",
            arguments: r##"{"paths": ["notes.md"], "patch": "--- notes.md\n+++ notes.md\n@@ -1 +1 @@\n-# Notes\n+# Plans\n"}"##,
        }],
    };
    type Input = Input;
    type Output = Structured<Patched>;

    async fn run(&self, input: Input, cx: &Context) -> Result<Structured<Patched>, ToolError> {
        if input.patch.len() > PATCH_BYTES_MAX || input.paths.len() > FILES_MAX {
            let message =
                format!("a patch has at most {PATCH_BYTES_MAX} bytes and {FILES_MAX} files; cut it");
            return Err(ToolError::new("too_large", message));
        }
        let paths: Result<Vec<_>, _> = input.paths.iter().map(|path| cx.files.locate(path)).collect();
        let (paths, writer, mover) = (paths.map_err(refused)?, Writer::of(cx), Mover::of(cx));
        cx.blocking(move || {
            writer.check_cancel()?;
            let looking = Looking::new(&writer.cancel, writer.secrets.as_deref());
            let fuzz = input.fuzz.min(FUZZ_MAX).into();
            let plan = Plan::of(&input.patch, &paths, fuzz, &writer.files, &looking)?;
            steps::done(plan.steps, &writer, mover)?;
            let files = plan.told.into_iter().map(|(path, change)| PatchedFile { path, change }).collect();
            Ok(Structured(Patched { files }))
        })
        .await
    }
}

#[cfg(test)]
mod tests;
