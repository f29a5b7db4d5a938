//! `Order`: all that the spawner is told of one program. It goes through memory without a name, because arguments and
//! environment may be longer than a packet.

mod text;

use std::ffi::OsString;
use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;

use rustix::fs::{MemfdFlags, fstat, memfd_create};
use rustix::io::pread;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::layer::Layer;
use super::limits::Limits;
use super::profile::Sockets;

/// Where the folder lies while the root is put together that takes what is written over a covered mount.
pub(super) const ASIDE: &str = "/var/aside";

/// More than the kernel takes as arguments and environment, written as JSON.
const ORDER_BYTES_MAX: u64 = 64 << 20;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Order {
    /// A name to look up in the PATH of `env`, or a path; as the program's root shows it.
    #[serde(with = "text")]
    pub(super) command: OsString,
    #[serde(with = "text")]
    pub(super) args: Vec<OsString>,
    #[serde(with = "text")]
    pub(super) env: Vec<(OsString, OsString)>,
    /// Where it starts, as its root shows it.
    #[serde(with = "text")]
    pub(super) cwd: OsString,
    /// What it sees of the machine's files, beside the system's. Each before what lies in it.
    pub(super) mounts: Vec<OrderedMount>,
    /// Links that are there unless a mount shows something in their place.
    pub(super) links: Vec<OrderedLink>,
    /// The ports of the doors in its network, if it has a way out.
    pub(super) ports: Option<Vec<u16>>,
    pub(super) sockets: Sockets,
    pub(super) limits: Limits,
    /// Layers to do without if they are missing.
    pub(super) waived: Vec<Layer>,
    /// Whether it has a descriptor 3 to tell more on.
    pub(super) tells: bool,
    /// Whether its three streams are a terminal.
    pub(super) has_terminal: bool,
    /// Whether it may have a sandbox from the pool, which is filled for those that follow.
    pub(super) pools: bool,
}

/// A file or folder that a program sees.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct OrderedMount {
    /// Absolute and without links.
    #[serde(with = "text")]
    pub(super) path: OsString,
    /// Where it is inside: at the same path, but for the home folder.
    #[serde(with = "text")]
    pub(super) at: OsString,
    pub(super) is_writable: bool,
    /// As root: the program counts as its owner. Otherwise it shows what everybody may read.
    pub(super) is_owned: bool,
    /// Nothing of it is written: what the program writes lies in [`ASIDE`], and shows over it.
    pub(super) is_covered: bool,
    /// A device, which works: what else is shown has none that do.
    pub(super) is_device: bool,
    /// Below `path`; each folder before what is in it.
    #[serde(with = "text")]
    pub(super) rules: Vec<(OsString, Rule)>,
}

/// A symbolic link, with its text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct OrderedLink {
    #[serde(with = "text")]
    pub(super) at: OsString,
    #[serde(with = "text")]
    pub(super) to: OsString,
}

/// What a path below a mount is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Rule {
    /// A mount of its own, so that it cannot be renamed and replaced with all that is below it.
    Pinned,
    /// Read and not written.
    ReadOnly,
    /// Neither read nor written: what is there looks empty.
    Hidden,
    /// Not there yet, and it cannot be made: an empty file stands in its place.
    AbsentFile,
    /// The same with an empty folder.
    AbsentFolder,
}

impl Order {
    pub(super) fn write(&self) -> io::Result<OwnedFd> {
        in_memory(self)
    }

    pub(super) fn read(memory: impl AsFd) -> io::Result<Order> {
        from_memory(memory)
    }
}

/// In memory without a name.
pub(super) fn in_memory(told: &impl Serialize) -> io::Result<OwnedFd> {
    let mut memory = std::fs::File::from(memfd_create("order", MemfdFlags::CLOEXEC)?);
    memory.write_all(&serde_json::to_vec(told)?)?;
    Ok(memory.into())
}

