//! `Empty` and `Init`: what an init is given for the sandbox itself and then for its program, and what its steps are.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use super::filters::Filters;
use super::landlock::Begun;
use super::system::System;
use crate::confine::layer::Layer;
use crate::confine::order::Order;
use crate::confine::packet::Packet;
use crate::confine::plan::Plan;
use crate::confine::report::{MemoryKeeper, Report, StartedBy};

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
    /// Whether an order's mounts are given as open files. Otherwise they are taken from the old root.
    pub(crate) is_given_mounts: bool,
    /// Layers that are missing and waived.
    pub(crate) without: Vec<Layer>,
}

/// All that an init has.
pub(crate) struct Init {
    pub(crate) order: Order,
    pub(crate) memory: MemoryKeeper,
    /// Over which it speaks with the spawner.
    pub(crate) socket: OwnedFd,
    /// As root: the order's mounts, which only root could take.
    pub(crate) mounts: Vec<OwnedFd>,
    /// Where the doors in its network are handed out, if it has a way out.
    pub(crate) doors: Option<OwnedFd>,
    pub(crate) streams: [OwnedFd; 4],
    pub(crate) lifeline: OwnedFd,
    pub(crate) report: OwnedFd,
    pub(crate) filters: Arc<Filters>,
    /// What was made ahead of the second fence around files.
    pub(crate) fence: Option<Begun>,
    /// Whether the old root still lies on the new one.
    pub(crate) has_old_root: bool,
    /// Layers that are missing and waived.
    pub(crate) without: Vec<Layer>,
    /// Whether the sandbox was there before its program was asked for.
    pub(crate) is_from_pool: bool,
    /// What `bwrap` was to make, if that has started us.
    pub(crate) plan: Option<Plan>,
}

impl Init {
    /// With the order that came in the packet.
    pub(super) fn new(sandbox: Empty, order: Order, packet: Packet) -> Init {
        let Packet { order: _, streams, lifeline, report, doors, mounts } = packet;
        let Empty { group, socket, outside: _, filters, system: _, is_given_mounts, without } = sandbox;
        let memory = MemoryKeeper::of(group.as_ref());
        Init {
            order,
            memory,
            socket,
            mounts,
            doors,
            streams,
            lifeline,
            report,
            filters,
            fence: None,
            has_old_root: !is_given_mounts,
            without,
            is_from_pool: false,
            plan: None,
        }
    }

    /// What is said when the program runs, without these layers.
    pub(super) fn started(&self, without: &[Layer]) -> Report {
        let by = if self.plan.is_some() { StartedBy::Bwrap } else { StartedBy::Own };
        Report::Started {
            without: without.to_vec(),
            memory: self.memory,
            is_from_pool: self.is_from_pool,
            by,
        }
    }
}

/// A step on what an init has by then.
pub(super) type Step<T> = fn(&T) -> io::Result<()>;
