//! Writing a whole file so that a reader sees the old content or the new, never a part, and so that
//! a failure leaves the old file and nothing else.
//!
//! The content goes to a temporary file in the same folder, reaches the disk, and takes the name by
//! a rename. All steps after finding the folder use its handle and one plain name, which cannot leave
//! it. The file becomes a new one: hard links keep the old content.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use data_encoding::HEXLOWER;
use rustix::fs::OFlags;
use sha2::{Digest, Sha256};

use super::at_once::at_once;
use super::error::FileError;
use super::git_folder::is_of_git;
use super::inside::Inside;
use super::obeyed::{ObeyedFile, obeyed};
use super::path_names::real_path;
use super::place::{Place, link_target};
use super::protected::is_protected;
use super::replaced::Keeping;
use super::root::{Access, Root};

/// Symbolic links followed to the file that is written; what Linux itself follows.
pub(super) const LINKS_MAX: usize = 40;

/// The mode of new files, less what the process's umask takes away.
pub(super) const NEW_FILE_MODE: u32 = 0o644;

/// How a folder is opened that only serves to reach what is in it.
pub(super) const FOLDER_FLAGS: OFlags = OFlags::DIRECTORY.union(OFlags::CLOEXEC);

/// Largest file that is looked at before it is replaced, in bytes; far more than tools write.
pub(super) const LOOKED_AT_BYTES_MAX: usize = 64 * 1024 * 1024;

/// Whether a file with this content must stay.
pub(super) type IsKept<'a> = &'a dyn Fn(&[u8]) -> bool;

/// What a writer believes about the present file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Expect {
    /// Nothing: whatever is there is replaced.
    Anything,
    /// There is no file yet.
    Absent,
    /// The present content has this SHA-256, in hexadecimal of either case.
    Sha256(String),
    /// The present content is this.
    Content(Vec<u8>),
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
    /// If `expect` does not hold, the answer is `FileError::Changed`. A file with an expected hash or content that changes while
    /// it is looked at stays as it then is, though for a moment ours may stand in its place; on a file system that cannot
    /// exchange two names, another program has some microseconds to interfere.
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
        let looked_at = place.look(expect, is_kept)?;
        let size = place.present.map(|stat| u64::try_from(stat.st_size).unwrap_or(u64::MAX));
        let keeping = size.and_then(|size| self.keeping(path, size));
        let here = || -> Result<_, FileError> {
            let new = place.fill(bytes)?;
            keeping.iter().for_each(|keeping| keeping.keep(&place.folder, &place.name));
            place.put(&new, &looked_at).inspect_err(|_| place.discard(&new))?;
            Ok(place.ops.sync_folder(&place.folder).map_err(FileError::of(path)))
        };
        // What needs no disk is done while it works.
        let (replaced, sha256) = at_once(here, || {
            let sha256 = sha256_of(bytes);
            keeping.iter().for_each(|keeping| keeping.replaced_by(&sha256));
            sha256
        });
        let synced = replaced.inspect_err(|_| keeping.iter().for_each(Keeping::not_replaced))?;
        synced?;
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
        if is_protected(&root, &protected, real) || is_of_git(&root, real) {
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
                match self.opened.ops.make_folders(&self.opened.dir(), parent) {
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

/// A name nobody can guess and prepare, and which says whose it is if a crash leaves it behind.
pub(super) fn temporary_name() -> Result<String, FileError> {
    let mut random = [0; 16];
    getrandom::fill(&mut random).map_err(|error| FileError::Io(io::Error::other(error)))?;
    Ok(format!(".toolcrib-{}.tmp", HEXLOWER.encode(&random)))
}

pub(super) fn sha256_of(bytes: &[u8]) -> String {
    HEXLOWER.encode(&Sha256::digest(bytes))
}

#[cfg(test)]
mod tests;
