//! Ends a measured program that no longer answers, so that a blocking read in the driver always returns.
//!
//! A timeout on each read would cost the system call that the bench is there to count.

use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

/// How late the end of a hanging program may come.
const INTERVAL: Duration = Duration::from_millis(500);

type Watched = Mutex<Vec<(Pid, Instant)>>;

/// Owns the thread that looks at the clock; it ends with the last handle.
#[derive(Clone)]
pub(crate) struct Watchdog {
    watched: Arc<Watched>,
}

/// While this lives, the program's process group is killed at the deadline.
pub(crate) struct Watch {
    watched: Arc<Watched>,
    pid: Pid,
}

impl Watchdog {
    /// Starts the thread.
    pub(crate) fn start() -> Self {
        let watched: Arc<Watched> = Arc::default();
        let weak = Arc::downgrade(&watched);
        std::thread::spawn(move || look(&weak));
        Self { watched }
    }

    /// Allows the process group that `pid` leads this much time.
    pub(crate) fn watch(&self, pid: Pid, limit: Duration) -> Watch {
        let mut watched = self.watched.lock().unwrap_or_else(PoisonError::into_inner);
        watched.push((pid, Instant::now() + limit));
        Watch { watched: Arc::clone(&self.watched), pid }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let mut watched = self.watched.lock().unwrap_or_else(PoisonError::into_inner);
        watched.retain(|(pid, _)| *pid != self.pid);
    }
}

fn look(weak: &Weak<Watched>) {
    while let Some(watched) = weak.upgrade() {
        let now = Instant::now();
        for (pid, deadline) in watched.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            if *deadline < now {
                // It may have gone by itself in the meantime.
                kill_process_group(*pid, Signal::KILL).ok();
            }
        }
        drop(watched);
        std::thread::sleep(INTERVAL);
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::CommandExt as _;
    use std::process::Command;

    use super::*;

    #[test]
    fn a_hanging_program_is_ended() {
        let mut child = Command::new("sleep").arg("60").process_group(0).spawn().expect("sleep starts");
        let _watch = Watchdog::start().watch(Pid::from_child(&child), Duration::ZERO);
        assert!(!child.wait().expect("it can be waited for").success());
    }
}
