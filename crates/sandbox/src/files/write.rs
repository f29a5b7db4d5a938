//! Writing a whole file so that a reader sees the old content or the new, never a part, and so that
//! a failure leaves the old file and nothing else.
//!
//! The content goes to a temporary file in the same folder, reaches the disk, and takes the name by
//! a rename. All steps after finding the folder use its handle and one plain name, which cannot leave
//! it. The file becomes a new one: hard links keep the old content.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use data_encoding::HEXLOWER;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, RenameFlags, Stat, openat, readlinkat, statat};
use rustix::io::Errno;
use sha2::{Digest, Sha256};

use super::error::FileError;
use super::file_ops::FileOps;
use super::inside::Inside;
use super::obeyed::{ObeyedFile, obeyed};
use super::path_names::real_path;
use super::protected::is_protected;
use super::read::READ_FLAGS;
use super::replaced::Keeping;
use super::root::{Access, Root};

/// Symbolic links followed to the file that is written; what Linux itself follows.
const LINKS_MAX: usize = 40;

/// The mode of new files, less what the process's umask takes away.
pub(super) const NEW_FILE_MODE: u32 = 0o644;

/// How a folder is opened that only serves to reach what is in it.
pub(super) const FOLDER_FLAGS: OFlags = OFlags::DIRECTORY.union(OFlags::CLOEXEC);

/// Set-user-id and its kin are not carried over to new content.
const KEPT_MODE_BITS: u32 = 0o777;

/// Largest file that is looked at before it is replaced, in bytes; far more than tools write.
pub(super) const LOOKED_AT_BYTES_MAX: usize = 64 * 1024 * 1024;

/// Whether a file with this content must stay.
type IsKept<'a> = &'a dyn Fn(&[u8]) -> bool;

/// What a writer believes about the present file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Expect {
    /// Nothing: whatever is there is replaced.
    Anything,
    /// There is no file yet.
    Absent,
    /// The present content has this SHA-256, in hexadecimal of either case.
    Sha256(String),
}

/// What was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// Whether there was no file before.
    pub created: bool,
    /// The SHA-256 of the new content in lower-case hexadecimal.
    pub sha256: String,
    /// The size of the new content.
    pub bytes: u64,
}

impl Root {
    /// Replaces or creates the file at `path` with `bytes`, on disk when this returns. Missing folders
    /// are created, the mode of an existing file is kept, a link that stays inside is written through.
    ///
    /// If `expect` does not hold, the answer is `FileError::Changed`. A file with an expected hash that changes while it is
    /// looked at stays as it then is; on a file system that cannot exchange two names, another program has some
    /// microseconds to interfere.
    pub fn write(&self, path: &Inside, bytes: &[u8], expect: &Expect) -> Result<Written, FileError> {
        self.write_unless(path, bytes, expect, None)
    }

    /// As `write`, unless `is_kept` is true of the present file's content: then the answer is `FileError::Kept`.
    pub fn write_unless(
        &self,
        path: &Inside,
        bytes: &[u8],
        expect: &Expect,
        is_kept: Option<IsKept<'_>>,
    ) -> Result<Written, FileError> {
        if self.access < Access::ReadWrite {
            return Err(FileError::ReadOnly);
        }
        let place = Place::find(self, path)?;
        // Again with the folder that is now held, since that is what is written.
        let folder = real_path(&place.folder).map_err(FileError::Io)?;
        self.refuse_unagreed(path, &folder.join(&place.name))?;
        let temporary = temporary_name()?;
        let sha256 = sha256_of(bytes);
        let filled = place.fill(&temporary, bytes);
        let is_kept_now = self.trash.is_some() && place.present.is_some() && filled.is_ok();
        let keeping = is_kept_now.then(|| self.keep(path, &place.folder, &place.name)).flatten();
        if let Err(error) = filled.and_then(|()| place.put(&temporary, expect, is_kept)) {
            // Best effort: the failure to be reported is the first one.
            let _ = place.ops.remove(&place.folder, &temporary);
            keeping.into_iter().for_each(Keeping::not_replaced);
            return Err(error);
        }
        keeping.into_iter().for_each(|keeping| keeping.replaced_by(&sha256));
        place.ops.sync_folder(&place.folder).map_err(FileError::of(path))?;
        Ok(Written { created: place.present.is_none(), sha256, bytes: bytes.len() as u64 })
    }

