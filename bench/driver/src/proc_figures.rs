//! Memory, processor time and children of a program, from `/proc`. A process that is gone counts as nothing.

use std::fs;

/// Resident memory in bytes.
#[derive(Clone, Copy, Default)]
pub(crate) struct Memory {
    /// Resident now.
    pub(crate) resident: u64,
    /// The most that was ever resident.
    pub(crate) peak: u64,
    /// Of the resident, what is not backed by a file: heap and stacks.
    pub(crate) private: u64,
}

/// The memory of one process.
pub(crate) fn memory(pid: u32) -> Memory {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let bytes = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        line.and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok()).unwrap_or(0) * 1024
    };
    Memory { resident: bytes("VmRSS:"), peak: bytes("VmHWM:"), private: bytes("RssAnon:") }
}

/// Resident memory of the process and all below it; pages they share are counted in each.
pub(crate) fn resident_of_tree(pid: u32) -> u64 {
    tree(pid).into_iter().map(|pid| memory(pid).resident).sum()
}

/// Processor time of all threads of the process and of all below it, in nanoseconds.
pub(crate) fn cpu_ns_of_tree(pid: u32) -> u64 {
    tree(pid).into_iter().map(cpu_ns).sum()
}

fn cpu_ns(pid: u32) -> u64 {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let time =
        |path: std::path::PathBuf| fs::read_to_string(path).ok()?.split(' ').next()?.parse::<u64>().ok();
    tasks.filter_map(|task| time(task.path().join("schedstat"))).sum()
}

/// The process and everything below it.
pub(crate) fn tree(pid: u32) -> Vec<u32> {
    let all: Vec<(u32, u32)> = every_pid().filter_map(|pid| Some((pid, parent(pid)?))).collect();
    let mut found = vec![pid];
    let mut next = 0;
    while let Some(&above) = found.get(next) {
        found.extend(all.iter().filter(|(_, parent)| *parent == above).map(|(pid, _)| *pid));
        next += 1;
    }
    found
}

/// Processes with this program name whose command line holds `word`, wherever they hang in the tree.
pub(crate) fn named(name: &str, word: &str) -> Vec<u32> {
    let matches = |pid: &u32| {
        let read = |file: &str| fs::read(format!("/proc/{pid}/{file}")).unwrap_or_default();
        read("comm").trim_ascii_end() == name.as_bytes()
            && memchr::memmem::find(&read("cmdline"), word.as_bytes()).is_some()
    };
    every_pid().filter(matches).collect()
}

fn every_pid() -> impl Iterator<Item = u32> {
    fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// The fourth field of `stat`; the second is a name in parentheses that may hold anything.
fn parent(pid: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(") ")?.1.split(' ').nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_has_memory_and_a_place_in_its_parents_tree() {
        let own = std::process::id();
        let memory = memory(own);
        assert!(memory.resident > 0 && memory.peak >= memory.resident && memory.private > 0);
        assert!(tree(parent(own).expect("a test has a parent")).contains(&own));
        assert!(cpu_ns_of_tree(own) > 0);
    }

    #[test]
    fn a_process_that_is_gone_is_nothing() {
        assert_eq!((resident_of_tree(u32::MAX), cpu_ns_of_tree(u32::MAX)), (0, 0));
    }
}
