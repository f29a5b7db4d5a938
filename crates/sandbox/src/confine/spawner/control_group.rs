//! Memory of a run, kept by the kernel: a control group of its own, of version 2 or else of version 1. Where that can be, the
//! kernel also counts there how often there were too many processes: of their limit, which holds anyway, it tells nobody else.

use std::cell::Cell;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use crate::confine::init::groups::{Tells, WaysIn, has_killed};
use crate::confine::mount::about;

const MOUNTED: &str = "/sys/fs/cgroup";

/// What the names of our groups begin with, before the spawner's process number.
const PREFIX: &str = "toolcrib-";

/// Where groups for runs can be made.
#[derive(Debug)]
pub(super) struct ControlGroups {
    above: PathBuf,
    version: &'static Version,
    /// Where processes are counted, if that is not in the same group.
    above_processes: Option<PathBuf>,
    made: u64,
}

/// How a version calls its files.
#[derive(Debug)]
struct Version {
    /// Who writes there joins.
    way_in: &'static str,
    limit: &'static str,
    /// Whether processes are counted by a group of their own.
    counts_apart: bool,
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
    counts_apart: true,
    besides: &[],
    events: "memory.oom_control",
};

const V2: Version = Version {
    way_in: "cgroup.procs",
    limit: "memory.max",
    counts_apart: false,
    // With one process all of them end, and swap is memory, too.
    besides: &[("memory.swap.max", "0"), ("memory.oom.group", "1")],
    events: "memory.events",
};

/// Where version 1 counts processes, and what takes care of it.
const PROCESSES: &str = "pids";
const PROCESSES_LIMIT: &str = "pids.max";
const PROCESSES_EVENTS: &str = "pids.events";

/// More processes than the kernel takes as a limit of them.
const PROCESSES_MAX: u64 = 4 << 20;

/// A group of one run. It is empty when the run is over, and goes with it.
#[derive(Debug)]
pub(super) struct ControlGroup {
    path: PathBuf,
    version: &'static Version,
    /// What tells whether the kernel has ended a process of it for its memory.
    events: fs::File,
    /// The bytes that it is kept to.
    limit: Cell<Option<u64>>,
    processes: Option<Processes>,
}

/// What counts how often there were too many processes.
#[derive(Debug)]
struct Processes {
    path: PathBuf,
    /// Whether that is another group.
    is_apart: bool,
    events: fs::File,
    /// The number that it is kept to.
    limit: Cell<Option<u64>>,
}

impl ControlGroups {
    /// Nothing where this process can make none.
    pub(super) fn find() -> Option<ControlGroups> {
        let ours = fs::read_to_string("/proc/self/cgroup").ok()?;
        let mounted = Path::new(MOUNTED);
        let processes = above_processes(mounted, &ours);
        candidates(mounted, &ours).into_iter().find_map(|(above, version)| {
            let apart = processes.clone().filter(|_| version.counts_apart);
            // Memory is kept without that, too.
            apart.map(Some).into_iter().chain([None]).find_map(|above_processes| {
                let mut groups = ControlGroups { above: above.clone(), version, above_processes, made: 0 };
                groups.sweep();
                // Whether it can be made is only known from making it.
                let (group, _) = groups.make().ok()?;
                let is_limited =
                    group.limit(u64::MAX >> 1).and_then(|()| group.limit_processes(PROCESSES_MAX)).is_ok();
                group.close();
                is_limited.then_some(groups)
            })
        })
    }

    /// Takes away what spawners have left that were killed. A group with processes in it stays.
    fn sweep(&self) {
        let all = [&self.above].into_iter().chain(&self.above_processes);
        for entry in all.flat_map(fs::read_dir).flatten().flatten() {
            let name = entry.file_name();
            let pid = name.to_str().and_then(|name| name.strip_prefix(PREFIX)?.split('-').next());
            if pid.is_some_and(|pid| !Path::new("/proc").join(pid).exists()) {
                // If it is not empty yet, the next sweep takes it.
                let _ = fs::remove_dir(entry.path());
            }
        }
    }

