//! `stop`: ends the processes that serve all clients of a user on this state folder, of this build and of others.

use std::path::PathBuf;
use std::time::Duration;

use daemon::control;
use daemon::own_program::RESIDENT;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use sandbox::command_line;
use serde_json::json;
use terminal::{Ending, Trouble, print, runtime};

use super::load::surroundings;
use super::start::start_nobody;
use crate::cli::Cli;

/// How long a process may take to end: its servers have their own bounds.
const END_MAX: Duration = Duration::from_secs(20);

pub(super) fn run(cli: &Cli) -> Result<Ending, Trouble> {
    let state = state(cli)?;
    let is_one =
        |pid: &u32| command_line(*pid).is_some_and(|words| words.iter().any(|word| word == RESIDENT));
    let residents: Vec<u32> = control::serving(&state).into_iter().filter(is_one).collect();
    // Before they are asked, so that the number means the same process afterwards.
    let watched: Vec<_> = residents.iter().map(|pid| (*pid, watch(*pid))).collect();
    runtime::run(control::stop(&state))?;
    let (mut stopped, mut left) = (Vec::new(), Vec::new());
    for (pid, end) in watched {
        let is_over = end.is_none_or(|end| {
            let limit = Timespec { tv_sec: END_MAX.as_secs() as i64, tv_nsec: 0 };
            matches!(poll(&mut [PollFd::new(&end, PollFlags::IN)], Some(&limit)), Ok(1))
        });
        if is_over { stopped.push(pid) } else { left.push(pid) }
    }
    let words = match stopped[..] {
        [] => "no process of Toolcrib was running that serves all clients".to_owned(),
        _ => stopped.iter().map(|pid| format!("stopped process {pid}")).collect::<Vec<_>>().join("\n"),
    };
    print::found(cli.json, &json!({ "stopped": stopped, "left": left }), &words)?;
    print::notes(
        "still running",
        left.iter().map(|pid| format!("process {pid} does not end; end it with `kill {pid}`")),
    );
    Ok(if left.is_empty() { Ending::Good } else { Ending::Failed })
}

/// The state folder. What is wrong with the configuration is told, and stands in nobody's way.
fn state(cli: &Cli) -> Result<PathBuf, Trouble> {
    let wrong = match start_nobody(cli) {
        Ok(loaded) => return Ok(loaded.settings.state),
        Err(wrong) => wrong,
    };
    let Ok(state) = config::state(cli.config.as_deref(), &surroundings(cli)?) else { return Err(wrong) };
    print::remark(&format!("{wrong}\nwhat serves on {} is stopped all the same", state.display()));
    Ok(state)
}

/// Becomes readable when the process ends; nothing if it has ended.
fn watch(pid: u32) -> Option<std::os::fd::OwnedFd> {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw)?;
    pidfd_open(pid, PidfdFlags::empty()).ok()
}
