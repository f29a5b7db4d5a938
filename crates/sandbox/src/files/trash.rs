//! The trash of a workspace: a folder of ours, to which what tools delete is moved, and from which it is put back.
//!
//! It is bounded in number, bytes and age: what is oldest goes for good when something is added. Where it lies on another
//! file system than the workspace, an entry is copied and then removed: what changes in between is lost, and owners, times,
//! hard links and extended attributes are not kept.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use cap_std::fs::Dir;
use data_encoding::HEXLOWER;
use sha2::{Digest as _, Sha256};

use super::copied::copy_tree;
use super::error::FileError;
use super::inside::Inside;
use super::movement::{IsHeld, Spot};
use super::notes::{
    NOTE, TRASH_LASTS, Trashed, folder, id_and_time, listed, listed_at, now_ms, written_note,
};
use super::replaced::{opened as opened_replaced, replaced_beside};
use super::root::Root;
use super::tree::Tree;
use super::write::temporary_name;
use crate::change::{Change, What};

/// Most that is kept of one workspace.
pub const TRASH_ENTRIES_MAX: usize = 200;

/// Most bytes of it.
pub const TRASH_BYTES_MAX: u64 = 1024 * 1024 * 1024;

impl Root {
    /// The same folder, from which things are deleted to a trash below `folder`, which is made when it is first used.
    #[must_use]
    pub fn with_trash(&self, folder: &Path) -> Root {
        let name = &HEXLOWER.encode(&Sha256::digest(self.path().as_os_str().as_encoded_bytes()))[..32];
        Root { trash: Some(folder.join(name).into()), ..self.clone() }
    }

    /// Moves what is at `path` to the trash: a folder that is not empty only if it `takes_all`.
    pub fn delete(&self, path: &Inside, takes_all: bool, is_held: IsHeld<'_>) -> Result<Trashed, FileError> {
        self.refuse_reading_only()?;
        let (spot, tree) = self.deleted(path, takes_all, is_held)?;
        let trash = self.trash(true)?;
        let (id, note) = noted(path, &tree)?;
        self.write_note(&trash, &id, &note).map_err(FileError::Io)?;
        if let Err(error) = self.put_in(&trash, &id, &spot, path) {
            forget_if_gone(&trash, &id);
            return Err(error);
        }
        self.sync(&spot.folder, path)?;
        empty(&trash, &id);
        Ok(Trashed { id, ..note })
    }

    /// On disk before its entry is: a power cut leaves no entry that nobody can put back.
    fn write_note(&self, trash: &Dir, id: &str, note: &Trashed) -> io::Result<()> {
        let ops = &*self.opened.ops;
        let file = written_note(ops, trash, id, note)?;
        ops.sync(&file).inspect_err(|_| forget_if_gone(trash, id))
    }

    fn put_in(&self, trash: &Dir, id: &str, spot: &Spot, path: &Inside) -> Result<(), FileError> {
        let kept = self.spot_in(trash, id)?;
        match self.put_at(spot, &kept, path) {
            Err(FileError::OtherFileSystem) => {
                let carried =
                    copy(spot, &kept).and_then(|()| take_away(spot).inspect_err(|_| discard(&kept)));
                carried.map_err(FileError::of(path))
            }
            moved => moved,
        }
    }

    /// What [`Root::delete`] would change.
    pub fn preview_delete(
        &self,
        path: &Inside,
        takes_all: bool,
        is_held: IsHeld<'_>,
    ) -> Result<Vec<Change>, FileError> {
        let (spot, tree) = self.deleted(path, takes_all, is_held)?;
        self.changes(&spot, &tree, path, What::Removed)
    }

    fn deleted(
        &self,
        path: &Inside,
        takes_all: bool,
        is_held: IsHeld<'_>,
    ) -> Result<(Spot, Tree), FileError> {
        if self.trash.is_none() {
            return Err(FileError::NoTrash);
        }
        let spot = self.spot(path)?;
        let tree = Tree::of(&spot.folder, &spot.name, path)?;
        self.check_tree(&tree, path, &spot.real, is_held)?;
        if tree.entries.len() > 1 && !takes_all {
            return Err(FileError::NotEmpty(path.clone()));
        }
        if tree.bytes > TRASH_BYTES_MAX {
            let max = (TRASH_BYTES_MAX / 1024 / 1024) as usize;
            return Err(FileError::TooLarge {
                what: "what would be deleted",
                max,
                unit: "MiB, which is all that the trash holds",
            });
        }
        Ok((spot, tree))
    }

    /// All that is in the trash, and all that was replaced, the newest first.
    pub fn trashed(&self) -> Result<Vec<Trashed>, FileError> {
        let trash = self.trash_folder()?;
        let mut all = listed_at(trash).map_err(FileError::Io)?;
        all.extend(listed_at(&replaced_beside(trash)).map_err(FileError::Io)?);
        all.sort_unstable_by(|one, other| other.id.cmp(&one.id));
        Ok(all)
    }

    /// Puts something of the trash back to where it was, unless something is there; what was replaced, if the file is as it
    /// was left.
    pub fn restore(&self, trashed: &Trashed, is_held: IsHeld<'_>) -> Result<(), FileError> {
        self.refuse_reading_only()?;
        let (trash, kept, path) = self.kept(trashed, is_held)?;
        if let Some(left) = trashed.left.as_deref().filter(|_| self.is_there(&path)) {
            return self.put_back(trashed, &path, left);
        }
        let target = self.spot_for_writing(&path)?;
        if trashed.left.is_some() {
            // No disk was waited for when it was kept, and perhaps not when it was written, either.
            let file = opened_replaced(&trash, &trashed.id).map_err(FileError::of(&path))?;
            self.opened.ops.sync(&file).map_err(FileError::Io)?;
        }
        match self.put_at(&kept, &target, &path) {
            Err(FileError::OtherFileSystem) => {
                let beside = Spot { name: temporary_name()?.into(), ..self.spot(&path)? };
                copy(&kept, &beside).map_err(FileError::of(&path))?;
                self.put_at(&beside, &target, &path).inspect_err(|_| discard(&beside))?;
                // Only now that it is back. What cannot be taken away stays listed.
                let _ = take_away(&kept);
            }
            moved => moved?,
        }
        forget_if_gone(&trash, &trashed.id);
        Ok(())
    }

