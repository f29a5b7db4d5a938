//! One case: its script is started in a folder of its own, watched, and ended with all it started.

use std::fs::{self, File};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, bail};
use rustix::process::{Pid, Signal};

use super::leftovers;
use crate::install::Kit;
use crate::program;

/// Long enough for the slowest client on a busy machine; a case that takes this long hangs.
const CASE_TIME_MAX: Duration = Duration::from_secs(180);

/// The end of a case's output that is shown when it fails.
const OUTPUT_SHOWN_BYTES_MAX: usize = 64 * 1024;

/// What a script is written in.
#[derive(Clone, Copy)]
enum Language {
    JavaScript,
    Python,
}

/// A script that passes by exiting with 0.
#[derive(Clone)]
pub(super) struct Case {
    /// The file's name.
    pub(super) name: String,
    script: PathBuf,
    language: Language,
}

/// What every case is given.
pub(super) struct Given {
    /// The program under test.
    pub(super) program: PathBuf,
    pub(super) kit: Kit,
}

/// How a script came to its end.
enum End {
    Exited(ExitStatus),
    /// It was still running after this time, and was ended.
    Late(Duration),
}

impl Case {
    /// The case in a file, unless the file is no script.
    pub(super) fn of(script: &Path) -> Option<Self> {
        let language = match script.extension()?.to_str()? {
            "mjs" => Language::JavaScript,
            "py" => Language::Python,
            _ => return None,
        };
        Some(Self { name: script.file_name()?.to_str()?.to_owned(), script: script.to_owned(), language })
    }

    /// Runs it; the error is what a developer needs to see.
    pub(super) fn run(&self, given: &Given) -> anyhow::Result<()> {
        self.run_within(given, CASE_TIME_MAX)
    }

    fn run_within(&self, given: &Given, limit: Duration) -> anyhow::Result<()> {
        let own = tempfile::Builder::new().prefix("toolcrib-e2e-").tempdir()?;
        let (work, home) = (own.path().join("work"), own.path().join("home"));
        fs::create_dir(&work)?;
        fs::create_dir(&home)?;
        let output = own.path().join("output");

        let mut command = self.command(given, &work, &home)?;
        // The folder's name is unique, so it names the case among all processes of the machine.
        let mark = own.path().file_name().context("a temporary folder has a name")?;
        command.env(leftovers::MARK, mark);
        let end = watched(&mut command, &output, limit)?;
        let left = leftovers::end_all(mark, own.path());

        let mut faults = Vec::new();
        match end {
            End::Exited(status) if status.success() => {}
            End::Exited(status) => faults.push(status.to_string()),
            End::Late(limit) => faults.push(format!("it had not ended after {} s", limit.as_secs())),
        }
        if !left.is_empty() {
            faults.push(format!("it left processes running: {}", left.join("; ")));
        }
        if !faults.is_empty() {
            bail!("{}{}", shown(&output), faults.join("\n"));
        }
        Ok(())
    }

    fn command(&self, given: &Given, work: &Path, home: &Path) -> anyhow::Result<Command> {
        let kit = &given.kit;
        let interpreter = match self.language {
            Language::JavaScript => &kit.node.program,
            Language::Python => &kit.python,
        };
        let mut command = Command::new(interpreter);
        command.arg(&self.script).current_dir(work).env_clear();
        for (name, value) in program::clean_environment(home) {
            command.env(name, value);
        }
        command
            .env("PATH", kit.node.search_path()?)
            .env("TOOLCRIB_BIN", &given.program)
            .env("TOOLCRIB_E2E_NPM", &kit.npm)
            .env("TOOLCRIB_E2E_NODE", &kit.node.program)
            .env("TOOLCRIB_E2E_PYTHON", &kit.python)
            .env("TOOLCRIB_E2E_TMP", work);
        Ok(command)
    }
}

/// Runs a command as the leader of its own process group, and ends the group when it is done or late.
fn watched(command: &mut Command, output: &Path, limit: Duration) -> anyhow::Result<End> {
    // A file, not a pipe: a process left behind could hold a pipe open for ever.
    let file = File::create(output)?;
    command.stdin(Stdio::null()).stdout(file.try_clone()?).stderr(file).process_group(0);
    let mut child = command.spawn().with_context(|| format!("could not start {command:?}"))?;
    let group = Pid::from_child(&child);

    let (ended, end) = mpsc::sync_channel(1);
    let waiter = thread::spawn(move || {
        let status = wait(&mut child);
        // Nobody listens any more when the case was late.
        let _ = ended.send(());
        status
    });
    let late = end.recv_timeout(limit).is_err();
    if late {
        // Fails only if the group is gone, which is what is wanted.
        let _ = rustix::process::kill_process_group(group, Signal::KILL);
    }
    let status = waiter.join().expect("waiting for a process does not panic")?;
    Ok(if late { End::Late(limit) } else { End::Exited(status) })
}

fn wait(child: &mut Child) -> anyhow::Result<ExitStatus> {
    child.wait().context("could not wait for the case")
}

/// The end of what a case printed.
fn shown(output: &Path) -> String {
    let bytes = fs::read(output).unwrap_or_default();
    let start = bytes.len().saturating_sub(OUTPUT_SHOWN_BYTES_MAX);
    String::from_utf8_lossy(&bytes[start..]).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::install::Node;

    /// Runs a shell script as if it were a case.
    fn run(script: &str, limit: Duration) -> Result<(), String> {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("case.py");
        fs::write(&path, script).expect("a script");
        let kit =
            Kit { node: Node { program: "/bin/sh".into() }, npm: "/npm".into(), python: "/bin/sh".into() };
        let given = Given { program: "/bin/true".into(), kit };
        let case = Case::of(&path).expect("a script");
        case.run_within(&given, limit).map_err(|error| format!("{error:#}"))
    }

    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn a_case_passes_by_its_exit_code_and_is_shown_when_it_fails() {
        assert_eq!(run("exit 0", LONG), Ok(()));
        assert_eq!(run("echo seen; echo wrong >&2; exit 3", LONG), Err("seen\nwrong\nexit status: 3".into()));
    }

    #[test]
    fn a_case_has_what_the_contract_says_and_nothing_of_the_user() {
        let script = r#"set -eu
test "$PWD" = "$TOOLCRIB_E2E_TMP"; test -z "$(ls -A)"
test "$TOOLCRIB_BIN" = /bin/true; test "$TOOLCRIB_E2E_NPM" = /npm
test -x "$TOOLCRIB_E2E_NODE"; test -x "$TOOLCRIB_E2E_PYTHON"
test -d "$HOME"; test -z "${CARGO_HOME:-}${USER:-}""#;
        assert_eq!(run(script, LONG), Ok(()));
    }

    #[test]
    fn a_late_case_is_ended_with_its_children() {
        let result = run("sleep 300 & sleep 300", Duration::from_millis(200));
        assert_eq!(result, Err("it had not ended after 0 s".into()));
    }

    #[test]
    fn a_process_that_outlives_its_case_is_a_failure() {
        // One is known by its environment, the other by its folder.
        let orphans = "setsid env -i sleep 301 &\ncd /\nsetsid sleep 300 &";
        let fault = run(orphans, LONG).expect_err("something is left");
        assert!(fault.starts_with("it left processes running: sleep 30"), "{fault}");
        assert!(fault.contains("sleep 300 (") && fault.contains("sleep 301 ("), "{fault}");
    }
}
