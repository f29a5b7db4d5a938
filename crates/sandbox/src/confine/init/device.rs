//! `/dev`: the five devices that programs cannot do without.

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::symlink;
use std::path::Path;

use crate::confine::mount::{self, NO_EXEC, NO_SUID, about};

/// The devices, as files that may be written.
pub(super) const DEVICES: [&str; 5] = ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"];

/// Names that lead to what a program has anyway. What POSIX calls shared memory are files in `/dev/shm`.
const LINKS: [(&str, &str); 5] = [
    ("/proc/self/fd", "dev/fd"),
    ("/proc/self/fd/0", "dev/stdin"),
    ("/proc/self/fd/1", "dev/stdout"),
    ("/proc/self/fd/2", "dev/stderr"),
    ("/tmp", "dev/shm"),
];

/// Those of the machine.
pub(super) fn take() -> io::Result<Vec<(&'static str, OwnedFd)>> {
    let take = |path: &'static str| {
        let device = mount::copy(mount::place(None, Path::new(path)).map_err(about(path))?)?;
        mount::set(&device, NO_SUID | NO_EXEC)?;
        Ok((path, device))
    };
    DEVICES.into_iter().map(take).collect()
}

/// Puts them below the working folder.
pub(super) fn put(devices: Vec<(&'static str, OwnedFd)>) -> io::Result<()> {
    fs::create_dir_all("dev")?;
    for (path, device) in devices {
        let here = path.trim_start_matches('/');
        fs::write(here, "")?;
        mount::put(device, mount::place(Some(rustix::fs::CWD), Path::new(here))?).map_err(about(path))?;
    }
    LINKS.into_iter().try_for_each(|(to, path)| symlink(to, path))
}
