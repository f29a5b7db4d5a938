//! The control groups of a run, as its init has them: the ways in, and what they tell.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use super::given::Empty;

/// Whoever writes there joins.
pub(in crate::confine) struct WaysIn {
    pub(in crate::confine) memory: OwnedFd,
    /// Where processes are counted by a group of their own.
    pub(in crate::confine) processes: Option<OwnedFd>,
}

/// What is to be read of them by now.
pub(in crate::confine) struct Tells {
    pub(in crate::confine) memory: OwnedFd,
    /// If it is counted how often there were too many.
    pub(in crate::confine) processes: Option<OwnedFd>,
}

/// What a control group's list of processes takes for the one that writes it.
const MYSELF: &[u8] = b"0";

/// What is started later is in the same groups.
pub(super) fn join(sandbox: &Empty) -> io::Result<()> {
    sandbox.groups.as_ref().map_or(Ok(()), WaysIn::join)
}

impl WaysIn {
    pub(in crate::confine) fn join(&self) -> io::Result<()> {
        for group in [&self.memory].into_iter().chain(&self.processes) {
            rustix::io::write(group, MYSELF)?;
        }
        Ok(())
    }
}

impl Tells {
    /// Whether the kernel has ended a process for the memory of all.
    pub(super) fn has_killed(&self) -> io::Result<bool> {
        has_killed(&self.memory)
    }

    /// Whether it has refused to start one, since there were as many as may be.
    pub(super) fn has_refused(&self) -> bool {
        // It is no fence: what cannot be read is told as where nobody counts.
        self.processes.as_ref().is_some_and(|events| counts(events, REFUSED).unwrap_or_default())
    }
}

/// Before the number of those that the kernel has ended, in what a group of memory tells of itself.
const KILLED: &str = "oom_kill ";

/// Before the number of those that it has not started, in what a group of processes does.
const REFUSED: &str = "max ";

/// More than a group tells of itself.
const EVENTS_BYTES: usize = 512;

/// Whether the kernel has ended a process of the group for its memory.
pub(in crate::confine) fn has_killed(events: impl AsFd) -> io::Result<bool> {
    counts(events, KILLED)
}

fn counts(events: impl AsFd, what: &str) -> io::Result<bool> {
    let mut told = [0; EVENTS_BYTES];
    let bytes = rustix::io::pread(events, &mut told, 0)?;
    Ok(says(&String::from_utf8_lossy(told.get(..bytes).unwrap_or_default()), what))
}

fn says(events: &str, what: &str) -> bool {
    let count = events.lines().find_map(|line| line.strip_prefix(what));
    count.is_some_and(|count| count.trim() != "0")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_tells_whether_one_was_ended_or_not_started() {
        for (events, what, expected) in [
            ("oom_kill_disable 0\nunder_oom 0\noom_kill 1\n", KILLED, true),
            ("oom_kill_disable 0\nunder_oom 0\noom_kill 0\n", KILLED, false),
            ("low 0\noom 2\noom_kill 12\noom_group_kill 1\n", KILLED, true),
            ("oom_kill_disable 1\n", KILLED, false),
            ("", KILLED, false),
            ("max 0\n", REFUSED, false),
            ("max 17\nmax.imposed 0\n", REFUSED, true),
        ] {
            assert_eq!(says(events, what), expected, "{events}");
        }
    }
}