/// Leaves the memory as it is, for others to read.
pub(super) fn from_memory<T: DeserializeOwned>(memory: impl AsFd) -> io::Result<T> {
    let bytes = u64::try_from(fstat(&memory)?.st_size).unwrap_or_default().min(ORDER_BYTES_MAX);
    let mut written = vec![0; usize::try_from(bytes).map_err(io::Error::other)?];
    let mut read = 0;
    while let Some(left) = written.get_mut(read..).filter(|left| !left.is_empty()) {
        match pread(&memory, left, read as u64)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            more => read += more,
        }
    }
    Ok(serde_json::from_slice(&written)?)
}

impl OrderedMount {
    /// One that is read, and shows what everybody may read.
    pub(super) fn read(path: OsString) -> OrderedMount {
        OrderedMount {
            at: path.clone(),
            path,
            is_writable: false,
            is_owned: false,
            is_covered: false,
            is_device: false,
            rules: Vec::new(),
        }
    }

    /// A device at its own place.
    pub(super) fn device(path: OsString) -> OrderedMount {
        OrderedMount { is_writable: true, is_device: true, ..OrderedMount::read(path) }
    }

    /// The same without these files, as far as they lie in it. One that is named itself is meant.
    pub(super) fn hiding(mut self, files: &[PathBuf]) -> OrderedMount {
        let inside = files.iter().filter_map(|file| file.strip_prefix(&self.path).ok());
        let inside = inside.filter(|below| !below.as_os_str().is_empty());
        self.rules.extend(inside.map(|below| (below.into(), Rule::Hidden)));
        self
    }
}

impl Order {
    /// Whether something stands in for what is not there, as long as it runs.
    pub(super) fn has_absent(&self) -> bool {
        let mut rules = self.mounts.iter().flat_map(|mount| &mount.rules);
        rules.any(|(_, rule)| matches!(rule, Rule::AbsentFile | Rule::AbsentFolder))
    }

    /// A program that opens sockets needs a network of its own in any case.
    pub(super) fn does_without(&self, layer: Layer) -> bool {
        let is_way_out = matches!(layer, Layer::NetworkNamespace | Layer::Loopback);
        let is_needed = is_way_out && self.sockets.has_network();
        layer.may_be_waived() && !is_needed && self.waived.contains(&layer)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::os::unix::ffi::OsStringExt;

    use super::*;

    pub(in crate::confine) fn order() -> Order {
        let odd = OsString::from_vec(b"a\xff\n\"b".to_vec());
        let rules = vec![(odd.clone(), Rule::ReadOnly), (".git".into(), Rule::Pinned)];
        Order {
            command: "sh".into(),
            args: vec![odd.clone(), OsString::new(), "x".repeat(1 << 20).into()],
            env: vec![("A".into(), odd.clone())],
            cwd: odd.clone(),
            mounts: vec![OrderedMount {
                path: odd.clone(),
                at: odd,
                is_writable: true,
                is_owned: true,
                is_covered: true,
                is_device: true,
                rules,
            }],
            links: vec![OrderedLink { at: "/l".into(), to: "m".into() }],
            ports: Some(vec![80, 443]),
            sockets: Sockets::Network,
            limits: Limits::default(),
            waived: vec![Layer::Landlock, Layer::NetworkNamespace, Layer::Seccomp],
            tells: true,
            has_terminal: true,
            pools: true,
        }
    }

    #[test]
    fn an_order_arrives_as_it_was_written() {
        let order = order();
        assert_eq!(Order::read(order.write().expect("memory")).expect("an order"), order);
    }

    #[test]
    fn only_what_may_be_waived_is() {
        assert!(order().does_without(Layer::Landlock));
        assert!(!order().does_without(Layer::Seccomp), "it may not be");
        assert!(!order().does_without(Layer::Loopback), "nobody said so");
        assert!(!order().does_without(Layer::NetworkNamespace), "it opens sockets");
        let closed = Order { sockets: Sockets::None, ..order() };
        assert!(closed.does_without(Layer::NetworkNamespace));
    }
}
