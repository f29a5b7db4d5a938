//! `Empty` and `Init`: what an init is given for the sandbox itself and then for its program, and what its steps are.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use super::filters::Filters;
use super::landlock::Begun;
use super::system::System;
use crate::confine::layer::Layer;
use crate::confine::order::Order;
use crate::confine::packet::{FAILED, Packet, send_files};
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
    /// What that tells of those that the kernel has ended for their memory.
    pub(crate) events: Option<OwnedFd>,
    /// Over which it speaks with the spawner.
    pub(crate) socket: OwnedFd,
    /// The user and group of the program, as they are outside.
    pub(crate) outside: (u32, u32),
    pub(crate) filters: Arc<Filters>,
    pub(crate) system: Arc<System>,
    /// Whether the root stands already, and is not to be written.
    pub(crate) is_in_template: bool,
    /// Whether an order's mounts are given as open files. Otherwise they are taken from the old root.
    pub(crate) is_given_mounts: bool,
    /// Layers that are missing and waived.
    pub(crate) without: Vec<Layer>,
}

/// All that an init has.
pub(crate) struct Init {
    pub(crate) order: Order,
    pub(crate) memory: MemoryKeeper,
    /// What its control group tells of those that the kernel has ended for their memory, if it has one.
    pub(crate) events: Option<OwnedFd>,
    /// Over which it speaks with the spawner.
    pub(crate) socket: OwnedFd,
    /// The order's mounts: as root, which alone could take them, and in a template.
    pub(crate) mounts: Vec<OwnedFd>,
    /// Where the doors in its network are handed out, if it has a way out.
    pub(crate) doors: Option<OwnedFd>,
    pub(crate) streams: [OwnedFd; 4],
    pub(crate) lifeline: OwnedFd,
    pub(crate) report: OwnedFd,
    pub(crate) filters: Arc<Filters>,
    /// What was made ahead of the second fence around files.
    pub(crate) fence: Option<Begun>,
    /// Whether the root stood before, and was never to be written.
    pub(crate) is_in_template: bool,
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
        let Empty { group, events, socket, filters, is_in_template, is_given_mounts, without, .. } = sandbox;
        let memory = MemoryKeeper::of(group.as_ref());
        Init {
            order,
            memory,
            events,
            socket,
            mounts,
            doors,
            streams,
            lifeline,
            report,
            filters,
            fence: None,
            is_in_template,
            has_old_root: !is_given_mounts,
            without,
            is_from_pool: false,
            plan: None,
        }
    }

    /// Says why the program is not run.
    pub(super) fn refuse(&self, why: &Report) {
        refuse(why, self.is_in_template, &self.socket, &self.report);
    }

    /// What is said when the program runs.
    pub(super) fn started(&self) -> Report {
        let by = if self.plan.is_some() { StartedBy::Bwrap } else { StartedBy::Own };
        Report::Started {
            without: self.without.clone(),
            memory: self.memory,
            is_from_pool: self.is_from_pool,
            by,
        }
    }
}

/// Says why the program is not run. Of a layer that is missing in a template only the spawner is told: it makes the start in the
/// ordinary way, which says what is missing.
pub(super) fn refuse(why: &Report, is_in_template: bool, socket: &OwnedFd, report: &OwnedFd) {
    let is_tried_again =
        is_in_template && matches!(why, Report::Missing { .. }) && send_files(socket, FAILED, []).is_ok();
    if !is_tried_again {
        why.write(report);
    }
}

/// A step on what an init has by then.
pub(super) type Step<T> = fn(&T) -> io::Result<()>;
