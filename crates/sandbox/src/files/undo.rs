//! Putting back what a file was before a tool replaced it.

use std::io;
use std::path::Path;

use cap_std::fs::Dir;
use rustix::fs::RenameFlags;

use super::error::FileError;
use super::inside::Inside;
use super::notes::{NOTE, Trashed, listed, written_note};
use super::replaced::{content, forget};
use super::root::Root;
use super::write::{Expect, Written};
use crate::change::Change;

impl Root {
    /// Gives a file back what a write of ours, which left it with this SHA-256, has replaced, as if that had not been: nothing is
    /// kept of either.
    pub fn take_back(&self, path: &Inside, before: &[u8], left: &str) -> Result<Written, FileError> {
        let expect = Expect::Sha256(left.to_owned());
        let written = Root { trash: None, ..self.clone() }.write(path, before, &expect)?;
        if let Ok(dir) = self.replaced_folder(false)
            && let Ok(all) = listed(&dir)
        {
            let is_it = |one: &&Trashed| one.path == path.as_str() && one.left.as_deref() == Some(left);
            all.iter().find(is_it).into_iter().for_each(|one| forget(&dir, &one.id));
        }
        Ok(written)
    }

    /// Gives the file the content that it had, if it is as it was left; what it has now is kept in turn.
    pub(super) fn put_back(&self, replaced: &Trashed, path: &Inside, left: &str) -> Result<(), FileError> {
        let dir = self.replaced_folder(false)?;
        let content = content(&dir, &replaced.id)?;
        let written = self.write(path, &content, &Expect::Sha256(left.to_owned()));
        let written = written.map_err(|error| since(error, path, &dir))?;
        forget(&dir, &replaced.id);
        self.mark_undone(&dir, path, &written.sha256);
        Ok(())
    }

    /// Notes of what has just been replaced that an undoing has done it. Best effort: without that, it is put back next.
    fn mark_undone(&self, dir: &Dir, path: &Inside, left: &str) {
        let all = listed(dir).unwrap_or_default();
        let is_it = |one: &Trashed| one.path == path.as_str() && one.left.as_deref() == Some(left);
        if let Some(undone) = all.into_iter().find(is_it) {
            let _ = self.exchange_note(dir, &Trashed { is_undone: true, ..undone });
        }
    }

    /// Writes a note beside the one that stands and puts it in its place: what is kept has one at any time. What a crash leaves
    /// beside goes with the oldest.
    fn exchange_note(&self, dir: &Dir, note: &Trashed) -> io::Result<()> {
        let (ops, beside) = (&*self.opened.ops, format!("{}.new", note.id));
        written_note(ops, dir, &beside, note)?;
        let folder = dir.try_clone()?.into_std_file();
        let (from, to) = (format!("{beside}{NOTE}"), format!("{}{NOTE}", note.id));
        ops.rename(&folder, &from, Path::new(&to), RenameFlags::empty())
    }

    /// What that would change.
    pub(super) fn preview_put_back(
        &self,
        replaced: &Trashed,
        path: &Inside,
        left: &str,
    ) -> Result<Change, FileError> {
        let dir = self.replaced_folder(false)?;
        let content = content(&dir, &replaced.id)?;
        let change = self.preview(path, &content, &Expect::Sha256(left.to_owned()));
        change.map_err(|error| since(error, path, &dir))
    }
}

/// What a writer would be told, for one who puts back.
fn since(error: FileError, path: &Inside, dir: &Dir) -> FileError {
    match error {
        FileError::Changed(Some(found)) => {
            let all = listed(dir).unwrap_or_default();
            let last = all.iter().find(|one| one.path == path.as_str());
            let by_us = last.is_some_and(|last| last.left.as_deref() == Some(&found));
            FileError::ChangedSince { path: path.clone(), found, by_us }
        }
        other => other,
    }
}

#[cfg(test)]
mod tests;
