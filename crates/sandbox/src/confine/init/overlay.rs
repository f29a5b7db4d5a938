//! A folder that a program may change without changing it: what it writes lies in another one and shows over it.

use std::fs::create_dir_all;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::mount::{UnmountFlags, unmount};

use super::root::{inside, put_at};
use crate::confine::aside::{UPPER, WORK};
use crate::confine::mount::{self, about};
use crate::confine::order::ASIDE;

/// Where the folder itself lies for as long as it takes.
const BELOW: &str = "var/below";

/// The kernel's file system that shows one folder over another. It keeps its own marks as a user may.
const OVERLAY: &str = "overlay";

/// A mount of what `below` shows, with what lies in [`ASIDE`] over it. Both are seen through it alone from then on.
pub(super) fn over(below: impl AsFd) -> io::Result<OwnedFd> {
    let aside = inside(ASIDE);
    create_dir_all(BELOW)?;
    put_at(BELOW.as_ref(), below)?;
    let (upper, work) = (format!("{aside}/{UPPER}"), format!("{aside}/{WORK}"));
    let options = [("lowerdir", BELOW), ("upperdir", &upper), ("workdir", &work)];
    let made = mount::with_flags(OVERLAY, &options, &["userxattr"]).map_err(about("a copy-on-write view"))?;
    for folder in [BELOW, aside] {
        unmount(folder, UnmountFlags::DETACH)?;
    }
    Ok(made)
}
