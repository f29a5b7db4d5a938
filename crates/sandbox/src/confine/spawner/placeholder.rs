//! What stands where nothing may be made: a mount needs something to stand on. It is there as long as the run.

use std::collections::HashSet;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::fs::{AtFlags, Mode, OFlags, fstat, mkdirat, openat, statat, unlinkat};
use rustix::io::Errno;

use crate::confine::mount;
use crate::confine::order::{OrderedMount, Rule};

/// What we make is marked by the sticky bit, which hinders nobody and which nobody else gives an empty file or folder of these
/// names. So what was left when we were killed goes with the next run.
const MARK: u32 = 0o1000;

/// A file or folder below a workspace, mostly of ours. Its name goes when the last run that holds it closes it, if it is
/// empty and `goes` says so.
#[derive(Debug)]
pub(super) struct Placeholder {
    folder: OwnedFd,
    name: std::ffi::OsString,
    identity: Identity,
    is_folder: bool,
    goes: Goes,
    /// As long as it is open, nothing else gets its number.
    handle: OwnedFd,
}

/// What goes at the end. `bwrap` makes what it mounts on, and so an empty one where another Toolcrib takes away meanwhile
/// what stood there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Goes {
    /// What we have made, now or before.
    Ours,
    /// That, or what `bwrap` has made in its place.
    OursOrNew,
    /// What was there stays; what `bwrap` has made in its place goes.
    New,
}

/// Device and inode.
pub(super) type Identity = (u64, u64);

/// Makes those that the mount asks for. Those in `held`, which other runs hold, are shared with them: the kernel undoes
/// a mount on what is taken away. What else is there is not touched, and minded if `bwrap` is to mount on it.
pub(super) fn make_all(
    ordered: &OrderedMount,
    held: &HashSet<Identity>,
    is_for_bwrap: bool,
) -> io::Result<Vec<Placeholder>> {
    if ordered.rules.is_empty() {
        return Ok(Vec::new());
    }
    let root = mount::place(None, Path::new(&ordered.path))?;
    let mut made = Vec::new();
    for (path, rule) in &ordered.rules {
        let is_folder = match rule {
            Rule::AbsentFile => false,
            Rule::AbsentFolder => true,
            Rule::Pinned | Rule::ReadOnly | Rule::Hidden => continue,
        };
        match make(&root, Path::new(path), is_folder, held, is_for_bwrap) {
            Ok(placeholder) => made.extend(placeholder),
            Err(error) => {
                made.into_iter().for_each(|placeholder: Placeholder| drop(placeholder.close(held)));
                return Err(mount::about(path)(error));
            }
        }
    }
    Ok(made)
}

fn make(
    root: &OwnedFd,
    path: &Path,
    is_folder: bool,
    held: &HashSet<Identity>,
    is_for_bwrap: bool,
) -> io::Result<Option<Placeholder>> {
    let Some(name) = path.file_name() else { return Ok(None) };
    let folder = match path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        Some(parent) => mount::place(Some(root.as_fd()), parent)?,
        None => root.try_clone()?,
    };
    let made = match is_folder {
        true => mkdirat(&folder, name, Mode::from(MARK | 0o755)),
        false => {
            let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
            openat(&folder, name, flags, Mode::from(MARK | 0o644)).map(drop)
        }
    };
    let is_new = match made {
        Ok(()) => true,
        Err(Errno::EXIST) => false,
        Err(errno) => return Err(errno.into()),
    };
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let handle = openat(&folder, name, flags, Mode::empty())?;
    let stat = fstat(&handle)?;
    let identity = (stat.st_dev, stat.st_ino);
    let is_ours = is_new || held.contains(&identity) || stat.st_mode & MARK != 0;
    let goes = match (is_ours, is_for_bwrap) {
        (true, false) => Goes::Ours,
        (true, true) => Goes::OursOrNew,
        (false, true) => Goes::New,
        (false, false) => return Ok(None),
    };
    Ok(Some(Placeholder { folder, name: name.to_owned(), identity, is_folder, goes, handle }))
}

impl Placeholder {
    /// What must not go as long as it is held.
    pub(super) fn identity(&self) -> Option<Identity> {
        (self.goes != Goes::New).then_some(self.identity)
    }

    /// Takes it away, unless another run holds it or somebody outside has put something there meanwhile. With the handle that is
    /// left its room on the disk is freed, which takes ten times as long.
    pub(super) fn close(self, held: &HashSet<Identity>) -> OwnedFd {
        let now = statat(&self.folder, &self.name, AtFlags::SYMLINK_NOFOLLOW);
        let goes = now.is_ok_and(|now| {
            let identity = (now.st_dev, now.st_ino);
            let is_same = identity == self.identity;
            let goes = match self.goes {
                Goes::Ours => is_same,
                Goes::OursOrNew => true,
                Goes::New => !is_same,
            };
            goes && !held.contains(&identity) && (self.is_folder || now.st_size == 0)
        });
        if goes {
            let kind = if self.is_folder { AtFlags::REMOVEDIR } else { AtFlags::empty() };
            // A folder that is not empty any more stays.
            let _ = unlinkat(&self.folder, &self.name, kind);
        }
        self.handle
    }
}
