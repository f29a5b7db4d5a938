//! `workspace_restore`: what tools have deleted or replaced is listed, and put back.

use std::collections::HashMap;
use std::fmt;
use std::time::Duration;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tool_api::{
    About, ArgumentRoles, Context, Effect, Example, Inside, Structured, Tool, ToolError, Trashed,
};

use super::file_error::refused;
use super::listing::OnOneLine;
use super::mover::Mover;
use crate::plain_schema::plain;

/// Most that is listed, the newest first.
const LISTED_MAX: usize = 100;

/// Most earlier contents of one file among them.
const LISTED_OF_FILE_MAX: usize = 5;

/// Puts back what was deleted or replaced.
#[derive(Debug)]
pub(crate) struct Restore;

/// The arguments of `workspace_restore`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(transform = plain)]
pub(crate) struct Input {
    /// Where it was, and where it is put. Without it, what can be put back is listed.
    path: Option<String>,
    /// Which of several that were there. Default: the last that no undoing has replaced.
    id: Option<String>,
}

/// What was put back, or can be.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(transform = plain)]
pub(crate) struct Restored {
    /// Where it is again.
    #[serde(skip_serializing_if = "Option::is_none")]
    restored: Option<String>,
    /// What can be put back, the newest first.
    #[serde(skip_serializing_if = "Option::is_none")]
    deleted: Option<Vec<Deleted>>,
}

/// Something in the trash.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline)]
struct Deleted {
    id: String,
    path: String,
    deleted: String,
    entries: usize,
    bytes: u64,
    /// It was replaced and not deleted.
    replaced: bool,
    /// What has replaced it was an undoing.
    #[serde(skip)]
    undone: bool,
}

impl fmt::Display for Restored {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(path) = &self.restored {
            return write!(out, "Restored {path}");
        }
        let all = self.deleted.as_deref().unwrap_or_default();
        for Deleted { id, path, deleted, entries, bytes, replaced, undone } in all {
            let entries = if *entries > 1 { format!("\t{entries} entries") } else { String::new() };
            let replaced = match (*replaced, *undone) {
                (_, true) => "\treplaced by an undoing",
                (true, false) => "\treplaced",
                (false, false) => "",
            };
            writeln!(out, "{}\t{bytes}{entries}\t{deleted}\t{id}{replaced}", OnOneLine(path))?;
        }
        if all.is_empty() { write!(out, "[Nothing that was deleted or replaced is kept.]") } else { Ok(()) }
    }
}

impl Tool for Restore {
    const ABOUT: About = About {
        name: "workspace_restore",
        title: "Undo a change",
        summary: "Put back what workspace_delete deleted at `path`, or what the file was before a tool wrote it last; never \
                  over something newer. Without `path`: list what can be put back.",
        effect: Effect::Writes,
        arguments: ArgumentRoles { paths: &["path"], writes: &["path"], ..ArgumentRoles::NONE },
        scopes: &["read_workspace", "write_workspace"],
        needs: &[],
        idempotent: false,
        open_world: false,
        timeout: Duration::from_secs(60),
        examples: &[Example { title: "What can be put back", arguments: "{}" }],
    };
    type Input = Input;
    type Output = Structured<Restored>;

    async fn run(&self, input: Input, cx: &Context) -> Result<Structured<Restored>, ToolError> {
        let path = input.path.as_deref().map(|path| cx.files.locate(path)).transpose().map_err(refused)?;
        if path.is_none() && input.id.is_some() {
            return Err(ToolError::new("invalid_arguments", "say `path` beside `id`: where it was"));
        }
        let mover = Mover::of(cx);
        cx.blocking(move || {
            let all = mover.files.trashed().map_err(refused)?;
            let Some(path) = path else {
                let deleted = listed(all).map(Deleted::of).collect();
                return Ok(Structured(Restored { restored: None, deleted: Some(deleted) }));
            };
            let of_path = all.iter().filter(|one| one.path == path.as_str());
            let is_it = |one: &&Trashed| match &input.id {
                Some(id) => one.id == *id,
                None => !one.is_undone,
            };
            let found = of_path.clone().find(is_it);
            let found = found.ok_or_else(|| none_found(&path, of_path.clone().find(|one| one.is_undone)))?;
            mover.restore(found)?;
            Ok(Structured(Restored { restored: Some(path.to_string()), deleted: None }))
        })
        .await
    }
}

/// What an undoing has replaced comes back only if it is asked for.
fn none_found(path: &Inside, undone: Option<&Trashed>) -> ToolError {
    let message = match undone {
        None => format!("nothing that was at {path} is kept; without `path` you see what is"),
        Some(Trashed { id, .. }) => {
            format!(
                "nothing earlier of {path} is kept; what the last undoing replaced is put back with id {id}"
            )
        }
    };
    ToolError::new("not_found", message)
}

/// The newest, and of a file that was written often not so many that they hide others.
fn listed(all: Vec<Trashed>) -> impl Iterator<Item = Trashed> {
    let mut replaced: HashMap<String, usize> = HashMap::new();
    let is_listed = move |one: &Trashed| {
        let count = replaced.entry(one.path.clone()).or_default();
        *count += usize::from(one.left.is_some());
        one.left.is_none() || *count <= LISTED_OF_FILE_MAX
    };
    all.into_iter().filter(is_listed).take(LISTED_MAX)
}

impl Deleted {
    fn of(trashed: Trashed) -> Deleted {
        let Trashed { id, path, deleted_ms, entries, bytes, is_folder: _, left, is_undone } = trashed;
        let second = i64::try_from(deleted_ms / 1000).unwrap_or_default();
        let deleted = Timestamp::from_second(second).unwrap_or(Timestamp::UNIX_EPOCH).to_string();
        Deleted { id, path, deleted, entries, bytes, replaced: left.is_some(), undone: is_undone }
    }
}
