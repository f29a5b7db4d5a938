//! Finding all descendants of this process, whatever session or group they moved to, and sending
//! them a signal.

#![expect(clippy::disallowed_methods, reason = "reads /proc, the only list of processes there is")]

use std::collections::HashMap;
use std::fs::{read, read_dir};
use std::io;

use rustix::process::{Pid, PidfdFlags, Signal, getpid, pidfd_open, pidfd_send_signal};

/// A process at one moment. The start time tells it from a later one with the same number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Seen {
    pid: i32,
    parent: i32,
    started_ticks: u64,
}

/// Sends `signal` to every descendant, parents first. One that is born meanwhile may be missed, so
/// whoever wants an end repeats this until no child is left.
pub(super) fn signal_all(signal: Signal) -> io::Result<()> {
    for process in descendants_of(getpid().as_raw_nonzero().get(), &all()?) {
        send(process, signal);
    }
    Ok(())
}

/// Signals exactly the process that was seen: the handle is taken first, then the identity checked.
/// A process that has gone or is not ours to signal is passed over; the caller's next look shows it.
fn send(process: Seen, signal: Signal) {
    let Some(pid) = Pid::from_raw(process.pid) else { return };
    let Ok(handle) = pidfd_open(pid, PidfdFlags::empty()) else { return };
    if look_at(process.pid).is_some_and(|now| now.started_ticks == process.started_ticks) {
        let _ = pidfd_send_signal(handle, signal);
    }
}

fn descendants_of(ancestor: i32, all: &[Seen]) -> Vec<Seen> {
    let mut children: HashMap<i32, Vec<Seen>> = HashMap::new();
    for process in all {
        children.entry(process.parent).or_default().push(*process);
    }
    let mut found = children.remove(&ancestor).unwrap_or_default();
    let mut next = 0;
    // Each parent's list is taken out once, so that this ends even if the list were to hold a circle.
    while let Some(process) = found.get(next) {
        let below = children.remove(&process.pid);
        found.extend(below.unwrap_or_default());
        next += 1;
    }
    found
}

fn all() -> io::Result<Vec<Seen>> {
    let numbers = read_dir("/proc")?.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    Ok(numbers.filter_map(look_at).collect())
}

fn look_at(pid: i32) -> Option<Seen> {
    parse_stat(pid, &read(format!("/proc/{pid}/stat")).ok()?)
}

/// `pid (name) state parent … start-time …`, where the name may hold anything, brackets and spaces too.
fn parse_stat(pid: i32, stat: &[u8]) -> Option<Seen> {
    let name_end = stat.iter().rposition(|byte| *byte == b')')?;
    let mut fields = std::str::from_utf8(&stat[name_end + 1..]).ok()?.split_ascii_whitespace();
    let parent = fields.nth(1)?.parse().ok()?;
    let started_ticks = fields.nth(17)?.parse().ok()?;
    Some(Seen { pid, parent, started_ticks })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_line_of_a_process_with_a_nasty_name() {
        let line = b"7 (a) R 1 (b\n) S 42 7 7 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 98765 1 2\n";
        assert_eq!(parse_stat(7, line), Some(Seen { pid: 7, parent: 42, started_ticks: 98765 }));
        for broken in [&b""[..], b"7 (a", b"7 (a) S", b"7 (a) S x 1 2", b"7 (a) S 42 7 7"] {
            assert_eq!(parse_stat(7, broken), None);
        }
    }

    #[test]
    fn finds_grandchildren_and_leaves_others_alone() {
        let family = [(10, 1), (11, 10), (12, 11), (13, 10), (20, 1), (21, 20), (30, 31), (31, 30)];
        let all = family.map(|(pid, parent)| Seen { pid, parent, started_ticks: 0 });
        let found: Vec<i32> = descendants_of(10, &all).iter().map(|process| process.pid).collect();
        assert_eq!(found, [11, 13, 12]);
        assert!(descendants_of(21, &all).is_empty());
    }
}
