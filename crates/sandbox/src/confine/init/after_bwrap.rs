//! An init that `bwrap` has started: our own program anew, with no memory of the spawner's. It says that it is there, and is
//! told the rest.

use std::ffi::OsString;
use std::io;
use std::os::fd::{FromRawFd, OwnedFd, RawFd};
use std::sync::Arc;

use rustix::io::{FdFlags, fcntl_setfd};
use rustix::process::{DumpableBehavior, PidfdFlags, getpid, pidfd_open, set_dumpable_behavior};
use serde::{Deserialize, Serialize};

use super::filters::Filters;
use super::given::Init;
use crate::confine::layer::Layer;
use crate::confine::order::{Order, from_memory, in_memory};
use crate::confine::packet::{Packet, READY, send_files};
use crate::confine::plan::Plan;
use crate::confine::report::MemoryKeeper;

/// The word that makes a spawner's program such an init. The number of its socket follows.
pub(in crate::confine) const INIT_WORD: &str = "init";

/// What it is told.
#[derive(Debug, Serialize, Deserialize)]
pub(in crate::confine) struct Inside {
    pub(in crate::confine) order: Order,
    pub(in crate::confine) plan: Plan,
    /// What `bwrap` cannot give, and what is no fence.
    pub(in crate::confine) without: Vec<Layer>,
    pub(in crate::confine) memory: MemoryKeeper,
}

impl Inside {
    pub(in crate::confine) fn write(&self) -> io::Result<OwnedFd> {
        in_memory(self)
    }
}

/// What the spawner has for it, after it has said that it is there. `words` follow the word above.
pub(super) fn given(mut words: impl Iterator<Item = OsString>) -> io::Result<Init> {
    let number = words.next().and_then(|number| number.to_str()?.parse::<RawFd>().ok());
    let number = number.filter(|number| *number > 2).ok_or(io::ErrorKind::InvalidInput)?;
    #[expect(unsafe_code, reason = "the spawner hands the socket over as a number")]
    // SAFETY: whoever starts this word passes an open file under this number, and nobody else in this process, which has
    // just begun, knows of it.
    let socket = unsafe { OwnedFd::from_raw_fd(number) };
    fcntl_setfd(&socket, FdFlags::CLOEXEC)?;
    // The program must neither read what this process remembers nor write in it.
    set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    let ourselves = pidfd_open(getpid(), PidfdFlags::empty())?;
    send_files(&socket, READY, [&ourselves])?;
    let packet = Packet::receive(&socket)?.ok_or(io::ErrorKind::UnexpectedEof)?;
    let Packet { order, streams, lifeline, report, doors, mounts } = packet;
    let Inside { order, plan, without, memory } = from_memory(order)?;
    let (filters, is_from_pool) = (Arc::new(Filters::new()), false);
    Ok(Init {
        order,
        memory,
        events: None,
        socket,
        mounts,
        doors,
        streams,
        lifeline,
        report,
        filters,
        fence: None,
        is_in_template: false,
        has_old_root: false,
        without,
        is_from_pool,
        plan: Some(plan),
    })
}
