//! `bwrap` in our place: where nobody but it may make a user namespace with rights in it, it makes namespaces and the root
//! folder, and becomes our own program again, which is the init. AppArmor frees it by its path; elsewhere it is setuid.
//!
//! It gives its payload no rights, so there is no route for made-up addresses and no name server. Everything else is as ever,
//! and init looks at each layer before it goes on.

mod planned;
mod started;
mod trusted;
mod words;

use std::ffi::OsString;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use rustix::fs::{MemfdFlags, memfd_create};
use rustix::io::{FdFlags, fcntl_setfd};
use rustix::process::{Pid, PidfdFlags, pidfd_open, setsid};

use crate::confine::fork::{exit, fork};
use crate::confine::init::after_bwrap::{INIT_WORD, Inside};
use crate::confine::init::memory;
use crate::confine::init::system::System;
use crate::confine::layer::Layer;
use crate::confine::order::Order;
use crate::confine::packet::{Packet, connection};
use crate::confine::report::MemoryKeeper;

pub(super) use started::Started;
pub(in crate::confine) use trusted::{Trusted, trusted};

/// Where distributions have it, and where AppArmor knows it. Never looked up: PATH may name a workspace.
pub(in crate::confine) const BWRAP: &str = "/usr/bin/bwrap";

/// What a program with a network is without that `bwrap` starts.
const WITHOUT: Layer = Layer::Names;

/// What a start needs besides an order.
pub(super) struct Launcher {
    path: PathBuf,
    is_setuid: bool,
    /// Our own program, open, so that it need not be seen inside.
    program: OwnedFd,
    /// The words that make it a spawner.
    words: Vec<OsString>,
}

impl Launcher {
    /// Nothing where there is none that may be trusted.
    pub(super) fn find(path: &Path) -> Option<Launcher> {
        let Trusted { is_setuid } = trusted(path).ok()?;
        let program = std::fs::File::open("/proc/self/exe").ok()?;
        let words = std::env::args_os().skip(1).collect();
        Some(Launcher { path: path.to_owned(), is_setuid, program: program.into(), words })
    }

    /// Has an init made for the order. It is sent the packet's files when it has said that it is there. What comes back
    /// is bwrap's process and the socket to init.
    pub(super) fn start(
        &self,
        order: &Order,
        system: &System,
        group: Option<&OwnedFd>,
        packet: &Packet,
    ) -> Result<(Pid, OwnedFd, OwnedFd, Started), (Layer, io::Error)> {
        let plan = planned::plan(order, system, self.is_setuid)?;
        let spawner = |error| (Layer::Spawner, error);
        let (arguments, files) = words::written(&plan, self.is_setuid).map_err(spawner)?;
        let without = order.sockets.has_network().then_some(WITHOUT).into_iter().collect();
        let memory = MemoryKeeper::of(group);
        let inside = Inside { order: order.clone(), plan, without, memory }.write().map_err(spawner)?;
        let packet = with_order(packet, inside).map_err(spawner)?;
        let (socket, theirs) = connection().map_err(spawner)?;
        let said = memfd_create("bwrap", MemfdFlags::CLOEXEC).map_err(|errno| spawner(errno.into()))?;
        let child = match fork().map_err(spawner)? {
            None => {
                let inherited = files.iter().chain([&arguments, &self.program, &theirs]);
                let error = self.become_bwrap(&arguments, &theirs, &said, group, inherited);
                // It goes where what bwrap says goes; if nobody can say it, the end says enough.
                let _ = rustix::io::write(&said, error.to_string().as_bytes());
                exit(1)
            }
            Some(child) => child,
        };
        let handle = pidfd_open(child, PidfdFlags::empty()).map_err(|errno| spawner(errno.into()))?;
        Ok((child, handle, socket, Started::new(packet, said, Instant::now())))
    }

    /// Returns why not.
    fn become_bwrap<'f>(
        &self,
        arguments: &OwnedFd,
        socket: &OwnedFd,
        said: &OwnedFd,
        group: Option<&OwnedFd>,
        inherited: impl Iterator<Item = &'f OwnedFd>,
    ) -> io::Error {
        let ready = || {
            // A group of its own, by which all of it can be ended.
            setsid()?;
            group.map_or(Ok(()), memory::join)?;
            for file in inherited {
                fcntl_setfd(file, FdFlags::empty())?;
            }
            said.try_clone()
        };
        let said = match ready() {
            Ok(said) => said,
            Err(error) => return error,
        };
        let mut command = Command::new(&self.path);
        command.args([OsString::from("--args"), arguments.as_raw_fd().to_string().into(), "--".into()]);
        command.arg(format!("/proc/self/fd/{}", self.program.as_raw_fd())).args(&self.words);
        command.args([INIT_WORD.to_owned(), socket.as_raw_fd().to_string()]);
        command.env_clear().current_dir("/");
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(said);
        command.exec()
    }
}

/// The same files with another order.
fn with_order(packet: &Packet, order: OwnedFd) -> io::Result<Packet> {
    let Packet { order: _, streams, lifeline, report, doors, mounts: _ } = packet;
    let [stdin, stdout, stderr, told] = streams;
    Ok(Packet {
        order,
        streams: [stdin.try_clone()?, stdout.try_clone()?, stderr.try_clone()?, told.try_clone()?],
        lifeline: lifeline.try_clone()?,
        report: report.try_clone()?,
        doors: doors.as_ref().map(OwnedFd::try_clone).transpose()?,
        mounts: Vec::new(),
    })
}
