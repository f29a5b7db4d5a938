//! `Root`: a folder whose handle no path can leave.
//!
//! Every path is resolved by the kernel beneath the open handle (`openat2`), so a symbolic link, a
//! race or `..` cannot reach outside. A *hard* link is the file itself and can be read; whoever may
//! create one inside the folder could read the file anyway. Globs, ignore rules, text and size
//! budgets are left to the tools.
#![expect(clippy::disallowed_methods, reason = "the one place where the files of a workspace are reached")]

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use cap_std::fs::{Dir, OpenOptions, OpenOptionsExt};
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, Stat, fstat, openat2};
use rustix::io::Errno;

use super::error::FileError;
use super::file_ops::{FileOps, SystemFiles};
use super::inside::{self, Inside};
use super::obeyed::ObeyedFile;
use super::protected::{ProtectedPaths, ProtectionInForce};

/// What a `Root` may be used for. Orders from less to more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Access {
    /// Reading and listing; every write is refused with `FileError::ReadOnly`.
    Read,
    /// Reading, listing and writing.
    ReadWrite,
}

/// An open folder and what may be done below it. Clones share the handle.
///
/// All methods block on the file system for as long as it takes.
#[derive(Debug, Clone)]
pub struct Root {
    pub(super) opened: Arc<Opened>,
    pub(super) access: Access,
    /// Files and folders that are left alone, beside those that are never written.
    pub(super) protection: Arc<ProtectionInForce>,
    /// Those that others obey, and that a person has agreed to have written through this handle.
    pub(super) agreed: Arc<[ObeyedFile]>,
    /// Where what is deleted goes; nothing where nothing is kept, and so nothing deleted.
    pub(super) trash: Option<Arc<Path>>,
}

#[derive(Debug)]
pub(super) struct Opened {
    /// Another one once the folder was exchanged for another.
    dir: RwLock<Arc<Dir>>,
    pub(super) canonical: PathBuf,
    pub(super) ops: Box<dyn FileOps>,
    /// Every absolute spelling of the folder: the common prefix, the real path, the path as given.
    spellings: Vec<PathBuf>,
}

impl Opened {
    /// The folder's handle.
    pub(super) fn dir(&self) -> Arc<Dir> {
        self.dir.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Root {
    /// Opens the folder at `path`, which the operator chose and which may lie anywhere.
    /// Errors when it does not exist, is not a folder or cannot be entered.
    pub fn open(path: &Path, access: Access) -> io::Result<Root> {
        Root::open_with(path, access, Box::new(SystemFiles))
    }

    pub(super) fn open_with(path: &Path, access: Access, ops: Box<dyn FileOps>) -> io::Result<Root> {
        let canonical = path.canonicalize()?;
        let dir = Dir::open_ambient_dir(&canonical, cap_std::ambient_authority())?;
        let spellings = inside::spellings(path);
        let dir = RwLock::new(Arc::new(dir));
        let opened = Arc::new(Opened { dir, canonical, ops, spellings });
        Ok(Root { opened, access, protection: Arc::default(), agreed: Arc::default(), trash: None })
    }

    /// Where it really is.
    pub fn path(&self) -> &Path {
        &self.opened.canonical
    }

    /// Looks whether the folder that was opened still stands at its path: for calls that have found nothing, since every
    /// path below a folder that was deleted is one at which nothing is. If another folder stands there by now, this handle
    /// and all that were made from the same [`Root::open`] use that one from then on, and it is an error all the same:
    /// what was looked for was looked for in the old one. No link is followed on the way to it.
    ///
    /// # Errors
    /// `FileError::Gone` if no folder stands there, `FileError::Exchanged` if another one does.
    pub fn check_present(&self) -> Result<(), FileError> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        let failed = |errno: Errno| FileError::Io(errno.into());
        let found = match openat2(CWD, self.opened.canonical.as_path(), flags, Mode::empty(), resolve) {
            Ok(found) => File::from(found),
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Err(FileError::Gone),
            Err(errno) => return Err(failed(errno)),
        };
        let identity = |stat: Stat| (stat.st_dev, stat.st_ino);
        let ours = fstat(&*self.opened.dir()).map_err(failed)?;
        if identity(ours) == identity(fstat(&found).map_err(failed)?) {
            return Ok(());
        }
        *self.opened.dir.write().unwrap_or_else(PoisonError::into_inner) =
            Arc::new(Dir::from_std_file(found));
        Err(FileError::Exchanged)
    }

    /// From now on these files, and all below these folders, are left alone too: the program's own state, its
    /// configuration and its secrets. They take the place of those that were protected before, in this handle and every
    /// other that was made from the same [`Root::open`]. Paths are followed to where they really are as far as they
    /// exist; another hard link to a file is another file. A `toolcrib.toml`, a folder `.opencode`, and what makes `git`
    /// run programs are never written; what others obey is written only with a person's agreement.
    pub fn protect(&self, paths: &ProtectedPaths) {
        self.protection.replace(&self.opened.canonical, paths);
    }

    /// What is protected now, as paths without links: what programs leave alone that run in this folder.
    pub fn protected(&self) -> Arc<ProtectedPaths> {
        self.protection.now()
    }

    /// The same folder with at most `access`; a narrowed handle never widens again.
    pub fn narrowed(&self, access: Access) -> Root {
        let access = self.access.min(access);
        Root { access, ..self.clone() }
    }

    /// The same folder, in which a person has agreed that these are written: just where they really are, so that a link
    /// that is exchanged meanwhile leads to nothing new. What is protected stays so.
    #[must_use]
    pub fn agreeing(&self, files: &[ObeyedFile]) -> Root {
        if files.is_empty() {
            return self.clone();
        }
        Root { agreed: self.agreed.iter().chain(files).cloned().collect(), ..self.clone() }
    }

    /// Understands a path as a model types it: `notes.md`, `/workspace/notes.md` and the real absolute
    /// path inside the folder mean the same file; the empty path, `.` and `/workspace` mean the folder.
    ///
    /// Touches no file. Refuses NUL, other absolute paths and `..` above the folder with
    /// `FileError::Outside`, and what exceeds `PATH_BYTES_MAX` or `NAME_BYTES_MAX` with `TooLarge`.
    pub fn locate(&self, given: &str) -> Result<Inside, FileError> {
        Inside::parse(given, &self.opened.spellings)
    }

    /// Opens `path` for reading beneath the handle; symbolic links that stay inside are followed.
    pub(super) fn open_beneath(&self, path: &Path, flags: OFlags) -> io::Result<File> {
        let mut options = OpenOptions::new();
        options.read(true).custom_flags(flags.bits().cast_signed());
        self.opened.dir().open_with(path, &options).map(cap_std::fs::File::into_std)
    }
}
