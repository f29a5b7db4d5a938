//! Running a command as the leader of a process group, and ending the group when it takes too long.

use std::fs::{self, File};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use anyhow::Context as _;
use rustix::process::{Pid, Signal};

/// The end of a command's output that is shown when it fails.
const OUTPUT_SHOWN_BYTES_MAX: usize = 64 * 1024;

/// How a command came to its end.
pub(crate) enum End {
    Exited(ExitStatus),
    /// It was still running after this time, and was ended.
    Late(Duration),
}

/// Runs a command with its output in a file, and ends its whole group when it is late.
pub(crate) fn run(command: &mut Command, output: &Path, limit: Duration) -> anyhow::Result<End> {
    // A file, not a pipe: a process left behind could hold a pipe open for ever.
    let file = File::create(output)?;
    command.stdin(Stdio::null()).stdout(file.try_clone()?).stderr(file).process_group(0);
    let mut child = command.spawn().with_context(|| format!("could not start {command:?}"))?;
    let group = Pid::from_child(&child);

    let (ended, end) = mpsc::sync_channel(1);
    let waiter = thread::spawn(move || {
        let status = wait(&mut child);
        // Nobody listens any more when the command was late.
        let _ = ended.send(());
        status
    });
    let late = end.recv_timeout(limit).is_err();
    if late {
        end_group(group);
    }
    let status = waiter.join().expect("waiting for a process does not panic")?;
    Ok(if late { End::Late(limit) } else { End::Exited(status) })
}

/// Ends a process and all that it started in its group.
pub(crate) fn end_group(group: Pid) {
    // Fails only if the group is gone, which is what is wanted.
    let _ = rustix::process::kill_process_group(group, Signal::KILL);
}

/// The end of what a command printed.
pub(crate) fn shown(output: &Path) -> String {
    let bytes = fs::read(output).unwrap_or_default();
    let start = bytes.len().saturating_sub(OUTPUT_SHOWN_BYTES_MAX);
    String::from_utf8_lossy(&bytes[start..]).into_owned()
}

fn wait(child: &mut Child) -> anyhow::Result<ExitStatus> {
    child.wait().context("could not wait for the command")
}
