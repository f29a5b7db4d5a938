//! Moving, deleting and putting back an entry of a folder with all that is in it: a file, a link, a folder. It is renamed and
//! not copied, and never over something that stands.
//!
//! Everything in it is looked at first, where it is and where it would be: what is protected there, what others obey, and
//! what a rule is about goes with no folder.

use std::fs::File;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, RenameFlags};
use rustix::io::Errno;

use super::error::FileError;
use super::inside::Inside;
use super::path_names::real_path;
use super::root::{Access, Root};
use super::tree::{Tree, content};
use super::write::{FOLDER_FLAGS, LOOKED_AT_BYTES_MAX};
use crate::change::{Change, What};

/// Most files that a dry run tells of.
const PREVIEWED_MAX: usize = 1_000;

/// What is taken of a mode, and given.
const PERMISSION_BITS: u32 = 0o777;

/// Whether a rule is about a path, so that it goes with no folder.
pub type IsHeld<'a> = &'a dyn Fn(&str) -> bool;

/// Where an entry is or will be: an open folder and a plain name, which may be a link's.
pub(super) struct Spot {
    pub(super) folder: File,
    pub(super) name: PathBuf,
    /// Where it really is.
    pub(super) real: PathBuf,
}

impl Root {
    /// Gives what is at `from` the path `to`; missing folders are made.
    pub fn move_to(&self, from: &Inside, to: &Inside, is_held: IsHeld<'_>) -> Result<(), FileError> {
        self.refuse_reading_only()?;
        let source = self.spot(from)?;
        let tree = Tree::of(&source.folder, &source.name, from)?;
        self.check_move(&source, &tree, (from, to), is_held)?;
        let target = self.spot_for_writing(to)?;
        self.put_at(&source, &target, to)?;
        self.sync(&source.folder, from)
    }

    /// What [`Root::move_to`] would change.
    pub fn preview_move(
        &self,
        from: &Inside,
        to: &Inside,
        is_held: IsHeld<'_>,
    ) -> Result<Vec<Change>, FileError> {
        let source = self.spot(from)?;
        let tree = Tree::of(&source.folder, &source.name, from)?;
        self.check_move(&source, &tree, (from, to), is_held)?;
        if self.spot(to).is_ok_and(|spot| Tree::of(&spot.folder, &spot.name, to).is_ok()) {
            return Err(FileError::Exists(to.clone()));
        }
        let removed = self.changes(&source, &tree, from, What::Removed)?;
        let added = self.changes(&source, &tree, to, What::Added)?;
        Ok(removed.into_iter().chain(added).collect())
    }

    fn check_move(
        &self,
        source: &Spot,
        tree: &Tree,
        (from, to): (&Inside, &Inside),
        is_held: IsHeld<'_>,
    ) -> Result<(), FileError> {
        self.check_tree(tree, from, &source.real, is_held)?;
        if to.is_root() {
            return Err(FileError::Exists(to.clone()));
        }
        let real = self.real_target(to.as_path()).map_err(FileError::of(to))?;
        if real != source.real && real.starts_with(&source.real) {
            return Err(FileError::IntoItself(from.clone()));
        }
        self.check_tree(tree, to, &real, is_held)
    }

    /// Whether a file may be run, for all who may read it, from now on; the permissions it had are given back.
    pub fn set_executable(&self, path: &Inside, is_executable: bool) -> Result<u32, FileError> {
        self.change_mode(path, |mode| {
            let runs = (mode & 0o444) >> 2;
            if is_executable { mode | runs } else { mode & !0o111 }
        })
    }

    /// Gives a file the permissions that [`Root::set_executable`] gave back.
    pub fn set_permissions(&self, path: &Inside, mode: u32) -> Result<(), FileError> {
        self.change_mode(path, |_| mode & PERMISSION_BITS).map(drop)
    }

    fn change_mode(&self, path: &Inside, changed: impl FnOnce(u32) -> u32) -> Result<u32, FileError> {
        self.refuse_reading_only()?;
        let (file, _) = self.open_read(path)?;
        self.refuse_unagreed(path, &real_path(&file).map_err(FileError::Io)?)?;
        let mode = file.metadata().map_err(FileError::Io)?.permissions().mode() & PERMISSION_BITS;
        let new = Mode::from_raw_mode(changed(mode));
        self.opened.ops.set_mode(&file, new).map_err(FileError::of(path))?;
        Ok(mode)
    }

    /// Refuses what may not be written at `path` whatever it is, before anything is: each change asks again.
    pub fn check_writable(&self, path: &Inside) -> Result<(), FileError> {
        self.refuse_reading_only()?;
        let real = self.real_target(path.as_path()).map_err(FileError::of(path))?;
        self.refuse_unagreed(path, &real)
    }

