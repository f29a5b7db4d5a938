//! What a case left running: found by a mark in its environment, or by the case's folder, where it works or writes its
//! errors, and ended.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Pid;

use crate::watched;

/// The variable that every process of a case inherits, unless somebody clears its environment.
pub(super) const MARK: &str = "TOOLCRIB_E2E_CASE";

/// How long a process may take to notice that its parent has gone, and to go, on a busy machine.
pub(super) const GRACE: Duration = Duration::from_secs(15);

const LOOK_EVERY: Duration = Duration::from_millis(20);

/// How often what is left is ended: something may have been started by a process that was still unknown.
const ROUNDS_MAX: usize = 10;

/// Waits for `grace` for the case's processes to go, ends the others, and returns how they were called.
///
/// There is nothing to wait on for somebody else's children, so this looks again until the time is up.
pub(super) fn end_all(mark: &OsStr, folder: &Path, grace: Duration) -> Vec<String> {
    let start = Instant::now();
    let mut left = running(mark, folder);
    while !left.is_empty() && start.elapsed() < grace {
        thread::sleep(LOOK_EVERY);
        left = running(mark, folder);
    }
    let (mut known, mut called) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS_MAX {
        if left.is_empty() {
            break;
        }
        for pid in left {
            if !known.contains(&pid) {
                called.push(format!("{} ({})", command_line(pid), pid.as_raw_nonzero()));
                known.push(pid);
            }
            watched::end_tree(pid);
        }
        thread::sleep(LOOK_EVERY);
        left = running(mark, folder);
    }
    called
}

/// The processes with this mark, at work in this folder, or with their standard error in it.
fn running(mark: &OsStr, folder: &Path) -> Vec<Pid> {
    let entry = [MARK.as_bytes(), b"=", mark.as_bytes()].concat();
    let Ok(processes) = fs::read_dir("/proc") else { return Vec::new() };
    let pids = processes.filter_map(|process| process.ok()?.file_name().to_str()?.parse().ok());
    pids.filter_map(Pid::from_raw)
        .filter(|pid| {
            let about = Path::new("/proc").join(pid.as_raw_nonzero().to_string());
            // A process that has ended but is not collected yet has neither, and does no harm.
            let environment = fs::read(about.join("environ")).unwrap_or_default();
            environment.split(|byte| *byte == 0).any(|variable| variable == entry)
                || ["cwd", "fd/2"]
                    .iter()
                    .any(|at| fs::read_link(about.join(at)).is_ok_and(|place| place.starts_with(folder)))
        })
        .collect()
}

fn command_line(pid: Pid) -> String {
    let bytes = fs::read(format!("/proc/{}/cmdline", pid.as_raw_nonzero())).unwrap_or_default();
    String::from_utf8_lossy(&bytes).replace('\0', " ").trim_end().to_owned()
}
