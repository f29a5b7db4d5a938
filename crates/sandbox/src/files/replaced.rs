//! What files were before tools replaced them, beside the trash: the old file under a second name, so that nothing is copied where
//! one file system holds both. It is put back as long as the file is as the tool left it.
//!
//! Nothing here is waited for: a power cut may lose it. What cannot be kept is not, and the file is written all the same.
#![expect(clippy::disallowed_methods, reason = "the one place where the files of a workspace are reached")]

use std::fs::{DirBuilder, File};
use std::io::{self, ErrorKind, Read as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use cap_std::fs::Dir;
use rustix::fs::{AtFlags, Mode, OFlags, Stat, linkat, openat};
use rustix::io::Errno;

use super::copied::copy_tree;
use super::error::FileError;
use super::inside::Inside;
use super::read::READ_FLAGS;
use super::root::Root;
use super::trash::{NOTE, TRASH_LASTS, Trashed, id_and_time, listed, now_ms, written_note};
use super::write::Expect;
use crate::change::Change;

/// Most that is kept of one workspace: with the next one, the oldest goes for good.
const REPLACED_MAX: usize = 100;

/// The largest file that is kept, in bytes: what a tool writes has no more.
const REPLACED_BYTES_MAX: u64 = 10 * 1024 * 1024;

/// The digits of a name that say when.
const TIME_DIGITS: usize = 12;

/// A file that is about to be replaced, under its second name.
pub(super) struct Keeping {
    dir: Dir,
    id: String,
    note: Trashed,
}

impl Keeping {
    /// It was replaced by what has this SHA-256.
    pub(super) fn replaced_by(mut self, sha256: &str) {
        self.note.left = Some(sha256.to_owned());
        // Without a note it cannot be put back, and goes when there is too much.
        let _ = written_note(&self.dir, &self.id, &self.note);
        let _ = forget_oldest(&self.dir);
    }

    /// It was not replaced.
    pub(super) fn not_replaced(self) {
        let _ = self.dir.remove_file(&self.id);
    }
}

impl Root {
    /// Gives the file a second name, if what is replaced is kept here and it is not too large.
    pub(super) fn keep(&self, path: &Inside, folder: &File, name: &Path, present: &Stat) -> Option<Keeping> {
        let bytes = u64::try_from(present.st_size).ok().filter(|bytes| *bytes <= REPLACED_BYTES_MAX)?;
        let dir = self.replaced_folder(true).ok()?;
        let (id, deleted_ms) = id_and_time().ok()?;
        match linkat(folder, name, &dir, &id, AtFlags::empty()) {
            Ok(()) => {}
            Err(Errno::XDEV | Errno::PERM | Errno::MLINK) => {
                let from = Dir::from_std_file(folder.try_clone().ok()?);
                copy_tree((&from, name), (&dir, Path::new(&id))).ok()?;
            }
            Err(_) => return None,
        }
        let note = Trashed {
            id: id.clone(),
            path: path.as_str().to_owned(),
            deleted_ms,
            entries: 1,
            bytes,
            is_folder: false,
            left: None,
        };
        Some(Keeping { dir, id, note })
    }

    /// All that is kept.
    pub(super) fn replaced(&self) -> Result<Vec<Trashed>, FileError> {
        match self.replaced_folder(false) {
            Ok(dir) => listed(&dir).map_err(FileError::Io),
            Err(FileError::Io(error)) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
            Err(error) => Err(error),
        }
    }

    /// Gives the file the content that it had, if it is as it was left, or gone; what it has now is kept in turn.
    pub(super) fn put_back(&self, replaced: &Trashed, left: &str) -> Result<(), FileError> {
        let (dir, path, content, expect) = self.earlier(replaced, left)?;
        self.write(&path, &content, &expect)?;
        let _ = dir.remove_file(&replaced.id);
        let _ = dir.remove_file(format!("{}{NOTE}", replaced.id));
        Ok(())
    }

    /// What that would change.
    pub(super) fn preview_put_back(&self, replaced: &Trashed, left: &str) -> Result<Change, FileError> {
        let (_, path, content, expect) = self.earlier(replaced, left)?;
        self.preview(&path, &content, &expect)
    }

    fn earlier(&self, replaced: &Trashed, left: &str) -> Result<(Dir, Inside, Vec<u8>, Expect), FileError> {
        let path = self.locate(&replaced.path)?;
        let dir = self.replaced_folder(false)?;
        let content = content(&dir, &replaced.id).map_err(FileError::Io)?;
        let expect = match self.open_read(&path) {
            Err(FileError::NotFound(_)) => Expect::Absent,
            _ => Expect::Sha256(left.to_owned()),
        };
        Ok((dir, path, content, expect))
    }

    fn replaced_folder(&self, makes: bool) -> Result<Dir, FileError> {
        let folder: PathBuf = self.trash.as_deref().ok_or(FileError::NoTrash)?.with_extension("replaced");
        if makes {
            DirBuilder::new().recursive(true).mode(0o700).create(&folder).map_err(FileError::Io)?;
        }
        File::open(folder).map(Dir::from_std_file).map_err(FileError::Io)
    }
}

fn content(dir: &Dir, id: &str) -> io::Result<Vec<u8>> {
    let file = File::from(openat(dir, id, READ_FLAGS | OFlags::NOFOLLOW, Mode::empty())?);
    let mut content = Vec::new();
    file.take(REPLACED_BYTES_MAX + 1).read_to_end(&mut content)?;
    if content.len() as u64 > REPLACED_BYTES_MAX {
        return Err(io::Error::other("it has grown since it was kept"));
    }
    Ok(content)
}

/// Removes what there is too much of and what is too old, by the names alone.
fn forget_oldest(dir: &Dir) -> io::Result<()> {
    let mut names = Vec::new();
    for entry in dir.entries()? {
        names.extend(entry?.file_name().into_string().ok().filter(|name| !name.ends_with(NOTE)));
    }
    names.sort_unstable();
    let oldest = format!("{:0TIME_DIGITS$x}", now_ms().saturating_sub(TRASH_LASTS.as_millis() as u64));
    let too_many = names.len().saturating_sub(REPLACED_MAX);
    let is_over = |(nth, name): &(usize, &String)| *nth < too_many || ***name < *oldest;
    for (_, name) in names.iter().enumerate().filter(is_over) {
        dir.remove_file(name)?;
        let _ = dir.remove_file(format!("{name}{NOTE}"));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
