//! Programs that are asked one thing and answer: what keeps a secret for its owner.

use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use super::detached::{find_in, variable};

/// More than any answer is worth, in bytes.
const ANSWER_BYTES_MAX: u64 = 64 * 1024;

/// What a program answered.
pub struct Answered {
    /// True if it ended with exit code 0.
    pub is_good: bool,
    /// What it wrote on its stdout.
    pub said: Vec<u8>,
    /// What it wrote on its stderr.
    pub complained: String,
}

/// Shows nothing of what was said: it may be a secret.
impl std::fmt::Debug for Answered {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Answered").field("is_good", &self.is_good).finish_non_exhaustive()
    }
}

/// Runs the program `command`, looked up in PATH, with our own environment, tells it `told` on its stdin, and waits for
/// its answer. Blocks, for at most `limit`. What it is told and what it answers is in no list of processes; `args` are.
///
/// # Errors
/// If it is not installed (`NotFound`), cannot be started, or takes too long (`TimedOut`): it is ended then.
pub fn ask_program(command: &str, args: &[&str], told: &str, limit: Duration) -> io::Result<Answered> {
    let path = variable("PATH");
    ask_in(path, command, args, told, limit)
}

fn ask_in(
    path: Option<OsString>,
    command: &str,
    args: &[&str],
    told: &str,
    limit: Duration,
) -> io::Result<Answered> {
    let executable = find_in(path, command).ok_or(io::ErrorKind::NotFound)?;
    let child = start(&executable, args)?;
    let pid = Pid::from_child(&child);
    let (answer, answered) = sync_channel(1);
    let told = told.to_owned();
    thread::Builder::new().name("asked".to_owned()).spawn(move || {
        // Whoever asked has given up, perhaps.
        let _ = answer.send(hear(child, &told));
    })?;
    match answered.recv_timeout(limit) {
        Ok(answered) => answered,
        Err(RecvTimeoutError::Timeout) => {
            // It has not been waited for yet, or it would have answered: the number is still its own. If it has ended
            // in this moment, so much the better.
            let _ = kill_process(pid, Signal::KILL);
            Err(io::ErrorKind::TimedOut.into())
        }
        Err(RecvTimeoutError::Disconnected) => Err(io::ErrorKind::BrokenPipe.into()),
    }
}

fn start(executable: &Path, args: &[&str]) -> io::Result<Child> {
    let mut command = Command::new(executable);
    command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn()
}

fn hear(mut child: Child, told: &str) -> io::Result<Answered> {
    // One that does not want to know reads nothing.
    let _ = child.stdin.take().map(|mut stdin| stdin.write_all(told.as_bytes()));
    let (mut said, mut complained) = (Vec::new(), Vec::new());
    let stderr = child.stderr.take();
    let complaints = thread::Builder::new().name("asked".to_owned()).spawn(move || {
        stderr.map(|stderr| stderr.take(ANSWER_BYTES_MAX).read_to_end(&mut complained)).transpose()?;
        io::Result::Ok(complained)
    })?;
    child.stdout.take().map(|stdout| stdout.take(ANSWER_BYTES_MAX).read_to_end(&mut said)).transpose()?;
    let complained = complaints.join().map_err(|_| io::ErrorKind::Other)??;
    let is_good = child.wait()?.success();
    Ok(Answered { is_good, said, complained: String::from_utf8_lossy(&complained).into_owned() })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    /// Asks a program of this script.
    fn ask(script: &str, told: &str, limit: Duration) -> io::Result<Answered> {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("keeper");
        fs::write(&path, format!("#!/bin/sh\n{script}")).expect("written");
        fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).expect("mode");
        let path = format!("{}:/usr/bin:/bin", folder.path().display());
        ask_in(Some(path.into()), "keeper", &["a", "b c"], told, limit)
    }

    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn a_program_is_told_and_answers() {
        let answered =
            ask("printf '%s,%s,' \"$1\" \"$2\"; cat; echo why >&2", "s3cret", LONG).expect("an answer");
        assert_eq!(
            (answered.is_good, &*answered.said, &*answered.complained),
            (true, &b"a,b c,s3cret"[..], "why\n")
        );
        assert!(!format!("{answered:?}").contains("s3cret"));
        let refused = ask("exit 3", "nobody reads this", LONG).expect("an answer");
        assert_eq!((refused.is_good, refused.said.len()), (false, 0));
    }

    #[test]
    fn one_that_does_not_answer_is_ended() {
        let error = ask("exec sleep 1000", "", Duration::from_millis(50)).expect_err("no answer");
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        let missing = ask_program("no-such-program-anywhere", &[], "", LONG).expect_err("not there");
        assert_eq!(missing.kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn an_answer_without_end_is_cut() {
        let endless = ask("trap '' PIPE; yes 2>/dev/null", "", LONG).expect("an answer");
        assert_eq!(endless.said.len() as u64, ANSWER_BYTES_MAX);
    }
}
