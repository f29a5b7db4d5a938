//! What no program writes in what it sees, and what none reads, once that stands in the new root.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::{FileType, fstat};

use super::given::Init;
use super::root::{EMPTY_FILE, EMPTY_FOLDER};
use crate::confine::mount::{self, READ_ONLY, about};
use crate::confine::order::Rule;

/// Handles on what stands for what is not to be seen.
struct Empty {
    folder: OwnedFd,
    file: OwnedFd,
}

pub(super) fn protect(init: &Init) -> io::Result<()> {
    let ruled = || init.order.mounts.iter().filter(|mount| !mount.rules.is_empty());
    if ruled().next().is_none() {
        return Ok(());
    }
    let empty = Empty::new()?;
    for mount in ruled() {
        let at = Path::new(&mount.at);
        let here = at.strip_prefix("/").unwrap_or(at);
        for (path, rule) in &mount.rules {
            // Anew for each: a handle from before shows what lies below a mount that came later.
            let root = mount::place(Some(rustix::fs::CWD), here)?;
            apply(root.as_fd(), Path::new(path), *rule, &empty).map_err(about(path))?;
        }
    }
    Ok(())
}

fn apply(root: BorrowedFd<'_>, path: &Path, rule: Rule, empty: &Empty) -> io::Result<()> {
    let place = match mount::place(Some(root), path) {
        Ok(place) => place,
        // Somebody outside has taken it away meanwhile.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        // Where we do not get, the program does not either: it is the same user with fewer rights.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied && rule == Rule::Hidden => {
            return Ok(());
        }
        Err(error) => return Err(error),
    };
    let mounted = match rule {
        Rule::Pinned | Rule::ReadOnly => mount::copy(&place)?,
        Rule::Hidden | Rule::AbsentFile | Rule::AbsentFolder => mount::copy(empty.like(&place)?)?,
    };
    if rule != Rule::Pinned {
        mount::set(&mounted, READ_ONLY)?;
    }
    mount::put(mounted, place)
}

impl Empty {
    /// Both lie in the new root, which nobody can write later.
    fn new() -> io::Result<Empty> {
        let place = |path| mount::place(Some(rustix::fs::CWD), Path::new(path));
        Ok(Empty { folder: place(EMPTY_FOLDER)?, file: place(EMPTY_FILE)? })
    }

    fn like(&self, place: &OwnedFd) -> io::Result<&OwnedFd> {
        let is_folder = FileType::from_raw_mode(fstat(place)?.st_mode) == FileType::Directory;
        Ok(if is_folder { &self.folder } else { &self.file })
    }
}
