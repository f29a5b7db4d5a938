//! Programs that are asked one thing and answer: what keeps a secret for its owner.

use std::io::{self, Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use super::detached::{find_in, variable};

/// More than any answer is worth, in bytes.
const ANSWER_BYTES_MAX: u64 = 64 * 1024;

/// What a program answered.
pub struct ProgramOutput {
    /// True if it ended with exit code 0.
    pub is_success: bool,
    /// What it wrote on its stdout.
    pub stdout: Vec<u8>,
    /// What it wrote on its stderr.
    pub stderr: String,
}

/// Shows nothing of the output: it may be a secret.
impl std::fmt::Debug for ProgramOutput {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ProgramOutput").field("is_success", &self.is_success).finish_non_exhaustive()
    }
}

/// Runs the program `command`, looked up in PATH, with our own environment, gives it `input` on its stdin, and waits for
/// its answer. Blocks, for at most `limit`. Neither input nor output is in no list of processes; `args` are.
///
/// # Errors
/// If it is not installed (`NotFound`), cannot be started, or takes too long (`TimedOut`): it is ended then.
pub fn ask_program(command: &str, args: &[&str], input: &str, limit: Duration) -> io::Result<ProgramOutput> {
    let executable = find_in(variable("PATH"), command).ok_or(io::ErrorKind::NotFound)?;
    let mut command = Command::new(executable);
    command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn()?;
    let pid = Pid::from_child(&child);
    let (answer, answered) = sync_channel(1);
    let input = input.to_owned();
    thread::Builder::new().name("asked".to_owned()).spawn(move || {
        // Whoever asked has given up, perhaps.
        let _ = answer.send(output_of(child, &input));
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

/// Whether [`ask_program`] would find a program that may be run. Blocks on the disk.
pub fn may_be_asked(command: &str) -> bool {
    find_in(variable("PATH"), command).is_some()
}

fn output_of(mut child: Child, input: &str) -> io::Result<ProgramOutput> {
    // One that does not want to know reads nothing.
    let _ = child.stdin.take().map(|mut stdin| stdin.write_all(input.as_bytes()));
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    // Beside the other, so that neither pipe runs full.
    let stderr = thread::Builder::new().name("asked".to_owned()).spawn(move || bounded(stderr))?;
    let stdout = bounded(stdout)?;
    let stderr = stderr.join().map_err(|_| io::ErrorKind::Other)??;
    let is_success = child.wait()?.success();
    Ok(ProgramOutput { is_success, stdout, stderr: String::from_utf8_lossy(&stderr).into_owned() })
}

fn bounded(pipe: Option<impl Read>) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    pipe.map(|pipe| pipe.take(ANSWER_BYTES_MAX).read_to_end(&mut bytes)).transpose()?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    /// Asks a program of this script.
    fn ask(script: &str, input: &str, limit: Duration) -> io::Result<ProgramOutput> {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("program");
        fs::write(&path, format!("#!/bin/sh\n{script}")).expect("written");
        fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).expect("mode");
        ask_program(path.to_str().expect("UTF-8"), &["a", "b c"], input, limit)
    }

    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn a_program_gets_its_input_and_answers() {
        let answered =
            ask("printf '%s,%s,' \"$1\" \"$2\"; cat; echo why >&2", "s3cret", LONG).expect("an answer");
        assert_eq!(
            (answered.is_success, &*answered.stdout, &*answered.stderr),
            (true, &b"a,b c,s3cret"[..], "why\n")
        );
        assert!(!format!("{answered:?}").contains("s3cret"));
        let refused = ask("exit 3", "nobody reads this", LONG).expect("an answer");
        assert_eq!((refused.is_success, refused.stdout.len()), (false, 0));
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
        assert_eq!(endless.stdout.len() as u64, ANSWER_BYTES_MAX);
    }
}
