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
use rustix::fs::{AtFlags, Dir as Entries, FileType, Mode, OFlags, linkat, openat, statat};

use super::copied::copied;
use super::error::FileError;
use super::file_ops::FileOps;
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

/// Where a file will be kept that is about to be replaced.
pub(super) struct Keeping<'a> {
    ops: &'a dyn FileOps,
    dir: Dir,
    note: Trashed,
}

impl Keeping<'_> {
    /// Keeps the file, which is replaced next. Best effort: the note of what could not be kept is none.
    pub(super) fn keep(&self, from: &File, name: &Path) {
        let (one, to) = ((from, name), (&self.dir, &*self.note.id));
        let removed = || drop(self.dir.remove_file(&self.note.id));
        let linked = linked(one, to).inspect_err(|_| removed());
        let _ = linked.or_else(|_| copy(one, to).inspect_err(|_| removed()));
    }

    /// Makes room for it and notes that it is replaced by what has this SHA-256, whether or not it is there yet. Best effort:
    /// without a note it cannot be put back, and goes when there is too much.
    pub(super) fn replaced_by(&self, sha256: &str) {
        let note = Trashed { left: Some(sha256.to_owned()), ..self.note.clone() };
        let _ = forget_oldest(&self.dir, &note.id);
        let _ = written_note(self.ops, &self.dir, &note.id, &note);
    }

    /// It was not replaced.
    pub(super) fn not_replaced(&self) {
        forget(&self.dir, &self.note.id);
    }
}

impl Root {
    /// Where a file of so many bytes will be kept, if what is replaced is kept here and it is not too large.
    pub(super) fn keeping(&self, path: &Inside, bytes: u64) -> Option<Keeping<'_>> {
        if bytes > REPLACED_BYTES_MAX {
            return None;
        }
        let dir = self.replaced_folder(true).ok()?;
        let (id, deleted_ms) = id_and_time().ok()?;
        let path = path.as_str().to_owned();
        let note = Trashed { id, path, deleted_ms, entries: 1, bytes, ..Trashed::default() };
        Some(Keeping { ops: &*self.opened.ops, dir, note })
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

/// Removes what there is too much of, what is too old by its name, and what has become too large, but not what is `added`,
/// whatever the clock said of the others. A note that a crash has left alone counts as what it was written for.
fn forget_oldest(dir: &Dir, added: &str) -> io::Result<()> {
    let mut ids = BTreeSet::new();
    for entry in Entries::read_from(dir)? {
        let entry = entry?;
        let name = entry.file_name().to_str().ok();
        ids.extend(name.map(|name| name.strip_suffix(NOTE).unwrap_or(name).to_owned()));
    }
    // The folder itself and the one above it are among them.
    ids.retain(|id| !id.starts_with('.') && id != added);
    let oldest = format!("{:0TIME_DIGITS$x}", now_ms().saturating_sub(TRASH_LASTS.as_millis() as u64));
    let too_many = (ids.len() + 1).saturating_sub(REPLACED_MAX);
    let is_large = |id: &str| {
        let bytes = statat(dir, id, AtFlags::SYMLINK_NOFOLLOW).map(|stat| u64::try_from(stat.st_size));
        matches!(bytes, Ok(Ok(bytes)) if bytes > REPLACED_BYTES_MAX)
    };
    let is_over = |(nth, id): &(usize, &String)| *nth < too_many || ***id < *oldest || is_large(id);
    ids.iter().enumerate().filter(is_over).for_each(|(_, id)| forget(dir, id));
    Ok(())
}
