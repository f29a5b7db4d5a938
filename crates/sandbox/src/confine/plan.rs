//! `Plan`: the root folder of a program that `bwrap` starts, one entry after the other. `bwrap` is told it, and init, which
//! believes nothing, looks at each entry before the program runs (`init/proof`). `spawner/bwrap/planned` makes it.

use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;

use rustix::fs::fstat;
use serde::{Deserialize, Serialize};

use super::layer::Layer;

/// Each before what lies in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Plan {
    pub(super) entries: Vec<Entry>,
    /// The namespaces outside, by their names in `/proc/self/ns`.
    pub(super) outside: Vec<(String, u64)>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Entry {
    /// What is missing if it is not as it should be.
    pub(super) layer: Layer,
    /// Absolute.
    pub(super) at: PathBuf,
    pub(super) what: What,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum What {
    /// A file or folder of the machine.
    Shown {
        from: OsString,
        access: Access,
        identity: Identity,
    },
    /// A symbolic link with this text.
    Link(OsString),
    /// A file with this text.
    Written(String),
    /// An empty folder that may be written, and its size, if it has one.
    Scratch(Option<u64>),
    /// What is there looks empty.
    EmptyFolder,
    EmptyFile,
    Proc,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Access {
    Read,
    Write,
    Device,
}

/// Device and inode.
pub(super) type Identity = (u64, u64);

/// The kinds of namespaces that a program has for itself.
const NAMESPACES: [&str; 7] = ["user", "pid", "mnt", "net", "ipc", "uts", "cgroup"];

/// Those of this process.
pub(super) fn namespaces() -> io::Result<Vec<(String, u64)>> {
    let of = |name: &str| Ok((name.to_owned(), rustix::fs::stat(format!("/proc/self/ns/{name}"))?.st_ino));
    NAMESPACES.into_iter().map(of).collect()
}

pub(super) fn identity(place: &OwnedFd) -> io::Result<Identity> {
    let stat = fstat(place)?;
    Ok((stat.st_dev, stat.st_ino))
}