    /// A group without a limit, and the ways into it: whoever writes there joins, since we opened them.
    pub(super) fn make(&mut self) -> io::Result<(ControlGroup, WaysIn)> {
        self.made += 1;
        let name = format!("{PREFIX}{}-{}", std::process::id(), self.made);
        made(self.above.join(&name), |path| {
            let memory = open(path, self.version.way_in)?.into();
            let events = fs::File::open(path.join(self.version.events))?;
            let (processes, way_in) = self.processes(path, &name)?.unzip();
            let (version, limit) = (self.version, Cell::new(None));
            let group = ControlGroup { path: path.to_owned(), version, events, limit, processes };
            Ok((group, WaysIn { memory, processes: way_in.flatten().map(Into::into) }))
        })
    }

    /// What counts the processes of a group, with the way in if that is another one.
    fn processes(&self, group: &Path, name: &str) -> io::Result<Option<(Processes, Option<fs::File>)>> {
        let Some(above) = &self.above_processes else {
            return match fs::File::open(group.join(PROCESSES_EVENTS)) {
                Ok(events) => Ok(Some((Processes::new(group, false, events), None))),
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
                Err(error) => Err(error),
            };
        };
        made(above.join(name), |path| {
            let way_in = open(path, self.version.way_in)?;
            let events = fs::File::open(path.join(PROCESSES_EVENTS))?;
            Ok(Some((Processes::new(path, true, events), Some(way_in))))
        })
    }
}

/// Makes a group and opens what it takes, or leaves none.
fn made<T>(path: PathBuf, open: impl FnOnce(&Path) -> io::Result<T>) -> io::Result<T> {
    fs::create_dir(&path).map_err(about(&path))?;
    open(&path).inspect_err(|_| {
        // It is empty.
        let _ = fs::remove_dir(&path);
    })
}

/// Makes no file: a group without a controller must not get one of its name.
fn open(group: &Path, name: &str) -> io::Result<fs::File> {
    let path = group.join(name);
    fs::File::options().write(true).open(&path).map_err(about(&path))
}

fn write(group: &Path, name: &str, value: &str) -> io::Result<()> {
    open(group, name)?.write_all(value.as_bytes()).map_err(about(name))
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

/// The group of version 1 that counts our processes, in the same form.
fn above_processes(mounted: &Path, ours: &str) -> Option<PathBuf> {
    let mut groups = ours.lines().filter_map(|line| line.split_once(':')?.1.split_once(':'));
    let (_, path) = groups.find(|(controllers, _)| controllers.split(',').any(|one| one == PROCESSES))?;
    Some(mounted.join(PROCESSES).join(path.trim_start_matches('/')))
}

impl Processes {
    fn new(path: &Path, is_apart: bool, events: fs::File) -> Processes {
        Processes { path: path.to_owned(), is_apart, events, limit: Cell::new(None) }
    }
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

    /// Has it counted when there are more than so many processes besides init, if it can be.
    pub(super) fn limit_processes(&self, most: u64) -> io::Result<()> {
        let Some(processes) = &self.processes else { return Ok(()) };
        if processes.limit.get() == Some(most) {
            return Ok(());
        }
        let value = if most < PROCESSES_MAX { (most + 1).to_string() } else { "max".to_owned() };
        write(&processes.path, PROCESSES_LIMIT, &value)?;
        processes.limit.set(Some(most));
        Ok(())
    }

    fn write(&self, name: &str, value: &str) -> io::Result<()> {
        write(&self.path, name, value)
    }

    /// What its init is to read of it.
    pub(super) fn tells(&self) -> io::Result<Tells> {
        let processes = self.processes.as_ref().map(|processes| processes.events.try_clone()).transpose()?;
        Ok(Tells { memory: self.events.try_clone()?.into(), processes: processes.map(Into::into) })
    }

    pub(super) fn has_killed(&self) -> bool {
        has_killed(&self.events).unwrap_or_default()
    }

    pub(super) fn close(self) {
        // They have no processes any more, or never had.
        let _ = fs::remove_dir(&self.path);
        if let Some(processes) = self.processes.filter(|processes| processes.is_apart) {
            let _ = fs::remove_dir(&processes.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_are_counted_below_ours() {
        for (ours, expected) in [
            ("8:pids:/a/b\n4:memory:/x\n", Some("/c/pids/a/b")),
            ("3:cpu,pids:/\n", Some("/c/pids/")),
            ("0::/user.slice\n1:name=pids:/x\n", None),
        ] {
            assert_eq!(above_processes(Path::new("/c"), ours), expected.map(PathBuf::from), "{ours}");
        }
    }

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
