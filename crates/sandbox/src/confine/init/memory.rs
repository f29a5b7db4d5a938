//! Memory of all processes inside: the control group that keeps it, or what they have, for the watchdog.

use std::fs;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

use super::given::Empty;

/// What a control group's list of processes takes for the one that writes it.
const MYSELF: &[u8] = b"0";

/// What is started later is in the same group.
pub(super) fn join_group(sandbox: &Empty) -> io::Result<()> {
    sandbox.group.as_ref().map_or(Ok(()), join)
}

pub(in crate::confine) fn join(group: &OwnedFd) -> io::Result<()> {
    rustix::io::write(group, MYSELF)?;
    Ok(())
}

/// Before the number of those that the kernel has ended, in what a group tells of itself.
const KILLED: &str = "oom_kill ";

/// More than a group tells of itself.
const EVENTS_BYTES: usize = 512;

/// Whether the kernel has ended a process of the group for its memory.
pub(in crate::confine) fn has_killed(events: impl AsFd) -> io::Result<bool> {
    let mut told = [0; EVENTS_BYTES];
    let bytes = rustix::io::pread(events, &mut told, 0)?;
    Ok(says_killed(&String::from_utf8_lossy(told.get(..bytes).unwrap_or_default())))
}

fn says_killed(events: &str) -> bool {
    let killed = events.lines().find_map(|line| line.strip_prefix(KILLED));
    killed.is_some_and(|killed| killed.trim() != "0")
}

/// The bytes that are no files' and nobody else's. What cannot be read has ended.
pub(super) fn used() -> u64 {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pages: u64 =
        processes.filter_map(|entry| pages(&fs::read_to_string(entry.path().join("statm")).ok()?)).sum();
    pages.saturating_mul(rustix::param::page_size() as u64)
}

/// Resident pages without shared ones: the second and the third number.
fn pages(statm: &str) -> Option<u64> {
    let mut numbers = statm.split_ascii_whitespace().skip(1).map(str::parse::<u64>);
    let (resident, shared) = (numbers.next()?.ok()?, numbers.next()?.ok()?);
    Some(resident.saturating_sub(shared))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_tells_whether_one_was_ended() {
        for (events, expected) in [
            ("oom_kill_disable 0\nunder_oom 0\noom_kill 1\n", true),
            ("oom_kill_disable 0\nunder_oom 0\noom_kill 0\n", false),
            ("low 0\noom 2\noom_kill 12\noom_group_kill 1\n", true),
            ("oom_kill_disable 1\n", false),
            ("", false),
        ] {
            assert_eq!(says_killed(events), expected, "{events}");
        }
    }

    #[test]
    fn pages_of_ones_own_are_counted() {
        for (statm, expected) in
            [("900 50 20 1 0 30 0\n", Some(30)), ("9 5 20", Some(0)), ("9", None), ("", None)]
        {
            assert_eq!(pages(statm), expected, "{statm}");
        }
        assert!(used() > 0);
    }
}