    /// Holds that all of a tree may be written at `real`, which was asked for as `asked`.
    pub(super) fn check_tree(
        &self,
        tree: &Tree,
        asked: &Inside,
        real: &Path,
        is_held: IsHeld<'_>,
    ) -> Result<(), FileError> {
        for (below, _) in &tree.entries {
            if below.as_os_str().is_empty() {
                self.refuse_unagreed(asked, real)?;
                continue;
            }
            let path = asked.below(below);
            self.refuse_unagreed(&path, &real.join(below))?;
            if is_held(path.as_str()) {
                return Err(FileError::Held(path));
            }
        }
        Ok(())
    }

    /// What a tree that was asked for as `asked` changes when it comes or goes.
    pub(super) fn changes(
        &self,
        spot: &Spot,
        tree: &Tree,
        asked: &Inside,
        what: What,
    ) -> Result<Vec<Change>, FileError> {
        if tree.entries.len() > PREVIEWED_MAX || tree.bytes > LOOKED_AT_BYTES_MAX as u64 {
            let max = PREVIEWED_MAX;
            return Err(FileError::TooLarge {
                what: "what a dry run tells of",
                max,
                unit: "files or 64 MiB",
            });
        }
        let mut changes = Vec::new();
        for (below, stat) in &tree.entries {
            let name = if below.as_os_str().is_empty() { spot.name.clone() } else { spot.name.join(below) };
            let found =
                content(&spot.folder, &name, stat, LOOKED_AT_BYTES_MAX as u64).map_err(FileError::Io)?;
            if found.is_none() {
                continue;
            }
            let path = asked.below(below).as_path().to_owned();
            let (before, after) = if what == What::Added { (None, found) } else { (found, None) };
            changes.push(Change { path, what, before, after });
        }
        Ok(changes)
    }

    /// Gives what is at `source` the name of `target`, unless something has it.
    pub(super) fn put_at(&self, source: &Spot, target: &Spot, asked: &Inside) -> Result<(), FileError> {
        let (from, to) = ((&source.folder, &*source.name), (&target.folder, &*target.name));
        let moved = self.opened.ops.rename_between(from, to, RenameFlags::NOREPLACE);
        moved.map_err(|error| match Errno::from_io_error(&error) {
            Some(Errno::EXIST) => FileError::Exists(asked.clone()),
            Some(Errno::XDEV) => FileError::OtherFileSystem,
            Some(Errno::INVAL | Errno::NOSYS) => FileError::Io(error),
            _ => FileError::of(asked)(error),
        })?;
        self.sync(&target.folder, asked)
    }

    pub(super) fn sync(&self, folder: &File, asked: &Inside) -> Result<(), FileError> {
        self.opened.ops.sync_folder(folder).map_err(FileError::of(asked))
    }

    pub(super) fn refuse_reading_only(&self) -> Result<(), FileError> {
        if self.access < Access::ReadWrite { Err(FileError::ReadOnly) } else { Ok(()) }
    }

    /// Where `path` is, in a folder that exists.
    pub(super) fn spot(&self, path: &Inside) -> Result<Spot, FileError> {
        let (parent, name) = parted(path)?;
        let folder = self.open_beneath(parent, FOLDER_FLAGS).map_err(FileError::of(path))?;
        Spot::new(folder, name)
    }

    /// Where `path` will be; its folder is made.
    pub(super) fn spot_for_writing(&self, path: &Inside) -> Result<Spot, FileError> {
        let (parent, name) = parted(path)?;
        let folder = self.folder_for_writing(parent).map_err(FileError::of(path))?;
        let spot = Spot::new(folder, name)?;
        // Again with the folder that is now held.
        self.refuse_unagreed(path, &spot.real)?;
        Ok(spot)
    }
}

impl Spot {
    pub(super) fn new(folder: File, name: &Path) -> Result<Spot, FileError> {
        let real = real_path(&folder).map_err(FileError::Io)?.join(name);
        Ok(Spot { folder, name: name.to_owned(), real })
    }
}

/// The folder that holds a path, and its name in it.
fn parted(path: &Inside) -> Result<(&Path, &Path), FileError> {
    let whole = path.as_path();
    let name = whole.file_name().filter(|_| !path.is_root());
    let name = name.ok_or(FileError::Itself)?;
    let parent = whole.parent().filter(|parent| *parent != Path::new("")).unwrap_or(Path::new("."));
    Ok((parent, Path::new(name)))
}