    /// The files that a write to `asked` would reach or pass, and that others obey: a link that they are called by counts,
    /// and so does what it leads to. Nothing of what is protected, since no agreement frees that. Writes nothing; what
    /// cannot be told is refused by the write itself.
    pub fn obeyed(&self, asked: &Inside) -> Vec<ObeyedFile> {
        let mut found = Vec::new();
        let mut path = asked.as_path().to_owned();
        for _ in 0..LINKS_MAX {
            let Ok(real) = self.real_target(&path) else { return found };
            match self.judge(asked, &real) {
                Err(FileError::Obeyed(file)) => found.push(file),
                Ok(()) => {}
                Err(_) => return Vec::new(),
            }
            match self.next_hop(&path) {
                Some(next) => path = next,
                None => return found,
            }
        }
        found
    }

    /// Where the link at `path` leads; nothing if there is none.
    fn next_hop(&self, path: &Path) -> Option<PathBuf> {
        let parent = path.parent().filter(|parent| *parent != "").unwrap_or(Path::new("."));
        let folder = self.open_beneath(parent, FOLDER_FLAGS).ok()?;
        Some(parent.join(link_target(&folder, Path::new(path.file_name()?)).ok()?))
    }

    /// Lets pass what is free, and what a person has agreed to.
    pub(super) fn refuse_unagreed(&self, asked: &Inside, real: &Path) -> Result<(), FileError> {
        match self.judge(asked, real) {
            Err(FileError::Obeyed(file)) if self.agreed.contains(&file) => Ok(()),
            judged => judged,
        }
    }

    /// Refuses to write `real`, a path without links, if anything stands against it.
    fn judge(&self, asked: &Inside, real: &Path) -> Result<(), FileError> {
        // Asked anew, since somebody may have moved the workspace.
        let root = self.open_beneath(Path::new("."), FOLDER_FLAGS).and_then(|dir| real_path(&dir));
        let (root, protected) = (root.map_err(FileError::Io)?, self.protection.now());
        if is_protected(&root, &protected, real) {
            return Err(FileError::Protected(asked.clone()));
        }
        if let Some(claim) = protected.servers.claim(&root, real) {
            return Err(FileError::OfServer { path: asked.clone(), claim });
        }
        obeyed(&root, &protected.writable, real).map_or(Ok(()), |file| Err(FileError::Obeyed(file)))
    }

    /// Where `path` would really be: its nearest folder that exists, without links, and the rest.
    pub(super) fn real_target(&self, path: &Path) -> io::Result<PathBuf> {
        let missing = |kind| matches!(kind, io::ErrorKind::NotFound | io::ErrorKind::NotADirectory);
        let parents = path.ancestors().skip(1).filter(|parent| *parent != Path::new(""));
        for parent in parents {
            match self.open_beneath(parent, FOLDER_FLAGS) {
                Ok(folder) => {
                    let rest = path.strip_prefix(parent).map_err(io::Error::other)?;
                    return Ok(real_path(&folder)?.join(rest));
                }
                Err(error) if missing(error.kind()) => {}
                Err(error) => return Err(error),
            }
        }
        let root = self.open_beneath(Path::new("."), FOLDER_FLAGS)?;
        Ok(real_path(&root)?.join(path))
    }

