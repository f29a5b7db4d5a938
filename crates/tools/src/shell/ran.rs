//! `Ran`: what came of a command.

use std::fmt;
use std::time::Duration;

use schemars::{JsonSchema, Schema};
use serde::Serialize;
use tool_api::{Ended, Exit, Layer, Limit, Outcome, Output, Structured, changed_files, protected_changed};

use super::output::Shown;

/// What came of a command.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Ran {
    /// What it printed on stdout and stderr, in order; of much its head and its tail.
    output: String,
    /// Its exit code; nothing if a signal or a limit ended it.
    #[serde(skip_serializing_if = "Option::is_none")]
    exit_code: Option<i32>,
    /// The signal that ended it.
    #[serde(skip_serializing_if = "Option::is_none")]
    signal: Option<i32>,
    /// The limit that ended it, such as `time`.
    #[serde(skip_serializing_if = "Option::is_none")]
    limit: Option<&'static str>,
    /// A limit that it reached and that ends nothing, such as `processes`.
    #[serde(skip_serializing_if = "Option::is_none")]
    reached: Option<&'static str>,
    /// How long it ran, in milliseconds.
    duration_ms: u64,
    /// The artifact with all that it printed, if that is not all here.
    #[serde(skip_serializing_if = "Option::is_none")]
    artifact: Option<String>,
    /// Protected files that changed while it ran: the first of them, and then how many more there are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    protected_changed: Vec<String>,
    /// Whether the workspace holds more than is looked at, so that others may have changed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    protected_in_part: bool,
    /// What it wanted of the network and did not get, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    blocked: Vec<String>,
    /// Whether a rule would have allowed some of it.
    #[serde(skip)]
    is_for_a_rule: bool,
    /// The longest that it was given.
    #[serde(skip)]
    time_max: Option<Duration>,
}

impl Ran {
    pub(super) fn of(shown: Shown, ended: &Ended, duration: Duration, time_max: Option<Duration>) -> Ran {
        let limit = ended.limit.filter(|limit| limit.ends_programs());
        let (exit_code, signal) = match ended.exit {
            _ if limit.is_some() => (None, None),
            Exit::Code(code) => (Some(code), None),
            Exit::Signal(signal) => (None, Some(signal)),
            Exit::Lost => (None, None),
        };
        Ran {
            output: shown.text,
            exit_code,
            signal,
            limit: limit.map(Limit::name),
            reached: ended.limit.filter(|limit| !limit.ends_programs()).map(Limit::name),
            duration_ms: u64::try_from(duration.as_millis()).unwrap_or(u64::MAX),
            artifact: shown.artifact,
            protected_changed: changed_files(&ended.written),
            protected_in_part: ended.degraded.contains(&Layer::ProtectedPaths.name()),
            blocked: ended.blocked.told.clone(),
            is_for_a_rule: ended.blocked.is_for_a_rule,
            time_max,
        }
    }

    /// In a few words, as lists of tasks say it.
    pub(super) fn how(&self) -> String {
        match (self.limit, self.exit_code, self.signal) {
            (Some(limit), ..) => format!("ended by its limit of {limit}"),
            (None, Some(code), _) => format!("exited {code}"),
            (None, None, Some(signal)) => format!("ended by signal {signal}"),
            (None, None, None) => "ended, and nobody knows how".to_owned(),
        }
    }

    /// What stands below the output.
    fn footer(&self) -> Option<String> {
        match (self.limit, self.exit_code) {
            (_, Some(0)) => None,
            (_, Some(code)) => Some(format!("exit code {code}")),
            (Some(limit), None) if limit == Limit::Time.name() => {
                let given_ms = self
                    .time_max
                    .map_or(u64::MAX, |time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX));
                let whose = if self.duration_ms < given_ms {
                    ", the most that `sandbox.timeout` or a rule leaves it"
                } else {
                    ""
                };
                Some(format!("timed out after {} ms{whose}", self.duration_ms.min(given_ms)))
            }
            (Some(limit), None) => Some(format!("{}{}", self.how(), to_try(limit))),
            (None, None) => Some(self.how()),
        }
    }

    /// What it met and went on.
    fn met(&self) -> Option<String> {
        self.reached.map(|limit| format!("[it reached its limit of {limit}{}]", to_try(limit)))
    }

    fn has_failed(&self) -> bool {
        self.exit_code.is_some_and(|code| code != 0)
    }

    /// What a program that failed took for a path, if it says that there is none.
    fn elsewhere(&self) -> Option<&'static str> {
        let is_missed =
            |line: &str| line.contains("/workspace") && line.contains("No such file or directory");
        (self.has_failed() && self.output.lines().any(is_missed)).then_some(
            "[/workspace is the workspace's name in the tools for files; a command begins in it, so leave that out: src/main.rs]",
        )
    }

    /// What a program that failed did not know of its sandbox, if it says what that makes it say.
    fn unwritable(&self) -> Option<&'static str> {
        let is_said = UNWRITABLE.iter().any(|words| self.output.contains(words));
        (is_said && self.has_failed())
            .then(|| if self.output.contains(FIRST_OF_A_REPOSITORY) { NO_REPOSITORY_YET } else { PROTECTED })
    }
}

