//! `Empty` and `Init`: what an init is given for the sandbox itself and then for its program, and what its steps are.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use super::filters::Filters;
use super::system::System;
use crate::confine::layer::Layer;
use crate::confine::order::Order;
use crate::confine::packet::Packet;
use crate::confine::report::MemoryKeeper;

/// The user and group of the program, as it sees them.
pub(crate) const USER: u32 = 1000;

/// The program's home folder inside.
pub(crate) const HOME: &str = "/home/agent";

/// What a sandbox is made from before it has a program. Nothing of it is anybody's.
pub(crate) struct Empty {
    /// The way into the control group that keeps its memory, if there is one.
    pub(crate) group: Option<OwnedFd>,
    /// Over which it speaks with the spawner.
    pub(crate) socket: OwnedFd,
    /// The user and group of the program, as they are outside.
    pub(crate) outside: (u32, u32),
    pub(crate) filters: Arc<Filters>,
    pub(crate) system: Arc<System>,
    /// Layers that are missing and waived.
    pub(crate) without: Vec<Layer>,
}

/// All that an init has.
pub(crate) struct Init {
    pub(crate) sandbox: Empty,
    pub(crate) order: Order,
    /// As root: the order's mounts, which only root could take.
    pub(crate) mounts: Vec<OwnedFd>,
    /// Where the doors in its network are handed out, if it has a way out.
    pub(crate) doors: Option<OwnedFd>,
    pub(crate) streams: [OwnedFd; 3],
    pub(crate) lifeline: OwnedFd,
    pub(crate) report: OwnedFd,
    /// Whether the sandbox was there before its program was asked for.
    pub(crate) is_from_pool: bool,
}

impl Init {
    /// With the order that came in the packet.
    pub(super) fn new(sandbox: Empty, order: Order, packet: Packet, is_from_pool: bool) -> Init {
        let Packet { order: _, streams, lifeline, report, doors, mounts } = packet;
        Init { sandbox, order, mounts, doors, streams, lifeline, report, is_from_pool }
    }

    /// What keeps the program to its limit of memory.
    pub(super) fn memory_keeper(&self) -> MemoryKeeper {
        match self.sandbox.group {
            Some(_) => MemoryKeeper::ControlGroup,
            None => MemoryKeeper::Watchdog,
        }
    }
}

/// A step on what an init has by then.
pub(super) type Step<T> = fn(&T) -> io::Result<()>;
