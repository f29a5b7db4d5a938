//! All that is in an entry of a folder, by names relative to it. Links are entries and not followed.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{
    AtFlags, Dir, FileType, Mode, OFlags, ResolveFlags, Stat, openat, openat2, readlinkat, statat,
};

use super::error::FileError;
use super::inside::Inside;
use super::read::READ_FLAGS;
use crate::change::Content;

/// Most entries of what is moved, deleted or put back as a whole: all are looked at first.
pub const TREE_ENTRIES_MAX: usize = 20_000;

/// How deep they may lie.
const DEPTH_MAX: usize = 128;

/// For opening one plain name without following a link.
const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// For a path below a folder: whoever exchanges a part of it for a link meanwhile leads nowhere.
const PLAIN: ResolveFlags =
    ResolveFlags::BENEATH.union(ResolveFlags::NO_SYMLINKS).union(ResolveFlags::NO_MAGICLINKS);

/// What an entry is, and all below it.
#[derive(Debug)]
pub(super) struct Tree {
    /// Below the entry; the empty path is itself.
    pub(super) entries: Vec<(PathBuf, Stat)>,
    /// Of its files.
    pub(super) bytes: u64,
}

impl Tree {
    /// The entry `name` of a folder, which was asked for as `asked`.
    pub(super) fn of(folder: &File, name: &Path, asked: &Inside) -> Result<Tree, FileError> {
        let error = FileError::of_errno(asked);
        let stat = statat(folder, name, AtFlags::SYMLINK_NOFOLLOW).map_err(error)?;
        let mut tree = Tree { entries: Vec::new(), bytes: 0 };
        tree.add(folder, name, PathBuf::new(), stat, asked)?;
        Ok(tree)
    }

    pub(super) fn is_folder(&self) -> bool {
        self.entries.first().is_some_and(|(_, stat)| kind(stat) == FileType::Directory)
    }

    fn add(
        &mut self,
        folder: &File,
        name: &Path,
        at: PathBuf,
        stat: Stat,
        asked: &Inside,
    ) -> Result<(), FileError> {
        if self.entries.len() == TREE_ENTRIES_MAX || at.components().count() > DEPTH_MAX {
            return Err(FileError::TooLarge { what: "the folder", max: TREE_ENTRIES_MAX, unit: "entries" });
        }
        let kind = kind(&stat);
        if kind == FileType::RegularFile {
            self.bytes = self.bytes.saturating_add(u64::try_from(stat.st_size).unwrap_or(0));
        }
        self.entries.push((at.clone(), stat));
        if kind != FileType::Directory {
            return Ok(());
        }
        let error = FileError::of_errno;
        let opened = File::from(openat(folder, name, FOLDER, Mode::empty()).map_err(error(asked))?);
        for found in Dir::read_from(&opened).map_err(error(asked))? {
            let found = found.map_err(error(asked))?;
            let name = Path::new(OsStr::from_bytes(found.file_name().to_bytes()));
            if name == Path::new(".") || name == Path::new("..") {
                continue;
            }
            let stat = statat(&opened, name, AtFlags::SYMLINK_NOFOLLOW).map_err(error(asked))?;
            self.add(&opened, name, at.join(name), stat, asked)?;
        }
        Ok(())
    }
}

pub(super) fn kind(stat: &Stat) -> FileType {
    FileType::from_raw_mode(stat.st_mode)
}

/// What is in a file or link `name` of a folder; nothing for what is neither.
pub(super) fn content(
    folder: &File,
    name: &Path,
    stat: &Stat,
    bytes_max: u64,
) -> io::Result<Option<Content>> {
    match kind(stat) {
        FileType::RegularFile => {
            let file =
                File::from(openat2(folder, name, READ_FLAGS | OFlags::NOFOLLOW, Mode::empty(), PLAIN)?);
            let mut bytes = Vec::new();
            file.take(bytes_max).read_to_end(&mut bytes)?;
            Ok(Some(Content::of_file(stat.st_mode, bytes)))
        }
        FileType::Symlink => {
            let link = openat2(folder, name, OFlags::PATH | OFlags::NOFOLLOW, Mode::empty(), PLAIN)?;
            let target = readlinkat(&link, "", Vec::new())?.into_bytes();
            Ok(Some(Content { mode: stat.st_mode, ..Content::of_file(0, target) }))
        }
        _ => Ok(None),
    }
}
