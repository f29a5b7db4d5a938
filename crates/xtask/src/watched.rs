//! Running a command as the leader of a process group, and ending all that it started when it takes too long.

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

/// Runs a command with its output in a file, and ends it with all that it started when it is late.
pub(crate) fn run(command: &mut Command, output: &Path, limit: Duration) -> anyhow::Result<End> {
    // A file, not a pipe: a process left behind could hold a pipe open for ever.
    let file = File::create(output)?;
    command.stdin(Stdio::null()).stdout(file.try_clone()?).stderr(file).process_group(0);
    let mut child = command.spawn().with_context(|| format!("could not start {command:?}"))?;
    let leader = Pid::from_child(&child);

    let (ended, end) = mpsc::sync_channel(1);
    let waiter = thread::spawn(move || {
        let status = wait(&mut child);
        // Nobody listens any more when the command was late.
        let _ = ended.send(());
        status
    });
    let late = end.recv_timeout(limit).is_err();
    if late {
        end_tree(leader);
    }
    let status = waiter.join().expect("waiting for a process does not panic")?;
    Ok(if late { End::Late(limit) } else { End::Exited(status) })
}

/// Ends a process that leads a group, the group, and every descendant in whatever group it is.
pub(crate) fn end_tree(leader: Pid) {
    // Stopped first: a process that is ended while its parent goes on may be started again, and one whose parent has
    // ended is no longer known as a descendant. Each turn stops what was not seen before, and what is stopped starts
    // nothing, so this comes to an end.
    let mut tree = vec![leader];
    signal(leader, Signal::STOP);
    let mut seen = 0;
    while seen < tree.len() {
        seen = tree.len();
        for (child, parent) in parents() {
            if tree.contains(&parent) && !tree.contains(&child) {
                signal(child, Signal::STOP);
                tree.push(child);
            }
        }
    }
    // Fails only if the group is gone, which is what is wanted.
    let _ = rustix::process::kill_process_group(leader, Signal::KILL);
    for process in tree {
        signal(process, Signal::KILL);
    }
}

fn signal(process: Pid, signal: Signal) {
    // Fails only if the process has gone meanwhile.
    let _ = rustix::process::kill_process(process, signal);
}

/// Every process of the machine with its parent.
fn parents() -> Vec<(Pid, Pid)> {
    let Ok(processes) = fs::read_dir("/proc") else { return Vec::new() };
    let entries = processes.filter_map(|process| process.ok()?.file_name().into_string().ok());
    entries
        .filter_map(|name| {
            let child = Pid::from_raw(name.parse().ok()?)?;
            // `PID (NAME) STATE PARENT …`; the name may hold anything.
            let stat = fs::read_to_string(format!("/proc/{name}/stat")).ok()?;
            let parent = stat.rsplit_once(')')?.1.split_whitespace().nth(1)?;
            Some((child, Pid::from_raw(parent.parse().ok()?)?))
        })
        .collect()
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

#[cfg(test)]
mod tests {
    use std::io::{BufRead as _, BufReader};

    use super::*;

    /// Ends a shell script once something in it holds its output open, and sees that nothing does any more.
    fn check(script: &str) {
        let mut command = Command::new("sh");
        let mut child =
            command.args(["-c", script]).process_group(0).stdout(Stdio::piped()).spawn().expect("a shell");
        let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
        assert!(lines.next().is_some_and(|line| line.is_ok_and(|line| line == "on")), "{script}");
        end_tree(Pid::from_child(&child));
        // The end comes when no process holds the pipe.
        assert!(lines.next().is_none(), "{script}");
        child.wait().expect("a status");
    }

    #[test]
    fn what_a_command_started_ends_with_it_in_whatever_group_it_is() {
        check("echo on; exec sleep 300");
        check("{ echo on; exec sleep 300; } & wait");
        check("setsid sh -c 'echo on; exec sleep 300' & wait");
        check("setsid sh -c 'setsid sh -c \"echo on; exec sleep 300\" & wait' & wait");
        check("setsid sh -c 'trap \"\" TERM; echo on; while :; do setsid sleep 1; done' & wait");
    }
}
