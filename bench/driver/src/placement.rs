//! Where the driver and the programs it starts may run. A child inherits the placement of its start.

use rustix::process::{Resource, Rlimit, getrlimit, setpriority_process, setrlimit};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// The priority at which single-threaded programs are measured steadily on a shared machine.
const NICE: i32 = -15;

/// Client and server on one core, or wherever the kernel puts them.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Placement {
    /// Both on the first core this process may use: two context switches, no wake-up across cores.
    OneCore,
    /// As in real life.
    Free,
}

/// The driver's placement until this is dropped.
pub(crate) struct Placed {
    before: CpuSet,
}

impl Placement {
    /// Moves the driver; what it starts from now on goes with it.
    pub(crate) fn enter(self) -> anyhow::Result<Placed> {
        let before = sched_getaffinity(None)?;
        if self == Self::OneCore {
            let mut one = CpuSet::new();
            if let Some(first) = (0..CpuSet::MAX_CPU).find(|&cpu| before.is_set(cpu)) {
                one.set(first);
            }
            sched_setaffinity(None, &one)?;
        }
        Ok(Placed { before })
    }

    /// How it is called in a table.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::OneCore => "one core",
            Self::Free => "free",
        }
    }
}

impl Drop for Placed {
    fn drop(&mut self) {
        // The set was this thread's own before, so the kernel takes it back.
        sched_setaffinity(None, &self.before).ok();
    }
}

/// Raises the driver's priority and its number of open files; says whether the priority could be raised.
pub(crate) fn prepare() -> bool {
    let files = getrlimit(Resource::Nofile);
    // Without this the phase with a thousand sessions says by itself what it lacks.
    setrlimit(Resource::Nofile, Rlimit { current: files.maximum, maximum: files.maximum }).ok();
    setpriority_process(None, NICE).is_ok()
}
