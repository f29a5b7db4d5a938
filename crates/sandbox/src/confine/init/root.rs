//! The root folder: little, and nothing of it can be written.

use std::ffi::CString;
use std::fs::{self, create_dir_all};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::symlink;
use std::path::Path;

use rustix::fs::{FileType, fstat};
use rustix::mount::{MountFlags, MountPropagationFlags, UnmountFlags, mount_change, mount_remount, unmount};
use rustix::process::{fchdir, pivot_root};

use super::given::{Empty, HOME, Init, USER};
use super::overlay;
use super::system::System;
use crate::confine::limits::Limits;
use crate::confine::mount::{self, NO_DEVICES, NO_EXEC, NO_SUID, READ_ONLY, about};
use crate::confine::order::{Order, OrderedLink};

/// Files of our own in its place.
pub(in crate::confine) const WRITTEN: [(&str, &str); 4] = [
    ("etc/passwd", "agent:x:1000:1000::/home/agent:/bin/sh\nnobody:x:65534:65534::/nonexistent:/bin/false\n"),
    ("etc/group", "agent:x:1000:\nnogroup:x:65534:\n"),
    ("etc/hosts", "127.0.0.1 localhost\n::1 localhost\n"),
    ("etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files\n"),
];

/// The same for programs with a way out: where names are asked for.
const WRITTEN_FOR_NETWORK: [(&str, &str); 2] = [
    ("etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files dns\n"),
    ("etc/resolv.conf", "nameserver 127.0.0.1\noptions timeout:5 attempts:2\n"),
];

/// The root holds folders, links and a few lines; this is what it may grow to.
const ROOT_BYTES_MAX: &str = "1m";

/// There may be a file for each so many bytes of scratch space: an empty one takes memory, too.
const SCRATCH_FILE_BYTES: u64 = 4096;

/// Folders that are empty at its start. What an order shows in the place of one lies on it.
const SCRATCH: [&str; 2] = ["/tmp", HOME];

/// An empty folder and an empty file, to stand for what is not to be seen. They lie where nothing that is shown covers them.
pub(super) const EMPTY_FOLDER: &str = ".empty";
pub(super) const EMPTY_FILE: &str = ".nothing";

/// Where the new root is put together: `/usr` is there wherever programs are, and its own handle is taken before.
const SITE: &str = "/usr";

/// What lies on the root: nothing is above that, but from there mounts are followed.
const OLD: &str = "/..";

/// Nothing that is mounted from here on shows outside, nor the other way round.
pub(super) fn part_from_host(_: &Empty) -> io::Result<()> {
    part_from_others()
}

pub(in crate::confine) fn part_from_others() -> io::Result<()> {
    Ok(mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)?)
}

/// Makes the new root the working folder, with all in it but `/proc` and what an order shows.
pub(super) fn build(sandbox: &Empty) -> io::Result<()> {
    lay_out(&sandbox.system)?;
    add_scratch(sandbox)
}

/// Makes the new root the working folder, with what is the same for all programs.
pub(super) fn lay_out(system: &System) -> io::Result<()> {
    let taken = system.take()?;
    let root = mount::new("tmpfs", &[("mode", "0755"), ("size", ROOT_BYTES_MAX)])?;
    mount::put(&root, mount::place(None, Path::new(SITE))?)?;
    fchdir(&root)?;
    system.put(taken)?;
    for (path, text) in WRITTEN {
        fs::write(path, text).map_err(about(path))?;
    }
    for folder in SCRATCH.map(inside).into_iter().chain(["proc", EMPTY_FOLDER]) {
        create_dir_all(folder)?;
    }
    fs::write(EMPTY_FILE, "").map_err(about(EMPTY_FILE))
}

/// The folders that are the program's own, in the working folder.
pub(super) fn add_scratch(_: &Empty) -> io::Result<()> {
    let owner = format!("mode=0700,uid={USER},gid={USER},{}", room(Limits::default().scratch_bytes));
    let options = CString::new(owner)?;
    for folder in SCRATCH.map(inside) {
        mount::make("tmpfs", folder, &options).map_err(about(folder))?;
    }
    Ok(())
}

/// Whether something lies in one of them.
pub(super) fn is_scratch(at: &Path) -> bool {
    SCRATCH.iter().any(|folder| at.starts_with(folder))
}

/// How much a scratch folder holds, as tmpfs is told.
fn room(bytes: u64) -> String {
    format!("size={bytes},nr_inodes={}", scratch_files(bytes))
}

/// How many files there may be in a scratch folder of so many bytes.
pub(super) fn scratch_files(bytes: u64) -> u64 {
    bytes.div_ceil(SCRATCH_FILE_BYTES)
}

/// Folders that are empty at its start, and gone with the program.
pub(in crate::confine) fn scratch_folders(order: &Order) -> impl Iterator<Item = &'static str> {
    SCRATCH.into_iter().filter(|folder| order.mounts.iter().all(|mount| mount.at != *folder))
}

