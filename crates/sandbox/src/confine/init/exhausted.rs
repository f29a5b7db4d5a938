//! Limits that end no program: at them it sees an error, as on a full machine. When it has failed, what is exhausted is
//! likely why.

use std::fs;

use rustix::fs::{StatVfs, statvfs};

use super::root::scratch_folders;
use crate::confine::limits::Limit;
use crate::confine::order::Order;

/// What there is of them.
pub(super) struct Exhaustible {
    processes: u64,
    scratch: Vec<&'static str>,
}

/// How much is in a scratch folder, or may be.
pub(super) struct Scratch {
    pub(super) bytes: u64,
    pub(super) files: u64,
}

impl Exhaustible {
    pub(super) fn of(order: &Order) -> Exhaustible {
        Exhaustible { processes: order.limits.processes, scratch: scratch_folders(order).collect() }
    }

    /// The first that is exhausted now, when the program has ended and nothing else has.
    pub(super) fn exhausted(&self) -> Option<Limit> {
        // The program is not counted any more, and init, which it could not start, is.
        if threads() >= self.processes {
            return Some(Limit::Processes);
        }
        self.scratch.iter().any(|folder| is_full(folder)).then_some(Limit::ScratchBytes)
    }

    /// What is in the scratch folder that has most of it.
    pub(super) fn used(&self) -> Scratch {
        let rooms: Vec<_> = self.scratch.iter().filter_map(|folder| statvfs(*folder).ok()).collect();
        let bytes = |room: &StatVfs| room.f_blocks.saturating_sub(room.f_bfree).saturating_mul(room.f_frsize);
        let files = |room: &StatVfs| room.f_files.saturating_sub(room.f_ffree);
        Scratch {
            bytes: rooms.iter().map(bytes).max().unwrap_or_default(),
            files: rooms.iter().map(files).max().unwrap_or_default(),
        }
    }
}

/// No room for a byte more, or for a file.
fn is_full(folder: &str) -> bool {
    statvfs(folder).is_ok_and(|room| room.f_bavail == 0 || room.f_favail == 0)
}

/// Processes and threads inside. What cannot be read has ended.
fn threads() -> u64 {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let threads = processes.filter_map(|entry| fs::read_dir(entry.path().join("task")).ok());
    threads.map(|threads| threads.count() as u64).sum()
}