    /// Opens the folder that will hold a file, and makes it first if it is missing.
    pub(super) fn folder_for_writing(&self, parent: &Path) -> io::Result<File> {
        match self.open_beneath(parent, FOLDER_FLAGS) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                match self.opened.ops.make_folders(&self.opened.dir, parent) {
                    // Made by someone else meanwhile, or a link to nowhere: opening it tells.
                    Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
                    _ => {}
                }
                // A file survives a power cut only where its folder does.
                for above in parent.ancestors().skip(1) {
                    let above = if above == "" { Path::new(".") } else { above };
                    self.opened.ops.sync_folder(&self.open_beneath(above, FOLDER_FLAGS)?)?;
                }
                self.open_beneath(parent, FOLDER_FLAGS)
            }
            result => result,
        }
    }
}

/// Where a file is or will be: an open folder and a plain name that is no link.
struct Place<'a> {
    ops: &'a dyn FileOps,
    asked: &'a Inside,
    folder: File,
    name: PathBuf,
    present: Option<Stat>,
}

impl<'a> Place<'a> {
    /// Follows links from `asked` one by one; each hop is resolved beneath the root again.
    fn find(root: &'a Root, asked: &'a Inside) -> Result<Place<'a>, FileError> {
        let mut path = asked.as_path().to_owned();
        for _ in 0..LINKS_MAX {
            let Some(name) = path.file_name().map(PathBuf::from) else {
                return Err(FileError::not_a_file(asked, FileType::Directory));
            };
            // Before any folder is made on the way.
            let real = root.real_target(&path).map_err(FileError::of(asked))?;
            root.refuse_unagreed(asked, &real)?;
            let parent = path.parent().filter(|parent| *parent != "").unwrap_or(Path::new("."));
            let folder = root.folder_for_writing(parent).map_err(FileError::of(asked))?;
            let present = match statat(&folder, &name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) => Some(stat),
                Err(Errno::NOENT) => None,
                Err(errno) => return Err(FileError::of_errno(asked)(errno)),
            };
            match present.map(|stat| FileType::from_raw_mode(stat.st_mode)) {
                None | Some(FileType::RegularFile) => {
                    return Ok(Place { ops: &*root.opened.ops, asked, folder, name, present });
                }
                Some(FileType::Symlink) => {
                    let target = link_target(&folder, &name).map_err(FileError::of_errno(asked))?;
                    path = parent.join(target);
                }
                Some(other) => return Err(FileError::not_a_file(asked, other)),
            }
        }
        Err(FileError::Outside)
    }

    /// Writes the content under the temporary name and waits until it is on disk.
    fn fill(&self, temporary: &str, bytes: &[u8]) -> Result<(), FileError> {
        let kept = self.present.map(|stat| stat.st_mode & KEPT_MODE_BITS);
        let mode = Mode::from_raw_mode(kept.unwrap_or(NEW_FILE_MODE));
        let file = self.ops.create(&self.folder, temporary, mode).map_err(self.error())?;
        self.ops.write(&file, bytes).map_err(FileError::Io)?;
        if kept.is_some() {
            // Creation went through the umask.
            self.ops.set_mode(&file, mode).map_err(self.error())?;
        }
        self.ops.sync(&file).map_err(FileError::Io)
    }

    /// Gives the temporary file its name, if the present file is as expected and not kept.
    fn put(&self, temporary: &str, expect: &Expect, is_kept: Option<IsKept<'_>>) -> Result<(), FileError> {
        let present = match (expect, is_kept) {
            (Expect::Anything, None) => return self.rename(temporary),
            (Expect::Absent, _) => None,
            (Expect::Anything | Expect::Sha256(_), _) => self.content(&self.name)?,
        };
        if present.as_deref().is_some_and(|present| is_kept.is_some_and(|is_kept| is_kept(present))) {
            return Err(FileError::Kept);
        }
        if let Expect::Sha256(expected) = expect {
            let found = present.as_deref().map(sha256_of);
            if !found.as_ref().is_some_and(|found| found.eq_ignore_ascii_case(expected)) {
                return Err(FileError::Changed(found));
            }
        }
        self.replace(temporary, present.as_deref())
    }

    fn rename(&self, temporary: &str) -> Result<(), FileError> {
        self.move_to_name(temporary, RenameFlags::empty()).map_err(self.error())
    }

    fn move_to_name(&self, temporary: &str, flags: RenameFlags) -> io::Result<()> {
        self.ops.rename(&self.folder, temporary, &self.name, flags)
    }

    /// Gives the temporary file its name and removes what had it, if that is `looked_at` and nothing else; without that,
    /// only if there is still nothing.
    fn replace(&self, temporary: &str, looked_at: Option<&[u8]>) -> Result<(), FileError> {
        let flags = if looked_at.is_some() { RenameFlags::EXCHANGE } else { RenameFlags::NOREPLACE };
        if let Err(error) = self.move_to_name(temporary, flags) {
            return match Errno::from_io_error(&error) {
                // Some file systems cannot do it in one step.
                Some(Errno::INVAL | Errno::NOSYS) if self.content(&self.name)?.as_deref() == looked_at => {
                    self.rename(temporary)
                }
                Some(Errno::INVAL | Errno::NOSYS | Errno::EXIST) => self.changed(),
                _ => Err(self.error()(error)),
            };
        }
        let Some(looked_at) = looked_at else { return Ok(()) };
        // It bears the other name now, and nobody looks for it there.
        match self.content(Path::new(temporary)) {
            Ok(Some(replaced)) if replaced == looked_at => {
                self.ops.remove(&self.folder, temporary).map_err(self.error())
            }
            _ => self.rename(temporary).and_then(|()| self.changed()),
        }
    }

    /// The file is not as it was expected to be.
    fn changed(&self) -> Result<(), FileError> {
        Err(FileError::Changed(self.content(&self.name)?.as_deref().map(sha256_of)))
    }

    /// What is in a file of the folder; `None` if there is none.
    fn content(&self, name: &Path) -> Result<Option<Vec<u8>>, FileError> {
        let file = match openat(&self.folder, name, READ_FLAGS | OFlags::NOFOLLOW, Mode::empty()) {
            Ok(file) => File::from(file),
            Err(Errno::NOENT) => return Ok(None),
            Err(errno) => return Err(self.error()(errno.into())),
        };
        let mut content = Vec::new();
        file.take(LOOKED_AT_BYTES_MAX as u64 + 1)
            .read_to_end(&mut content)
            .map_err(FileError::of(self.asked))?;
        if content.len() > LOOKED_AT_BYTES_MAX {
            let what = "the present file, which must be looked at first,";
            return Err(FileError::TooLarge { what, max: LOOKED_AT_BYTES_MAX, unit: "bytes" });
        }
        Ok(Some(content))
    }

    fn error(&self) -> impl FnOnce(io::Error) -> FileError + '_ {
        FileError::of(self.asked)
    }
}

/// What a link says. Joined to the link's folder, an absolute one replaces it, and the next hop
/// refuses it like every absolute path.
fn link_target(folder: &File, name: &Path) -> rustix::io::Result<PathBuf> {
    let target = readlinkat(folder, name, Vec::new())?;
    Ok(PathBuf::from(OsString::from_vec(target.into_bytes())))
}

/// A name nobody can guess and prepare, and which says whose it is if a crash leaves it behind.
pub(super) fn temporary_name() -> Result<String, FileError> {
    let mut random = [0; 16];
    getrandom::fill(&mut random).map_err(|error| FileError::Io(io::Error::other(error)))?;
    Ok(format!(".toolcrib-{}.tmp", HEXLOWER.encode(&random)))
}

fn sha256_of(bytes: &[u8]) -> String {
    HEXLOWER.encode(&Sha256::digest(bytes))
}

#[cfg(test)]
mod tests;
