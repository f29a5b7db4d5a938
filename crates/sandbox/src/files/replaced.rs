//! What files were before tools replaced them, beside the trash: the file itself where it can have a second name there, or else a
//! copy. It is put back as long as the file is as the tool left it, or gone.
//!
//! No disk is waited for: a power cut may lose it. What cannot be kept is not, and the file is written all the same. Whoever has
//! the file itself open and writes on writes what is kept: what has become too large by that is not put back over another file,
//! and goes when the next one is kept.

use std::collections::BTreeSet;
use std::fs::{File, Permissions};
use std::io::{self, Read as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use cap_std::fs::Dir;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, linkat, openat, statat};

use super::copied::copied;
use super::error::FileError;
use super::inside::Inside;
use super::notes::{NOTE, TRASH_LASTS, Trashed, folder, id_and_time, now_ms, written_note};
use super::read::READ_FLAGS;
use super::root::Root;

/// Most that is kept of one workspace: with the next one, the oldest goes for good.
pub(super) const REPLACED_MAX: usize = 100;

/// The largest file that is kept, in bytes: what a tool writes has no more.
pub(super) const REPLACED_BYTES_MAX: u64 = 10 * 1024 * 1024;

/// The digits of a name that say when.
const TIME_DIGITS: usize = 12;

/// What is taken of a mode, and given.
const PERMISSION_BITS: u32 = 0o777;

/// Room and a note for a file that is about to be replaced. Without the file, the note is none.
pub(super) struct Keeping {
    dir: Dir,
    id: String,
}

impl Keeping {
    /// Keeps the file, which is replaced next.
    pub(super) fn keep(&self, from: &File, name: &Path) {
        let (one, to) = ((from, name), (&self.dir, &*self.id));
        let linked = linked(one, to).inspect_err(|_| drop(self.dir.remove_file(&self.id)));
        let kept = linked.or_else(|_| copy(one, to));
        if kept.is_err() {
            forget(&self.dir, &self.id);
        }
    }

    /// It was not replaced.
    pub(super) fn not_replaced(&self) {
        forget(&self.dir, &self.id);
    }
}

impl Root {
    /// Prepares to keep a file of so many bytes, which is about to be replaced by what has this SHA-256, if what is replaced is
    /// kept here and it is not too large. The oldest goes now, even if the file is not replaced after all.
    pub(super) fn keeping(&self, path: &Inside, bytes: u64, sha256: &str) -> Option<Keeping> {
        if bytes > REPLACED_BYTES_MAX {
            return None;
        }
        let dir = self.replaced_folder(true).ok()?;
        // Best effort: what stays goes with the next one.
        let _ = forget_oldest(&dir);
        let (id, deleted_ms) = id_and_time().ok()?;
        let (path, left) = (path.as_str().to_owned(), Some(sha256.to_owned()));
        let note = Trashed { id, path, deleted_ms, entries: 1, bytes, is_folder: false, left };
        written_note(&*self.opened.ops, &dir, &note.id, &note).ok()?;
        Some(Keeping { dir, id: note.id })
    }

    pub(super) fn replaced_folder(&self, makes: bool) -> Result<Dir, FileError> {
        folder(&replaced_beside(self.trash_folder()?), makes).map_err(FileError::Io)
    }
}

/// Where it is kept, beside a trash.
pub(super) fn replaced_beside(trash: &Path) -> PathBuf {
    trash.with_extension("replaced")
}

/// Gives a file that has no other name one more, which costs nothing whatever its size. A file with several is written by
/// whoever knows it by another.
fn linked((from, name): (&File, &Path), (dir, id): (&Dir, &str)) -> io::Result<()> {
    linkat(from, name, dir, id, AtFlags::empty())?;
    let stat = statat(dir, id, AtFlags::SYMLINK_NOFOLLOW)?;
    let bytes = u64::try_from(stat.st_size).unwrap_or(u64::MAX);
    let is_file = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
    match is_file && stat.st_nlink == 2 && bytes <= REPLACED_BYTES_MAX {
        true => Ok(()),
        false => Err(io::ErrorKind::Unsupported.into()),
    }
}

/// Copies a file that is not too large, with its permissions.
fn copy((from, name): (&File, &Path), (dir, id): (&Dir, &str)) -> io::Result<()> {
    let (copy, meta) = copied((from, name), (dir, Path::new(id)), REPLACED_BYTES_MAX)?;
    let mode = meta.permissions().mode() & PERMISSION_BITS;
    copy.set_permissions(Permissions::from_mode(mode))
}

/// What is in a file that is kept, all of it or nothing.
pub(super) fn content(dir: &Dir, id: &str) -> Result<Vec<u8>, FileError> {
    let mut content = Vec::new();
    let file = opened(dir, id).map_err(FileError::Io)?;
    file.take(REPLACED_BYTES_MAX + 1).read_to_end(&mut content).map_err(FileError::Io)?;
    if content.len() as u64 > REPLACED_BYTES_MAX {
        return Err(FileError::TooLarge {
            what: "the earlier content, on which a program has written on,",
            max: (REPLACED_BYTES_MAX / 1024 / 1024) as usize,
            unit: "MiB; to have it back all the same, move the file away first",
        });
    }
    Ok(content)
}

/// A file that is kept.
pub(super) fn opened(dir: &Dir, id: &str) -> io::Result<File> {
    Ok(File::from(openat(dir, id, READ_FLAGS | OFlags::NOFOLLOW, Mode::empty())?))
}

/// Best effort: what stays goes with the oldest.
pub(super) fn forget(dir: &Dir, id: &str) {
    let _ = dir.remove_file(id);
    let _ = dir.remove_file(format!("{id}{NOTE}"));
}

/// Makes room for one more: removes what there is too much of, what is too old by its name, and what has become too large. A
/// note that a crash has left alone counts as what it was written for.
fn forget_oldest(dir: &Dir) -> io::Result<()> {
    let mut ids = BTreeSet::new();
    for entry in dir.entries()? {
        let name = entry?.file_name().into_string().ok();
        ids.extend(name.map(|name| name.strip_suffix(NOTE).map(str::to_owned).unwrap_or(name)));
    }
    let oldest = format!("{:0TIME_DIGITS$x}", now_ms().saturating_sub(TRASH_LASTS.as_millis() as u64));
    let too_many = (ids.len() + 1).saturating_sub(REPLACED_MAX);
    let is_large = |id: &str| dir.symlink_metadata(id).is_ok_and(|meta| meta.len() > REPLACED_BYTES_MAX);
    let is_over = |(nth, id): &(usize, &String)| *nth < too_many || ***id < *oldest || is_large(id);
    ids.iter().enumerate().filter(is_over).for_each(|(_, id)| forget(dir, id));
    Ok(())
}
