//! `Mover`: moves, deletes and puts back for the tools that do; a dry run tells what would change in place of changing it.

use std::sync::Arc;

use tool_api::{
    Cancel, Change, Context, DryRun, FileError, Inside, IsHeld, PathRules, Root, ToolError, Trashed,
};

use super::file_error::refused;

/// What it takes of a call's hands.
pub(super) struct Mover {
    pub(super) files: Root,
    pub(super) cancel: Cancel,
    pub(super) dry_run: Option<Arc<DryRun>>,
    pub(super) rules: Option<Arc<dyn PathRules>>,
}

impl Mover {
    pub(super) fn of(cx: &Context) -> Mover {
        let (files, cancel) = (cx.files.clone(), cx.cancel.clone());
        Mover { files, cancel, dry_run: cx.dry_run.clone(), rules: cx.path_rules.clone() }
    }

    /// For what is done whole once it is begun.
    pub(super) fn never_cancelled(self) -> Mover {
        Mover { cancel: Cancel::new(), ..self }
    }

    pub(super) fn move_to(&self, from: &Inside, to: &Inside) -> Result<(), ToolError> {
        self.change(
            |is_held| self.files.preview_move(from, to, is_held),
            |is_held| self.files.move_to(from, to, is_held),
        )
    }

    /// Nothing came to the trash if nothing was to change.
    pub(super) fn delete(&self, path: &Inside, takes_all: bool) -> Result<Option<Trashed>, ToolError> {
        let mut trashed = None;
        self.change(
            |is_held| self.files.preview_delete(path, takes_all, is_held),
            |is_held| {
                trashed = Some(self.files.delete(path, takes_all, is_held)?);
                Ok(())
            },
        )?;
        Ok(trashed)
    }

    pub(super) fn restore(&self, trashed: &Trashed) -> Result<(), ToolError> {
        self.change(
            |is_held| self.files.preview_restore(trashed, is_held),
            |is_held| self.files.restore(trashed, is_held),
        )
        .map_err(|error| {
            if error.code() != "exists" {
                return error;
            }
            // It goes to no other path.
            let why = "already; move it away or delete it first, and then restore";
            ToolError::new("exists", format!("something is at {} {why}", trashed.path))
        })
    }

    fn change(
        &self,
        preview: impl FnOnce(IsHeld<'_>) -> Result<Vec<Change>, FileError>,
        done: impl FnOnce(IsHeld<'_>) -> Result<(), FileError>,
    ) -> Result<(), ToolError> {
        if self.cancel.is_cancelled() {
            return Err(ToolError::cancelled());
        }
        let is_held = |path: &str| self.rules.as_ref().is_some_and(|rules| rules.concern(path));
        match &self.dry_run {
            Some(dry_run) => {
                preview(&is_held).map_err(refused)?.into_iter().for_each(|change| dry_run.would(change));
                Ok(())
            }
            None => done(&is_held).map_err(refused),
        }
    }
}
