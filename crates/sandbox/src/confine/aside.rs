//! `Aside`: a folder that takes what a program writes over its workspace, so that a person can look at it first.

mod changes;
mod diff;

use std::ffi::OsString;
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::order::{ASIDE, OrderedMount};
pub use changes::Changes;

/// What lies over the workspace.
pub(super) const UPPER: &str = "upper";

/// What the kernel needs besides.
pub(super) const WORK: &str = "work";

/// How its name begins.
const PREFIX: &str = "dry-run.";

/// No run takes so long: what is older was left by a process that was killed.
const LEFT_AFTER: Duration = Duration::from_secs(24 * 60 * 60);

/// A folder of ours beside the workspace. Dropping it removes it with all that was written.
#[derive(Debug)]
pub struct Aside {
    folder: PathBuf,
}

impl Aside {
    /// A new one in `within`, which is ours alone. Blocks on the disk.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn new(within: &Path) -> io::Result<Aside> {
        remove_left(within)?;
        let folder = tempfile::Builder::new().prefix(PREFIX).tempdir_in(within)?.keep();
        let aside = Aside { folder: folder.canonicalize()? };
        for part in [UPPER, WORK] {
            fs::create_dir(aside.folder.join(part))?;
        }
        Ok(aside)
    }

    /// What the programs that have run with it would have changed in the workspace. None of them may run any more. Blocks on
    /// the disk.
    ///
    /// # Errors
    /// Either folder cannot be read.
    pub fn changes(&self, workspace: &Path) -> io::Result<Changes> {
        let upper = self.folder.join(UPPER);
        open_up(&upper)?;
        changes::of(&upper, workspace)
    }

    /// Where a program finds it while its root is put together, and never later.
    pub(super) fn ordered(&self) -> OrderedMount {
        let path: OsString = self.folder.clone().into();
        OrderedMount { at: ASIDE.into(), is_writable: true, is_owned: true, ..OrderedMount::read(path) }
    }
}

impl Drop for Aside {
    fn drop(&mut self) {
        // What stays lies where only we look.
        let _ = open_up(&self.folder).and_then(|()| fs::remove_dir_all(&self.folder));
    }
}

/// Removes those that nobody has removed.
fn remove_left(within: &Path) -> io::Result<()> {
    for entry in fs::read_dir(within)? {
        let entry = entry?;
        let is_ours = entry.file_name().to_string_lossy().starts_with(PREFIX);
        let age =
            entry.metadata().and_then(|meta| meta.modified()).map(|at| at.elapsed().unwrap_or_default());
        if is_ours && age.is_ok_and(|age| age > LEFT_AFTER) {
            drop(Aside { folder: entry.path() });
        }
    }
    Ok(())
}

/// Programs, and the kernel, leave folders that their owner may not enter.
fn open_up(folder: &Path) -> io::Result<()> {
    fs::set_permissions(folder, Permissions::from_mode(0o700))?;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            open_up(&entry.path())?;
        }
    }
    Ok(())
}
