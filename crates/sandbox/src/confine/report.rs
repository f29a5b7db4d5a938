//! `Report`: what is said about one program over its pipe, a line each: by the spawner until there is an init, by that
//! afterwards. The pipe ends when everything is over and tidied up.

use std::os::fd::{AsFd, OwnedFd};

use serde::{Deserialize, Serialize};

use super::layer::Layer;
use super::limits::Limit;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Report {
    /// The program was not run.
    Missing { layer: Layer, why: String },
    /// All layers stand, and the program cannot be run: as a shell's code says, 126 or 127.
    NotRun { code: i32, why: String },
    /// The program runs.
    Started { without: Vec<Layer>, memory: MemoryKeeper, is_from_pool: bool, by: StartedBy },
    /// A limit that is found when all is over.
    Reached(Limit),
    /// The program has ended. If it is over, so is everything that is to be waited for: nothing is left inside but its init,
    /// no limit is found later, and nothing stands where it must go. Otherwise the pipe's end says so.
    Ended { ending: Ending, limit: Option<Limit>, nowhere: Nowhere, is_over: bool },
}

/// What went nowhere of what was sent in the network inside, as its kernel has counted it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Nowhere {
    /// UDP datagrams that came where nobody listens.
    pub(super) datagrams: u64,
    /// Connections and datagrams to addresses to which no way leads.
    pub(super) unrouted: u64,
}

/// What keeps a program to its limit of memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum MemoryKeeper {
    /// The kernel, by a control group.
    ControlGroup,
    /// Init, which looks ten times a second. A program may take more in between: this is degraded.
    Watchdog,
}

/// What made a program's namespaces and its root folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum StartedBy {
    /// Toolcrib itself.
    Own,
    /// `bwrap`, where only that may. Toolcrib looks at what it has made before the program runs.
    Bwrap,
}

impl StartedBy {
    /// As `doctor` and records name it.
    pub fn name(self) -> &'static str {
        match self {
            StartedBy::Own => "own",
            StartedBy::Bwrap => "bwrap",
        }
    }
}

impl MemoryKeeper {
    /// With this way into a control group, or none.
    pub(super) fn of(group: Option<&OwnedFd>) -> MemoryKeeper {
        if group.is_some() { MemoryKeeper::ControlGroup } else { MemoryKeeper::Watchdog }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Ending {
    Code(i32),
    Signal(i32),
}

impl Report {
    /// Nobody reads it, perhaps; then nobody needs to hear it.
    pub(super) fn write(&self, pipe: impl AsFd) {
        let mut line = serde_json::to_vec(self).unwrap_or_default();
        line.push(b'\n');
        // Shorter than what a pipe takes at once, so that it arrives whole.
        let _ = rustix::io::write(pipe, &line);
    }

    pub(super) fn parse(line: &str) -> Option<Report> {
        serde_json::from_str(line).ok()
    }

    pub(super) fn missing(layer: Layer, why: impl ToString) -> Report {
        Report::Missing { layer, why: why.to_string() }
    }
}