/// What is not the same for all programs of what was built.
pub(super) fn fit(init: &Init) -> io::Result<()> {
    if init.order.sockets.has_network() {
        for (path, text) in WRITTEN_FOR_NETWORK {
            fs::write(path, text).map_err(about(path))?;
        }
    }
    let bytes = init.order.limits.scratch_bytes;
    if bytes != Limits::default().scratch_bytes {
        let options = CString::new(room(bytes))?;
        for folder in SCRATCH.map(inside) {
            let flags = MountFlags::NOSUID | MountFlags::NODEV;
            mount_remount(folder, flags, &options).map_err(|errno| about(folder)(errno.into()))?;
        }
    }
    Ok(())
}

pub(super) fn add_proc(_: &Empty) -> io::Result<()> {
    mount_proc()
}

pub(super) fn mount_proc() -> io::Result<()> {
    mount::make("proc", "proc", c"").map_err(about("proc"))
}

/// Makes the new root the root, and stays in it. The old one lies on it then, where no path leads but [`OLD`], and goes if
/// nothing is taken from it any more.
pub(super) fn enter(sandbox: &Empty) -> io::Result<()> {
    pivot_root(".", ".")?;
    if sandbox.is_given_mounts { leave_old() } else { Ok(()) }
}

/// Makes it the root for good, as it is: nothing can be added to it any more.
pub(super) fn enter_closed() -> io::Result<()> {
    close_root()?;
    pivot_root(".", ".")?;
    leave_old()
}

fn close_root() -> io::Result<()> {
    mount::set_one(mount::place(Some(rustix::fs::CWD), Path::new("."))?, READ_ONLY)
}

fn leave_old() -> io::Result<()> {
    // What lies on it, since a mount is meant.
    Ok(unmount(".", UnmountFlags::DETACH)?)
}

/// Puts what the order shows of the machine's files in its place.
pub(super) fn add_mounts(init: &Init) -> io::Result<()> {
    if !init.has_old_root && init.mounts.len() != init.order.mounts.len() {
        return Err(io::Error::other("mounts were lost on the way"));
    }
    for (nth, ordered) in init.order.mounts.iter().enumerate() {
        let (path, at) = (Path::new(&ordered.path), Path::new(&ordered.at));
        let taken;
        let mounted = match init.mounts.get(nth) {
            Some(mounted) => mounted,
            None => {
                let old = mount::place(None, Path::new(OLD))?;
                let place = mount::place(Some(old.as_fd()), inside_path(path)).map_err(about(path))?;
                taken = mount::copy(place)?;
                &taken
            }
        };
        let read_only = if ordered.is_writable && !ordered.is_covered { 0 } else { READ_ONLY };
        let devices = if ordered.is_device { NO_EXEC } else { NO_DEVICES };
        mount::set(mounted, NO_SUID | devices | read_only)?;
        let is_folder = FileType::from_raw_mode(fstat(mounted)?.st_mode) == FileType::Directory;
        stand(inside_path(at), is_folder).map_err(about(at))?;
        match ordered.is_covered {
            true => put_at(inside_path(at), overlay::over(mounted)?)?,
            false => put_at(inside_path(at), mounted)?,
        }
    }
    Ok(())
}

/// Makes the links that lead to them, but where something is already.
pub(super) fn add_links(init: &Init) -> io::Result<()> {
    init.order.links.iter().try_for_each(add_link)
}

pub(super) fn add_link(link: &OrderedLink) -> io::Result<()> {
    let at = inside_path(Path::new(&link.at));
    if fs::symlink_metadata(at).is_err() {
        at.parent().map_or(Ok(()), |above| stand(above, true)).map_err(about(at))?;
        symlink(&link.to, at).map_err(about(at))?;
    }
    Ok(())
}

/// Something to mount on, below the working folder. It goes through no link: what an order shows lies where it says.
pub(super) fn stand(here: &Path, is_folder: bool) -> io::Result<()> {
    let mut above: Vec<&Path> = here.ancestors().filter(|path| !path.as_os_str().is_empty()).collect();
    above.reverse();
    for path in above {
        match fs::symlink_metadata(path) {
            Ok(meta) if meta.is_dir() || (path == here && !meta.is_symlink()) => {}
            Ok(_) => return Err(io::Error::other("a link or a file is in the way")),
            Err(_) if is_folder || path != here => fs::create_dir(path)?,
            Err(_) => fs::write(path, "")?,
        }
    }
    Ok(())
}

/// Nothing can be added to the root any more, and nothing of the old one is left.
pub(super) fn close(init: &Init) -> io::Result<()> {
    if !init.is_in_template {
        close_root()?;
    }
    if init.has_old_root {
        leave_old()?;
    }
    go_to_work(init)
}

/// Where the program starts.
pub(super) fn go_to_work(init: &Init) -> io::Result<()> {
    let cwd = Path::new(&init.order.cwd);
    std::env::set_current_dir(cwd).map_err(about(cwd))
}

/// `path`, which is absolute, below the working folder.
pub(super) fn inside_path(path: &Path) -> &Path {
    path.strip_prefix("/").unwrap_or(path)
}

pub(super) fn inside(path: &str) -> &str {
    path.trim_start_matches('/')
}

pub(super) fn put_at(path: &Path, mounted: impl AsFd) -> io::Result<()> {
    mount::put(mounted, mount::place(Some(rustix::fs::CWD), path)?).map_err(about(path))
}
