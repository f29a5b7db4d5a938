//! What programs get, and what they give.

use std::fs;
use std::process::Command;
use std::time::Duration;

use gate::{Cancel, ProgramSettings};
use sandbox::confine::Limits;
use serde_json::{Value, json};

use super::{always_degraded, call, figure, holding, owner, recorded, run, sample, told};

/// Who calls which tool with a script, the profile of the record, and what comes of it: what it printed and how it exited, or
/// the code of the refusal.
struct Case {
    scopes: Option<&'static [&'static str]>,
    tool: &'static str,
    script: &'static str,
    profile: Option<&'static str>,
    expected: &'static str,
}

const WRITE: &str = "echo x 2>/dev/null > made && cat made || echo refused";
const READ: &str = "cat there 2>/dev/null || echo unseen";

const CASES: [Case; 13] = [
    Case::of(None, "sh_run", "echo hello; echo oops >&2; exit 3", Some("write"), "hello\noops\ncode 3"),
    Case::of(None, "sh_run", WRITE, Some("write"), "x\ncode 0"),
    Case::of(None, "sh_run", "echo $SAMPLE; kill -9 $$", Some("write"), "of its own\nsignal 9"),
    // Who may not write does not write by a program, and a tool that only looks does not either.
    Case::of(Some(&["run_tests", "read_workspace"]), "sh_run", WRITE, Some("shell"), "refused\ncode 0"),
    Case::of(Some(&["run_tests", "read_workspace"]), "sh_run", READ, Some("shell"), "content\ncode 0"),
    Case::of(None, "sh_look", WRITE, Some("shell"), "refused\ncode 0"),
    Case::of(None, "sh_look", READ, Some("shell"), "content\ncode 0"),
    // Who may not read sees nothing.
    Case::of(Some(&["run_tests", "write_workspace"]), "sh_run", READ, Some("worker"), "unseen\ncode 0"),
    Case::of(None, "sh_compute", READ, Some("worker"), "unseen\ncode 0"),
    Case::of(None, "sh_compute", "echo $((6 * 7))", Some("worker"), "42\ncode 0"),
    // Nothing runs without the tool's scope, nor for a tool that has not said that it needs programs.
    Case::of(Some(&["read_workspace", "write_workspace"]), "sh_run", "touch made", None, "unknown_tool"),
    Case::of(Some(&["run_tests"]), "sh_look", "true", None, "unknown_tool"),
    Case::of(None, "sh_beg", "touch made", None, "no_hand"),
];

impl Case {
    const fn of(
        scopes: Option<&'static [&'static str]>,
        tool: &'static str,
        script: &'static str,
        profile: Option<&'static str>,
        expected: &'static str,
    ) -> Case {
        Case { scopes, tool, script, profile, expected }
    }
}

#[tokio::test]
async fn programs_do_what_their_tool_says_and_its_caller_may() {
    for Case { scopes, tool, script, profile, expected } in CASES {
        let sample = sample(ProgramSettings::default());
        fs::write(sample.workspace().join("there"), "content\n").expect("a file");
        let caller = scopes.map_or_else(owner, holding);
        let found = match run(&sample, &caller, tool, script).await {
            Ok(ran) => format!("{}{}{}", text(&ran["stdout"]), text(&ran["stderr"]), text(&ran["exit"])),
            Err(failure) => failure.code().to_owned(),
        };
        assert_eq!(found, expected, "{tool}: {script}");
        let (noted, degraded) = recorded(&sample);
        assert_eq!(noted, json!(profile), "{tool}: {script}");
        let without = always_degraded();
        let expected = if profile.is_none() || without.is_empty() { Value::Null } else { json!(without) };
        assert_eq!(degraded, expected, "{tool}: {script}");
        let starts = profile.map(|profile| format!("toolcrib_programs_total{{profile=\"{profile}\"}}"));
        assert!(starts.is_none_or(|starts| figure(&sample, &starts) == Some(1)), "{tool}: {script}");
    }
}

fn text(value: &Value) -> &str {
    value.as_str().expect("a text")
}

#[tokio::test]
async fn a_worker_of_our_own_has_its_input_and_nothing_else_whatever_its_tool_may() {
    const LOOK: &str = "cat; for it in $AT/there $BESIDE/there; do cat $it 2>/dev/null || echo unseen; done; \
                        (echo x > /tmp/x) 2>/dev/null; test -s /tmp/x || echo unwritten; ulimit -n";
    let beside = tempfile::tempdir().expect("a folder");
    fs::write(beside.path().join("there"), "content\n").expect("a file");
    for tool in ["sh_run", "sh_look", "sh_compute", "sh_fetch"] {
        let settings = ProgramSettings { read: vec![beside.path().to_owned()], ..ProgramSettings::default() };
        let sample = sample(settings);
        fs::write(sample.workspace().join("there"), "content\n").expect("a file");
        let (at, beside) = (sample.workspace().display(), beside.path().display());
        let script = format!("AT={at} BESIDE={beside}; {LOOK}");
        let arguments = json!({ "script": script, "input": "sent\n", "in_worker": true, "read": ["/etc"] });
        let outcome = call(&sample, &owner(), tool, &arguments, (Cancel::new(), None)).await.expect("it ran");
        let ran = told(outcome).expect("a result");
        assert_eq!(text(&ran["stdout"]), "sent\nunseen\nunseen\nunwritten\n16\n", "{tool}: {ran}");
        assert_eq!(recorded(&sample).0, json!("worker"), "{tool}");
    }
}