const PROTECTED: &str = "[what is not written here: protected files, such as .git/config and those of .git/hooks, what lies outside the \
                         workspace, and all of it for a caller without `write_workspace`; only a person changes that]";

/// What `git init` and `git clone` write first, and is there in every repository.
const FIRST_OF_A_REPOSITORY: &str = "/.git/description'";

const NO_REPOSITORY_YET: &str = "[where the top of the workspace is no repository yet, only a person can make it one: ask them to run \
                                 `git init` there; in a folder below it `git init` and `git clone` work here]";

/// What programs say of a file that the sandbox does not let them write, or replace.
const UNWRITABLE: [&str; 2] = ["Read-only file system", "Device or resource busy"];

/// Which setting a limit is, and what to do about it.
fn to_try(limit: &str) -> &'static str {
    const OUTPUT: &str = Limit::OutputBytes.name();
    const MEMORY: &str = Limit::MemoryBytes.name();
    const CPU: &str = Limit::Cpu.name();
    const FILE: &str = Limit::FileBytes.name();
    const PROCESSES: &str = Limit::Processes.name();
    const SCRATCH: &str = Limit::ScratchBytes.name();
    match limit {
        OUTPUT => ", which is `sandbox.output`: write it to a file, or have less of it printed",
        MEMORY => ", which is `sandbox.memory`: have less done at once, such as fewer jobs of a build",
        CPU => ", which is `sandbox.cpu`: do it in parts",
        FILE => ", which is `sandbox.file_size`: write smaller files",
        PROCESSES => ", which is `sandbox.processes`: have fewer run at once",
        SCRATCH => ", which is `sandbox.scratch`: keep less in the temporary and the home folder",
        _ => "",
    }
}

impl fmt::Display for Ran {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let output = self.output.trim_end_matches('\n');
        let changed = protected_changed(&self.protected_changed);
        let nothing = (output.is_empty() && self.exit_code == Some(0)).then(|| "[no output]".to_owned());
        let blocked = (!self.blocked.is_empty()).then(|| {
            let all = self.blocked.join(", ");
            let hint = "; a person can allow hosts, when asked or by `sandbox.hosts`";
            format!("[blocked: {all}{}]", if self.is_for_a_rule { hint } else { "" })
        });
        let output = (!output.is_empty()).then(|| output.to_owned());
        let footer = self.footer().map(|footer| format!("[{footer}]"));
        let unwritable = self.unwritable().map(str::to_owned);
        let elsewhere = self.elsewhere().map(str::to_owned);
        let in_part = self.protected_in_part.then(|| format!("[{}]", Layer::NOT_ALL_PROTECTED));
        let parts = [output, nothing, footer, self.met(), changed, in_part, unwritable, elsewhere, blocked];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        f.write_str(&parts.join("\n"))
    }
}

impl Output for Ran {
    // An answer may also be that the command goes on, which has another structure; and every conversation would pay for it.
    const SCHEMA: Option<fn() -> Schema> = None;

