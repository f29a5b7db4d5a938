//! Mounts as handles: taken, given attributes and put in place, so that no path is looked up twice.

use std::ffi::{CStr, OsStr};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat2};
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, MountFlags, MoveMountFlags, OpenTreeFlags, fsconfig_create,
    fsconfig_set_flag, fsconfig_set_string, fsmount, fsopen, move_mount, open_tree,
};

/// Attributes of a mount, as `mount_setattr` knows them.
pub(super) const READ_ONLY: u64 = libc::MOUNT_ATTR_RDONLY;
pub(super) const NO_SUID: u64 = libc::MOUNT_ATTR_NOSUID;
pub(super) const NO_DEVICES: u64 = libc::MOUNT_ATTR_NODEV;
pub(super) const NO_EXEC: u64 = libc::MOUNT_ATTR_NOEXEC;

/// A handle on `path`, to which no link leads. From `folder` it stays below it; without one it is absolute.
pub(super) fn place(folder: Option<BorrowedFd<'_>>, path: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    let links = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    Ok(match folder {
        Some(folder) => openat2(folder, path, flags, Mode::empty(), links | ResolveFlags::BENEATH)?,
        None => openat2(CWD, path, flags, Mode::empty(), links)?,
    })
}

/// A copy of the mount of what is at `place`, with everything mounted below it.
pub(super) fn copy(place: impl AsFd) -> io::Result<OwnedFd> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_EMPTY_PATH
        | OpenTreeFlags::AT_RECURSIVE;
    Ok(open_tree(place, c"", flags)?)
}

/// Puts the mount at `place`.
pub(super) fn put(mount: impl AsFd, place: impl AsFd) -> io::Result<()> {
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
    Ok(move_mount(mount, c"", place, c"", flags)?)
}

/// The same of what is at `path`, which is absolute; if it is a link, of the link itself.
pub(super) fn copy_of(path: &Path) -> io::Result<OwnedFd> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_SYMLINK_NOFOLLOW
        | OpenTreeFlags::AT_RECURSIVE;
    Ok(open_tree(CWD, path, flags)?)
}

/// Puts the mount at `path`, to which no link must lead.
pub(super) fn put_at(mount: impl AsFd, path: &Path) -> io::Result<()> {
    Ok(move_mount(mount, c"", CWD, path, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)?)
}

/// A new file system of this kind at `path`, to which no link must lead.
pub(super) fn make(kind: &str, path: &str, options: &CStr) -> io::Result<()> {
    Ok(rustix::mount::mount(kind, path, kind, MountFlags::NOSUID | MountFlags::NODEV, options)?)
}

/// A new file system of this kind, which is nowhere yet.
pub(super) fn new(kind: &str, options: &[(&str, &str)]) -> io::Result<OwnedFd> {
    with_flags(kind, options, &[])
}

/// The same with options that have no value besides.
pub(super) fn with_flags(kind: &str, options: &[(&str, &str)], flags: &[&str]) -> io::Result<OwnedFd> {
    let context = fsopen(kind, FsOpenFlags::FSOPEN_CLOEXEC)?;
    for (name, value) in options {
        fsconfig_set_string(&context, *name, *value)?;
    }
    for flag in flags {
        fsconfig_set_flag(&context, *flag)?;
    }
    fsconfig_create(&context)?;
    let attributes = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV;
    Ok(fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, attributes)?)
}

/// Gives `attributes` to the mount and to all below it. What is mounted there later shows nowhere else, and the other way round.
pub(super) fn set(mount: impl AsFd, attributes: u64) -> io::Result<()> {
    set_all(mount.as_fd(), attributes, None, libc::AT_RECURSIVE)
}

/// Gives `attributes` to the mount alone.
pub(super) fn set_one(mount: impl AsFd, attributes: u64) -> io::Result<()> {
    set_all(mount.as_fd(), attributes, None, 0)
}

/// Has owners appear as the user namespace maps them, in the mount and in all below it.
pub(super) fn map_owners(mount: impl AsFd, namespace: BorrowedFd<'_>) -> io::Result<()> {
    set_all(mount.as_fd(), libc::MOUNT_ATTR_IDMAP, Some(namespace), libc::AT_RECURSIVE)
}

fn set_all(
    mount: BorrowedFd<'_>,
    attributes: u64,
    namespace: Option<BorrowedFd<'_>>,
    recursive: libc::c_int,
) -> io::Result<()> {
    let userns_fd = namespace.map_or(0, |namespace| namespace.as_raw_fd().unsigned_abs().into());
    let attributes =
        libc::mount_attr { attr_set: attributes, attr_clr: 0, propagation: libc::MS_PRIVATE, userns_fd };
    #[expect(unsafe_code, reason = "neither std nor rustix has `mount_setattr`")]
    // SAFETY: the path is a C string, the structure is of the size that is said, both outlive the call, and it writes
    // to neither.
    let result = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            mount.as_raw_fd(),
            c"".as_ptr(),
            libc::AT_EMPTY_PATH | recursive,
            &raw const attributes,
            size_of::<libc::mount_attr>(),
        )
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Adds to an error what it was about.
pub(super) fn about(what: impl AsRef<OsStr>) -> impl FnOnce(io::Error) -> io::Error {
    move |error| io::Error::new(error.kind(), format!("{}: {error}", what.as_ref().display()))
}
