//! Every change that a write makes in a folder, as a trait, so that tests see their order and let one fail. All of them take
//! an open folder and a plain name in it.

use std::fmt::Debug;
use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;

use cap_std::fs::{Dir, DirBuilder, DirBuilderExt};
use rustix::fs::{AtFlags, Mode, OFlags, RenameFlags, fchmod, openat, renameat_with, unlinkat};

/// The mode of new folders, less what the process's umask takes away.
const NEW_FOLDER_MODE: u32 = 0o755;

/// What a change does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    MakeFolders,
    Create,
    Write,
    SetMode,
    Sync,
    SyncFolder,
    Rename(RenameFlags),
    Remove,
}

pub(super) trait FileOps: Debug + Send + Sync {
    /// Comes before every change; tests let it fail.
    fn before(&self, _: Step) -> io::Result<()> {
        Ok(())
    }

    /// Makes a folder below an open one, with those that lead to it.
    fn make_folders(&self, below: &Dir, path: &Path) -> io::Result<()> {
        self.before(Step::MakeFolders)?;
        let mut builder = DirBuilder::new();
        builder.recursive(true).mode(NEW_FOLDER_MODE);
        below.create_dir_with(path, &builder)
    }

    /// Creates a file to be written; there must be none of this name.
    fn create(&self, folder: &File, name: &str, mode: Mode) -> io::Result<File> {
        self.before(Step::Create)?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(File::from(openat(folder, name, flags, mode)?))
    }

    fn write(&self, mut file: &File, bytes: &[u8]) -> io::Result<()> {
        self.before(Step::Write)?;
        file.write_all(bytes)
    }

    /// Sets the mode whatever the umask says.
    fn set_mode(&self, file: &File, mode: Mode) -> io::Result<()> {
        self.before(Step::SetMode)?;
        Ok(fchmod(file, mode)?)
    }

    /// Returns when a file's content survives a power cut.
    fn sync(&self, file: &File) -> io::Result<()> {
        self.before(Step::Sync)?;
        file.sync_all()
    }

    /// Returns when the names in a folder survive a power cut.
    fn sync_folder(&self, folder: &File) -> io::Result<()> {
        self.before(Step::SyncFolder)?;
        folder.sync_all()
    }

    fn rename(&self, folder: &File, from: &str, to: &Path, flags: RenameFlags) -> io::Result<()> {
        self.before(Step::Rename(flags))?;
        Ok(renameat_with(folder, from, folder, to, flags)?)
    }

    /// From one folder to another.
    fn rename_between(
        &self,
        (folder, from): (&File, &Path),
        (other, to): (&File, &Path),
        flags: RenameFlags,
    ) -> io::Result<()> {
        self.before(Step::Rename(flags))?;
        Ok(renameat_with(folder, from, other, to, flags)?)
    }

    fn remove(&self, folder: &File, name: &str) -> io::Result<()> {
        self.before(Step::Remove)?;
        Ok(unlinkat(folder, name, AtFlags::empty())?)
    }
}

/// The operating system's own.
#[derive(Debug)]
pub(super) struct SystemFiles;

impl FileOps for SystemFiles {}
