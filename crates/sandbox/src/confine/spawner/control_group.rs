//! Memory of a run, kept by the kernel: a control group of its own, of version 2 or else of version 1.

use std::cell::Cell;
use std::fs;
use std::io::{self, Write as _};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use crate::confine::init::memory;
use crate::confine::mount::about;

const MOUNTED: &str = "/sys/fs/cgroup";

/// What the names of our groups begin with, before the spawner's process number.
const PREFIX: &str = "toolcrib-";

/// Where groups for runs can be made.
#[derive(Debug)]
pub(super) struct ControlGroups {
    above: PathBuf,
    version: &'static Version,
    made: u64,
}

/// How a version calls its files.
#[derive(Debug)]
struct Version {
    /// Who writes there joins.
    way_in: &'static str,
    limit: &'static str,
    /// Set as far as they are there.
    besides: &'static [(&'static str, &'static str)],
    /// A line in it says how many were killed.
    events: &'static str,
}

const V1: Version = Version {
    // As a thread: a whole process waits until the kernel knows that none is being copied, which takes it 5 to 15 ms. An init
    // has one thread.
    way_in: "tasks",
    limit: "memory.limit_in_bytes",
    besides: &[],
    events: "memory.oom_control",
};

const V2: Version = Version {
    way_in: "cgroup.procs",
    limit: "memory.max",
    // With one process all of them end, and swap is memory, too.
    besides: &[("memory.swap.max", "0"), ("memory.oom.group", "1")],
    events: "memory.events",
};

/// A group of one run. It is empty when the run is over, and goes with it.
#[derive(Debug)]
pub(super) struct ControlGroup {
    path: PathBuf,
    version: &'static Version,
    /// What tells whether the kernel has ended a process of it for its memory.
    events: fs::File,
    /// The bytes that it is kept to.
    limit: Cell<Option<u64>>,
}

impl ControlGroups {
    /// Nothing where this process can make none.
    pub(super) fn find() -> Option<ControlGroups> {
        let ours = fs::read_to_string("/proc/self/cgroup").ok()?;
        let candidates = candidates(Path::new(MOUNTED), &ours);
        candidates.into_iter().find_map(|(above, version)| {
            let mut groups = ControlGroups { above, version, made: 0 };
            groups.sweep();
            // Whether it can be made is only known from making it.
            let (group, _) = groups.make().ok()?;
            let is_limited = group.limit(u64::MAX >> 1).is_ok();
            group.close();
            is_limited.then_some(groups)
        })
    }

    /// Takes away what spawners have left that were killed. A group with processes in it stays.
    fn sweep(&self) {
        for entry in fs::read_dir(&self.above).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let pid = name.to_str().and_then(|name| name.strip_prefix(PREFIX)?.split('-').next());
            if pid.is_some_and(|pid| !Path::new("/proc").join(pid).exists()) {
                // If it is not empty yet, the next sweep takes it.
                let _ = fs::remove_dir(entry.path());
            }
        }
    }

    /// A group without a limit, and the way into it: whoever writes there joins, since we opened it.
    pub(super) fn make(&mut self) -> io::Result<(ControlGroup, OwnedFd)> {
        self.made += 1;
        let path = self.above.join(format!("{PREFIX}{}-{}", std::process::id(), self.made));
        fs::create_dir(&path).map_err(about(&path))?;
        let way_in = open(&path, self.version.way_in);
        match way_in.and_then(|way_in| Ok((way_in, fs::File::open(path.join(self.version.events))?))) {
            Ok((way_in, events)) => {
                let limit = Cell::new(None);
                Ok((ControlGroup { path, version: self.version, events, limit }, way_in.into()))
            }
            Err(error) => {
                // It is empty.
                let _ = fs::remove_dir(&path);
                Err(error)
            }
        }
    }
}

/// Makes no file: a group without a controller must not get one of its name.
fn open(group: &Path, name: &str) -> io::Result<fs::File> {
    let path = group.join(name);
    fs::File::options().write(true).open(&path).map_err(about(&path))
}

/// Groups below which one may be made, by the lines of our own `/proc/self/cgroup`. Below a group that holds processes version
/// 2 makes none with limits, but below the topmost.
fn candidates(mounted: &Path, ours: &str) -> Vec<(PathBuf, &'static Version)> {
    let below = |folder: &str, path: &str| mounted.join(folder).join(path.trim_start_matches('/'));
    let mut found = Vec::new();
    for line in ours.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        match (parts.next(), parts.next()) {
            (Some(""), Some(path)) => found.extend([(below("", path), &V2), (mounted.to_owned(), &V2)]),
            (Some(controllers), Some(path)) if controllers.split(',').any(|one| one == "memory") => {
                found.push((below("memory", path), &V1));
            }
            _ => {}
        }
    }
    found
}

impl ControlGroup {
    /// Keeps it to so many bytes.
    pub(super) fn limit(&self, bytes: u64) -> io::Result<()> {
        if self.limit.get() == Some(bytes) {
            return Ok(());
        }
        self.write(self.version.limit, &bytes.to_string())?;
        for (name, value) in self.version.besides {
            match self.write(name, value) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        self.limit.set(Some(bytes));
        Ok(())
    }

    fn write(&self, name: &str, value: &str) -> io::Result<()> {
        open(&self.path, name)?.write_all(value.as_bytes()).map_err(about(name))
    }

    /// What [`memory::has_killed`] is asked of.
    pub(super) fn events(&self) -> &fs::File {
        &self.events
    }

    pub(super) fn has_killed(&self) -> bool {
        memory::has_killed(&self.events).unwrap_or_default()
    }

    pub(super) fn close(self) {
        // It has no processes any more, or never had.
        let _ = fs::remove_dir(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_made_below_ours() {
        for (ours, expected) in [
            ("0::/user.slice/a\n", &["/c/user.slice/a memory.max", "/c/ memory.max"][..]),
            ("9:name=systemd:/\n4:cpu,memory:/x/y\n", &["/c/memory/x/y memory.limit_in_bytes"]),
            ("4:memory:/\n0::/\n", &["/c/memory/ memory.limit_in_bytes", "/c/ memory.max", "/c memory.max"]),
            ("8:pids:/\n", &[]),
        ] {
            let found = candidates(Path::new("/c"), ours);
            let found: Vec<_> = found.iter().map(|(path, version)| (path.clone(), version.limit)).collect();
            let expected: Vec<_> =
                expected.iter().map(|one| one.split_once(' ').expect("two words")).collect();
            assert_eq!(
                found,
                expected.iter().map(|(path, limit)| (PathBuf::from(path), *limit)).collect::<Vec<_>>()
            );
        }
    }
}