    /// What [`Root::restore`] would change.
    pub fn preview_restore(&self, trashed: &Trashed, is_held: IsHeld<'_>) -> Result<Vec<Change>, FileError> {
        let (_, kept, path) = self.kept(trashed, is_held)?;
        match &trashed.left {
            Some(left) if self.is_there(&path) => {
                return Ok(vec![self.preview_put_back(trashed, &path, left)?]);
            }
            None if self.is_there(&path) => return Err(FileError::Exists(path)),
            Some(_) | None => {}
        }
        let tree = Tree::of(&kept.folder, &kept.name, &path)?;
        self.changes(&kept, &tree, &path, What::Added)
    }

    fn kept(&self, trashed: &Trashed, is_held: IsHeld<'_>) -> Result<(Dir, Spot, Inside), FileError> {
        let path = self.locate(&trashed.path)?;
        let trash = match trashed.left {
            Some(_) => self.replaced_folder(false)?,
            None => self.trash(false)?,
        };
        let kept = self.spot_in(&trash, &trashed.id)?;
        let tree = Tree::of(&kept.folder, &kept.name, &path)?;
        let real = self.real_target(path.as_path()).map_err(FileError::of(&path))?;
        self.check_tree(&tree, &path, &real, is_held)?;
        Ok((trash, kept, path))
    }

    fn is_there(&self, path: &Inside) -> bool {
        self.spot(path).is_ok_and(|spot| Tree::of(&spot.folder, &spot.name, path).is_ok())
    }

    fn trash(&self, makes: bool) -> Result<Dir, FileError> {
        folder(self.trash_folder()?, makes).map_err(FileError::Io)
    }

    pub(super) fn trash_folder(&self) -> Result<&Path, FileError> {
        self.trash.as_deref().ok_or(FileError::NoTrash)
    }

    fn spot_in(&self, trash: &Dir, id: &str) -> Result<Spot, FileError> {
        let folder = trash.try_clone().map_err(FileError::Io)?.into_std_file();
        Spot::new(folder, Path::new(id))
    }
}

/// Removes for good what there is too much of, but not what was `added` last, whatever the clock said of the others. What
/// cannot be removed is tried again with the next.
fn empty(trash: &Dir, added: &str) {
    let Ok(mut all) = listed(trash) else { return };
    all.sort_by_key(|one| one.id != added);
    let (mut bytes, oldest) = (0_u64, now_ms().saturating_sub(TRASH_LASTS.as_millis() as u64));
    for (nth, one) in all.iter().enumerate() {
        bytes = bytes.saturating_add(one.bytes);
        let is_too_much = nth >= TRASH_ENTRIES_MAX || bytes > TRASH_BYTES_MAX || one.deleted_ms < oldest;
        if is_too_much && one.id != added {
            let _ = remove(trash, Path::new(&one.id));
            forget_if_gone(trash, &one.id);
        }
    }
}

/// Removes a note whose entry is not there any more: one that is there would never be removed without it.
fn forget_if_gone(trash: &Dir, id: &str) {
    if trash.symlink_metadata(id).is_err_and(|error| error.kind() == ErrorKind::NotFound) {
        let _ = trash.remove_file(format!("{id}{NOTE}"));
    }
}

/// Copies an entry to another file system, all of it or nothing.
fn copy(from: &Spot, to: &Spot) -> io::Result<()> {
    let (source, target) = (opened(&from.folder)?, opened(&to.folder)?);
    copy_tree((&source, &from.name), (&target, &to.name)).inspect_err(|_| discard(to))
}

/// Removes what was copied to where it is not needed. Best effort: the failure to be reported is another.
fn discard(copied: &Spot) {
    let _ = opened(&copied.folder).and_then(|folder| remove(&folder, &copied.name));
}

/// Removes what has been copied from its place at once, under another name first. Once it is out of its place it is gone,
/// even if some of it cannot be removed.
fn take_away(copied: &Spot) -> io::Result<()> {
    let folder = opened(&copied.folder)?;
    let hidden: PathBuf = temporary_name().map_err(io::Error::other)?.into();
    folder.rename(&copied.name, &folder, &hidden)?;
    let _ = remove(&folder, &hidden);
    Ok(())
}

fn opened(folder: &File) -> io::Result<Dir> {
    Ok(Dir::from_std_file(folder.try_clone()?))
}

fn remove(folder: &Dir, name: &Path) -> io::Result<()> {
    match folder.symlink_metadata(name)?.is_dir() {
        true => folder.remove_dir_all(name),
        false => folder.remove_file(name),
    }
}

/// What is known of something that goes to the trash, and by what.
fn noted(path: &Inside, tree: &Tree) -> Result<(String, Trashed), FileError> {
    let (id, deleted_ms) = id_and_time().map_err(FileError::Io)?;
    let (entries, bytes, is_folder) = (tree.entries.len(), tree.bytes, tree.is_folder());
    let path = path.as_str().to_owned();
    Ok((id, Trashed { path, deleted_ms, entries, bytes, is_folder, ..Trashed::default() }))
}

#[cfg(test)]
mod tests;