#[tokio::test]
async fn input_of_any_length_arrives_while_output_is_read() {
    let sample = sample(ProgramSettings::default());
    // More than the pipes hold in both directions together.
    let input = "0123456789abcde\n".repeat(64 * 1024);
    let heard = async |tool: &str, script: &str| {
        let arguments = json!({ "script": script, "input": input });
        let outcome = call(&sample, &owner(), tool, &arguments, (Cancel::new(), None)).await.expect("it ran");
        let ran = told(outcome).expect("a result");
        (text(&ran["stdout"]).to_owned(), text(&ran["exit"]).to_owned())
    };
    for tool in ["sh_run", "sh_look"] {
        assert_eq!(heard(tool, "cat | wc -c").await, ("1048576\n".to_owned(), "code 0".to_owned()));
        let (echoed, exit) = heard(tool, "cat").await;
        assert!(echoed.len() == 64 * 1024 && input.starts_with(&echoed), "{} bytes", echoed.len());
        assert_eq!(exit, "code 0");
        // Nobody has to read it.
        assert_eq!(heard(tool, "exit 4").await, (String::new(), "code 4".to_owned()));
    }
}

#[tokio::test]
async fn a_limit_ends_a_program_and_is_named() {
    let limits = Limits { time: Duration::from_millis(700), output_bytes: 100_000, ..Limits::default() };
    for (script, limit) in [("sleep 100", "time"), ("yes", "output_bytes")] {
        let sample = sample(ProgramSettings { limits, ..ProgramSettings::default() });
        let ran = run(&sample, &owner(), "sh_run", script).await.expect("it ran");
        assert_eq!(ran["limit"], limit, "{script}: {ran}");
        let kills = format!("toolcrib_programs_killed_total{{limit=\"{limit}\"}}");
        assert_eq!(figure(&sample, &kills), Some(1), "{script}");
    }
}

#[tokio::test]
async fn a_limit_that_was_reached_is_in_the_record() {
    let limits = Limits { time: Duration::from_millis(700), processes: 9, ..Limits::default() };
    let many = "n=0; while [ $n -lt 20 ]; do sleep 9 & n=$((n+1)); done; exit 1";
    for (script, expected) in
        [("true", Value::Null), ("sleep 100", json!(["time"])), (many, json!(["processes"]))]
    {
        let sample = sample(ProgramSettings { limits, ..ProgramSettings::default() });
        run(&sample, &owner(), "sh_run", script).await.expect("it ran");
        assert_eq!(sample.whole_records(1).remove(0)["limits"], expected, "{script}");
    }
}

#[tokio::test]
async fn a_program_that_is_not_there_says_so() {
    let sample = sample(ProgramSettings::default());
    for (program, code) in [("no-such-program", 127), ("/etc/passwd", 126)] {
        let arguments = json!({ "script": "", "program": program });
        let failure = call(&sample, &owner(), "sh_run", &arguments, (Cancel::new(), None)).await;
        let gate::Failure::Tool(error) = failure.expect_err("there is none") else { panic!("{program}") };
        assert_eq!(
            (&**error.code(), &error.details().expect("facts")["exit_code"]),
            ("program_not_run", &json!(code))
        );
        assert!(error.to_string().contains(program), "{error}");
        assert_eq!(recorded(&sample).0, Value::Null, "nothing ran");
    }
}

#[tokio::test]
async fn a_shell_commits_and_what_decides_about_agents_is_told() {
    let sample = sample(ProgramSettings::default());
    let mut git = Command::new("sh");
    let script = "git init -q . && git config user.email a@b && git config user.name a";
    git.args(["-c", script]).current_dir(sample.workspace()).env("HOME", sample.workspace());
    assert!(git.status().expect("git").success());
    let script = "echo x > file && git add file && git commit -qm one && git log --format=%s && \
                  git config core.fsmonitor x 2>/dev/null || echo refused; echo evil > AGENTS.md";
    let ran = run(&sample, &owner(), "sh_run", script).await.expect("it ran");
    assert_eq!((text(&ran["stdout"]), &ran["written"]), ("one\nrefused\n", &json!(["AGENTS.md"])));
    let record = sample.whole_records(1).remove(0);
    assert_eq!(
        (&record["protected_changed"], &record["protected_more"]),
        (&json!(["AGENTS.md"]), &Value::Null)
    );
    let script = "for n in $(seq 40); do mkdir $n; echo evil > $n/.envrc; done";
    run(&sample, &owner(), "sh_run", script).await.expect("it ran");
    let record = sample.whole_records(1).remove(0);
    let named = record["protected_changed"].as_array().map(Vec::len);
    assert_eq!((named, &record["protected_more"]), (Some(32), &json!(8)));
}
