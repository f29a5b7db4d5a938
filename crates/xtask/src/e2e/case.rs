//! One case: its script is started in a folder of its own, watched, and ended with all it started.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, bail};

use super::leftovers;
use crate::install::{ExtendedKit, Kit};
use crate::program;
use crate::watched::{self, End};

/// Long enough for the slowest client on a busy machine; a case that takes this long hangs.
const CASE_TIME_MAX: Duration = Duration::from_secs(360);

/// The same for a case that is to go on for long; the longest takes two hours by itself.
const LONG_CASE_TIME_MAX: Duration = Duration::from_secs(150 * 60);

/// How long cases go on that could do so for ever.
#[derive(Clone, Copy)]
pub(super) enum Length {
    /// As short as they still mean something.
    Short,
    /// As long as it takes to believe them.
    Long,
}

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
    /// What the cases of `e2e/long` have beside it.
    pub(super) extended: Option<ExtendedKit>,
    pub(super) length: Length,
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
        let limit = match given.length {
            Length::Short => CASE_TIME_MAX,
            Length::Long => LONG_CASE_TIME_MAX,
        };
        self.run_within(given, limit, leftovers::GRACE)
    }

    fn run_within(&self, given: &Given, limit: Duration, grace: Duration) -> anyhow::Result<()> {
        let own = tempfile::Builder::new().prefix("toolcrib-e2e-").tempdir()?;
        let (work, home) = (own.path().join("work"), own.path().join("home"));
        fs::create_dir(&work)?;
        fs::create_dir(&home)?;
        let output = own.path().join("output");

        let mut command = self.command(given, &work, &home)?;
        // The folder's name is unique, so it names the case among all processes of the machine.
        let mark = own.path().file_name().context("a temporary folder has a name")?;
        command.env(leftovers::MARK, mark);
        let end = watched::run(&mut command, &output, limit)?;
        let left = leftovers::end_all(mark, own.path(), grace);

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
            bail!("{}{}", watched::shown(&output), faults.join("\n"));
        }
        Ok(())
    }

    fn command(&self, given: &Given, work: &Path, home: &Path) -> anyhow::Result<Command> {
        let kit = &given.kit;
        let interpreter = match self.language {
            Language::JavaScript => &kit.node.program,
            // A client library is imported by the case itself.
            Language::Python => given.extended.as_ref().map_or(&kit.python, |extended| &extended.python),
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
            .env("TOOLCRIB_E2E_RUST_CLIENT", &kit.rust_client)
            .env("TOOLCRIB_E2E_CARGO", &kit.cargo)
            .env("TOOLCRIB_E2E_TMP", work);
        if let Some(extended) = &given.extended {
            command
                .env("TOOLCRIB_E2E_LONG_NPM", &extended.npm)
                .env("TOOLCRIB_E2E_LONG_PYTHON", &extended.python)
                .env("TOOLCRIB_E2E_LONG_PYTHON_SDK_V2", &extended.python_sdk_v2);
        }
        if let Length::Long = given.length {
            command.env("TOOLCRIB_E2E_LONG", "1");
        }
        Ok(command)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::install::Node;

    /// Runs a shell script as if it were a case.
    fn run(script: &str, limit: Duration) -> Result<(), String> {
        run_with(None, script, limit)
    }

    fn run_with(extended: Option<ExtendedKit>, script: &str, limit: Duration) -> Result<(), String> {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("case.py");
        fs::write(&path, script).expect("a script");
        let kit = Kit {
            node: Node { program: "/bin/sh".into() },
            npm: "/npm".into(),
            python: if extended.is_some() { "/bin/false" } else { "/bin/sh" }.into(),
            rust_client: "/rust-client".into(),
            cargo: "/cargo".into(),
        };
        let given = Given { program: "/bin/true".into(), kit, extended, length: Length::Short };
        let case = Case::of(&path).expect("a script");
        case.run_within(&given, limit, Duration::from_secs(2)).map_err(|error| format!("{error:#}"))
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
test "$TOOLCRIB_E2E_RUST_CLIENT" = /rust-client; test "$TOOLCRIB_E2E_CARGO" = /cargo
test -d "$HOME"; test -z "${CARGO_HOME:-}${USER:-}""#;
        assert_eq!(run(script, LONG), Ok(()));
    }

    #[test]
    fn a_long_case_has_other_peoples_packages_too_and_runs_among_them() {
        let extended = ExtendedKit {
            npm: "/long/npm".into(),
            python: "/bin/sh".into(),
            python_sdk_v2: "/long/v2".into(),
        };
        let script = r#"set -eu
test "$TOOLCRIB_E2E_NPM" = /npm; test "$TOOLCRIB_E2E_LONG_NPM" = /long/npm
test "$TOOLCRIB_E2E_LONG_PYTHON" = /bin/sh; test "$TOOLCRIB_E2E_LONG_PYTHON_SDK_V2" = /long/v2"#;
        assert_eq!(run_with(Some(extended), script, LONG), Ok(()));
        assert_eq!(run(r#"test -z "${TOOLCRIB_E2E_LONG_NPM:-}""#, LONG), Ok(()));
    }

    #[test]
    fn a_late_case_is_ended_with_its_children() {
        let result = run("sleep 300 & setsid env -i sleep 300 & sleep 300", Duration::from_millis(200));
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
