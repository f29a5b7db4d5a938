//! `Init`: what an init is given, and what its steps are.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use super::filters::Filters;
use super::system::System;
use crate::confine::layer::Layer;
use crate::confine::order::Order;
use crate::confine::report::MemoryKeeper;

/// The user and group of the program, as it sees them.
pub(crate) const USER: u32 = 1000;

/// The program's home folder inside.
pub(crate) const HOME: &str = "/home/agent";

/// All that an init starts with.
pub(crate) struct Init {
    pub(crate) order: Order,
    /// The way into the control group that keeps its memory, if there is one.
    pub(crate) group: Option<OwnedFd>,
    /// The user and group of the program, as they are outside.
    pub(crate) outside: (u32, u32),
    /// As root: the order's mounts, which only root could take.
    pub(crate) mounts: Option<Vec<OwnedFd>>,
    /// Where the doors in its network are handed out, if it has a way out.
    pub(crate) doors: Option<OwnedFd>,
    pub(crate) streams: [OwnedFd; 3],
    pub(crate) lifeline: OwnedFd,
    pub(crate) report: OwnedFd,
    pub(crate) filters: Arc<Filters>,
    pub(crate) system: Arc<System>,
    /// Layers that are missing and waived.
    pub(crate) without: Vec<Layer>,
}

impl Init {
    /// What keeps the program to its limit of memory.
    pub(super) fn memory_keeper(&self) -> MemoryKeeper {
        match self.group {
            Some(_) => MemoryKeeper::ControlGroup,
            None => MemoryKeeper::Watchdog,
        }
    }
}

pub(super) type Step = fn(&Init) -> io::Result<()>;
