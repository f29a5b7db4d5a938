//! Finding all descendants of this process, whatever session or group they moved to, and sending
//! them a signal.

#![expect(clippy::disallowed_methods, reason = "reads /proc, the only list of processes there is")]

use std::collections::HashMap;
use std::fs::read_dir;
use std::io;

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use crate::lineage::{Machine, Process, Processes};

/// Sends `signal` to every descendant, parents first. One that is born meanwhile may be missed, so
/// whoever wants an end repeats this until no child is left.
pub(super) fn signal_all(signal: Signal) -> io::Result<()> {
    for process in descendants_of(std::process::id(), &all()?) {
        send(process, signal);
    }
    Ok(())
}

/// Signals exactly the process that was seen: the handle is taken first, then the identity checked.
/// A process that has gone or is not ours to signal is passed over; the caller's next look shows it.
fn send(process: Process, signal: Signal) {
    let Some(pid) = process.pid.try_into().ok().and_then(Pid::from_raw) else { return };
    let Ok(handle) = pidfd_open(pid, PidfdFlags::empty()) else { return };
    if Machine.process(process.pid).is_some_and(|now| now.started == process.started) {
        let _ = pidfd_send_signal(handle, signal);
    }
}

fn descendants_of(ancestor: u32, all: &[Process]) -> Vec<Process> {
    let mut children: HashMap<u32, Vec<Process>> = HashMap::new();
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

fn all() -> io::Result<Vec<Process>> {
    let numbers = read_dir("/proc")?.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    Ok(numbers.filter_map(|number| Machine.process(number)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_grandchildren_and_leaves_others_alone() {
        let family = [(10, 1), (11, 10), (12, 11), (13, 10), (20, 1), (21, 20), (30, 31), (31, 30)];
        let all = family.map(|(pid, parent)| Process { pid, parent, session: 0, terminal: None, started: 0 });
        let found: Vec<u32> = descendants_of(10, &all).iter().map(|process| process.pid).collect();
        assert_eq!(found, [11, 13, 12]);
        assert!(descendants_of(21, &all).is_empty());
    }
}
