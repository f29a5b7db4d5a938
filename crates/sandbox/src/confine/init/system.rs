//! `System`: what every program sees of the machine: programs, a few settings, five devices. It is looked up once for all
//! runs, so that each only has to take it and to put it in its place.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, mknodat, stat};

use crate::confine::mount::{self, NO_DEVICES, NO_EXEC, NO_SUID, READ_ONLY, about};

/// What programs consist of. Those that are links outside are links inside.
pub(in crate::confine) const PROGRAMS: [&str; 7] =
    ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/nix/store"];

/// What programs look up of the machine; nothing here is secret, and nothing is about its users. Each is a mount, and each
/// mount takes some ten microseconds, so this is what programs fail without.
const SETTINGS: [&str; 7] = [
    "/etc/alternatives",
    "/etc/ld.so.cache",
    "/etc/localtime",
    "/etc/os-release",
    "/etc/pki",
    "/etc/ssl/certs",
    "/etc/ssl/openssl.cnf",
];

/// The devices that programs cannot do without, as files that may be written.
const DEVICES: [&str; 5] = ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"];

/// Names that lead to what a program has anyway. What POSIX calls shared memory are files in `/dev/shm`.
const LINKS: [(&str, &str); 5] = [
    ("/dev/fd", "/proc/self/fd"),
    ("/dev/stdin", "/proc/self/fd/0"),
    ("/dev/stdout", "/proc/self/fd/1"),
    ("/dev/stderr", "/proc/self/fd/2"),
    ("/dev/shm", "/tmp"),
];

/// Where the devices are: whatever lies there may be written.
pub(super) const DEVICES_FOLDER: &str = "/dev";

pub(in crate::confine) struct System {
    /// Each before those in it, and all relative: they are made below the working folder.
    folders: Vec<PathBuf>,
    links: Vec<(PathBuf, PathBuf)>,
    shown: Vec<Shown>,
}

/// A file or folder of the machine.
struct Shown {
    path: &'static Path,
    here: PathBuf,
    is_folder: bool,
    attributes: u64,
}

/// A mount of each, where it is still there.
pub(super) type Taken = Vec<Option<OwnedFd>>;

/// Device and number of each file that may be replaced, where it is still there.
pub(in crate::confine) type Identities = Vec<Option<(u64, u64)>>;

impl System {
    pub(in crate::confine) fn look() -> System {
        let links = LINKS.map(|(path, to)| (below(Path::new(path)), to.into()));
        let mut system = System { folders: Vec::new(), links: links.into(), shown: Vec::new() };
        for path in PROGRAMS.iter().chain(&SETTINGS) {
            system.look_at(Path::new(path), READ_ONLY | NO_SUID | NO_DEVICES);
        }
        for path in DEVICES {
            system.look_at(Path::new(path), NO_SUID | NO_EXEC);
        }
        let links = system.links.iter().map(|(path, _)| path);
        let places = links.chain(system.shown.iter().map(|shown| &shown.here));
        let above = places.flat_map(|path| path.ancestors().skip(1).filter(|path| *path != Path::new("")));
        let folders = system.shown.iter().filter(|shown| shown.is_folder).map(|shown| &*shown.here);
        let all: BTreeSet<&Path> = above.chain(folders).collect();
        system.folders = all.into_iter().map(Path::to_owned).collect();
        system
    }

    fn look_at(&mut self, path: &'static Path, attributes: u64) {
        let Ok(meta) = fs::symlink_metadata(path) else { return };
        let here = below(path);
        if meta.is_symlink() {
            self.links.extend(fs::read_link(path).map(|to| (here, to)));
        // Below a folder that is a link: it comes with that.
        } else if mount::place(None, path).is_ok() {
            self.shown.push(Shown { path, here, is_folder: meta.is_dir(), attributes });
        }
    }

    /// What is shown of the machine at this moment.
    pub(in crate::confine) fn identities(&self) -> Identities {
        let files = self.shown.iter().filter(|shown| !shown.is_device());
        files.map(|shown| stat(shown.path).ok().map(|stat| (stat.st_dev, stat.st_ino))).collect()
    }

    /// Its files and folders, and which of them are devices.
    pub(in crate::confine) fn shown(&self) -> impl Iterator<Item = (&Path, bool)> {
        self.shown.iter().map(|shown| (shown.path, shown.is_device()))
    }

    /// Its links with their texts, below the root.
    pub(in crate::confine) fn links(&self) -> impl Iterator<Item = (&Path, &Path)> {
        self.links.iter().map(|(path, to)| (&**path, &**to))
    }

    /// To be called while the old root is in its place.
    pub(super) fn take(&self) -> io::Result<Taken> {
        self.shown.iter().map(Shown::take).collect()
    }

    /// Makes all of it in the working folder, which is empty.
    pub(super) fn put(&self, taken: Taken) -> io::Result<()> {
        for folder in &self.folders {
            fs::create_dir(folder).map_err(about(folder))?;
        }
        for (path, to) in &self.links {
            symlink(to, path).map_err(about(path))?;
        }
        for (shown, mounted) in self.shown.iter().zip(taken) {
            if let Some(mounted) = mounted {
                shown.put(&mounted).map_err(about(&shown.here))?;
            }
        }
        Ok(())
    }
}

impl Shown {
    fn take(&self) -> io::Result<Option<OwnedFd>> {
        match mount::copy_of(self.path) {
            Ok(mounted) => mount::set(&mounted, self.attributes).map(|()| Some(mounted)),
            // Somebody has taken it away since it was looked up. Nobody does that to a device.
            Err(error) if error.kind() == io::ErrorKind::NotFound && !self.is_device() => Ok(None),
            Err(error) => Err(error),
        }
        .map_err(about(self.path))
    }

    fn put(&self, mounted: &OwnedFd) -> io::Result<()> {
        if !self.is_folder {
            mknodat(CWD, &self.here, FileType::RegularFile, Mode::from(0o444), 0)?;
        }
        mount::put_at(mounted, &self.here)
    }

    fn is_device(&self) -> bool {
        self.path.starts_with(DEVICES_FOLDER)
    }
}

/// `path`, which is absolute, below the working folder.
fn below(path: &Path) -> PathBuf {
    path.strip_prefix("/").unwrap_or(path).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_put_together_from_the_outermost_folder_on() {
        let system = System::look();
        let at = |path: &str| system.folders.iter().position(|folder| folder == Path::new(path));
        assert!(at("usr").is_some() && at("dev").is_some() && at("etc/ssl") > at("etc"));
        assert_eq!(system.shown.iter().filter(|shown| shown.is_device()).count(), DEVICES.len());
        let gone =
            Shown { path: Path::new("/etc/gone"), here: "etc/gone".into(), is_folder: false, attributes: 0 };
        assert!(gone.take().is_ok_and(|taken| taken.is_none()));
        let gone = Shown { path: Path::new("/dev/gone"), ..gone };
        assert!(gone.take().is_err());
    }
}