    fn into_outcome(self) -> Outcome {
        let is_error = self.exit_code != Some(0);
        Outcome { is_error, ..Structured(self).into_outcome() }
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use tool_api::{Blocked, CHANGED_TOLD_MAX};

    use super::*;

    #[track_caller]
    fn check((output, exit, limit): (&str, Exit, Option<Limit>), ran_ms: u64, expected: &str, how: &str) {
        let ended = Ended::plain(exit, limit);
        let shown = Shown { text: output.to_owned(), artifact: None };
        let ran = Ran::of(shown, &ended, Duration::from_millis(ran_ms), Some(Duration::from_secs(1)));
        assert_eq!((ran.to_string().as_str(), ran.how().as_str()), (expected, how));
        assert_eq!(ran.into_outcome().is_error, expected.contains(['[']) && expected != "[no output]");
    }

    #[test]
    fn what_was_blocked_is_said_below_it() {
        for (is_for_a_rule, hint) in
            [(true, "; a person can allow hosts, when asked or by `sandbox.hosts`"), (false, "")]
        {
            let blocked = Blocked { told: vec!["connect a:443 (why)".into(), "b".into()], is_for_a_rule };
            let ended = Ended { blocked, ..Ended::plain(Exit::Code(6), None) };
            let shown = Shown { text: "curl: (56)".to_owned(), artifact: None };
            let ran = Ran::of(shown, &ended, Duration::from_millis(5), None);
            let expected = format!("curl: (56)\n[exit code 6]\n[blocked: connect a:443 (why), b{hint}]");
            assert_eq!(ran.to_string(), expected);
        }
    }

    #[test]
    fn protected_files_that_changed_are_said_and_so_is_that_not_all_were_looked_at() {
        let shown = || Shown { text: "done".to_owned(), artifact: None };
        let written: Vec<PathBuf> =
            (0..CHANGED_TOLD_MAX + 2).map(|nth| format!("{nth}/.envrc").into()).collect();
        for (written, degraded, expected) in [
            (&written[..1], vec![], "done\n[protected files have changed: 0/.envrc]".to_owned()),
            (
                &written[..0],
                vec!["memory", "protected_paths"],
                format!("done\n[{}]", Layer::NOT_ALL_PROTECTED),
            ),
        ] {
            let ended = Ended { written: written.to_vec(), degraded, ..Ended::plain(Exit::Code(0), None) };
            assert_eq!(Ran::of(shown(), &ended, Duration::from_millis(5), None).to_string(), expected);
        }
        assert_eq!(changed_files(&written).len(), CHANGED_TOLD_MAX + 1);
        assert_eq!(changed_files(&written).last().map(String::as_str), Some("and 2 more"));
    }

    #[test]
    fn whoever_takes_the_files_tools_name_for_a_path_is_told() {
        let says = |output: &str, code| {
            let shown = Shown { text: output.to_owned(), artifact: None };
            let ran = Ran::of(shown, &Ended::plain(Exit::Code(code), None), Duration::from_millis(5), None);
            ran.to_string().contains("[/workspace is the workspace's name in the tools for files")
        };
        assert!(says("bash: /workspace/run.sh: No such file or directory\n", 127));
        assert!(says("bash: line 1: cd: /workspace: No such file or directory\n", 1));
        assert!(!says("bash: /workspace/run.sh: No such file or directory\nfine\n", 0), "it went on without");
        assert!(!says("cat: run.sh: No such file or directory\n/workspace\n", 1), "that is another file");
    }

    #[test]
    fn a_program_that_could_not_write_is_told_apart_from_a_broken_disk() {
        let says = |output: &str, code| {
            let shown = Shown { text: output.to_owned(), artifact: None };
            let ended = Ended::plain(Exit::Code(code), None);
            Ran::of(shown, &ended, Duration::from_millis(5), None)
                .to_string()
                .contains("protected files, such as .git/config")
        };
        assert!(says("fatal: cannot copy 'description': Read-only file system\n", 128));
        assert!(says("error: could not write config file .git/config: Device or resource busy\n", 4));
        assert!(!says("warning: Read-only file system\n", 0), "it went on without");
        let shown = Shown {
            text: "fatal: cannot copy '/t/description' to '/w/.git/description': Read-only file system\n"
                .to_owned(),
            artifact: None,
        };
        let ran = Ran::of(shown, &Ended::plain(Exit::Code(128), None), Duration::from_millis(5), None);
        assert!(ran.to_string().ends_with(NO_REPOSITORY_YET), "{ran}");
        assert!(!says("oops\n", 1));
    }

    #[test]
    fn how_it_ended_is_said_below_what_it_printed() {
        check(("a\nb\n", Exit::Code(0), None), 5, "a\nb", "exited 0");
        check(("", Exit::Code(0), None), 5, "[no output]", "exited 0");
        check(("a\n\n", Exit::Code(3), None), 5, "a\n[exit code 3]", "exited 3");
        check(("", Exit::Code(1), None), 5, "[exit code 1]", "exited 1");
        check(("a", Exit::Signal(9), None), 5, "a\n[ended by signal 9]", "ended by signal 9");
        check(("", Exit::Lost, None), 5, "[ended, and nobody knows how]", "ended, and nobody knows how");
        let time = (("a", Exit::Signal(9), Some(Limit::Time)), "ended by its limit of time");
        check(time.0, 1003, "a\n[timed out after 1000 ms]", time.1);
        let by_operator = "a\n[timed out after 500 ms, the most that `sandbox.timeout` or a rule leaves it]";
        check(time.0, 500, by_operator, time.1);
        for (limit, setting) in [
            (Limit::MemoryBytes, "`sandbox.memory`"),
            (Limit::OutputBytes, "`sandbox.output`"),
            (Limit::Cpu, "`sandbox.cpu`"),
            (Limit::FileBytes, "`sandbox.file_size`"),
        ] {
            let (how, what) = (format!("ended by its limit of {}", limit.name()), to_try(limit.name()));
            assert!(what.contains(setting), "{what}");
            check(("a", Exit::Signal(9), Some(limit)), 5, &format!("a\n[{how}{what}]"), &how);
        }
    }

    #[test]
    fn a_limit_that_ends_nothing_is_said_beside_how_it_ended() {
        for (limit, setting) in
            [(Limit::Processes, "`sandbox.processes`"), (Limit::ScratchBytes, "`sandbox.scratch`")]
        {
            let reached = format!("[it reached its limit of {}{}]", limit.name(), to_try(limit.name()));
            assert!(reached.contains(setting), "{reached}");
            check(("a", Exit::Code(2), Some(limit)), 5, &format!("a\n[exit code 2]\n{reached}"), "exited 2");
            let ended = Ended::plain(Exit::Code(0), Some(limit));
            let shown = Shown { text: "a".to_owned(), artifact: None };
            let ran = Ran::of(shown, &ended, Duration::from_millis(5), None);
            assert_eq!(ran.to_string(), format!("a\n{reached}"));
            assert_eq!(serde_json::to_value(&ran).expect("JSON")["reached"], limit.name());
            assert!(!ran.into_outcome().is_error, "it ended well");
        }
    }
}
