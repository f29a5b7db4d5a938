//! `Bash`: one command, which is waited for.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use tool_api::{About, ArgumentRoles, BASH, Context, Effect, Example, Need, Tool, ToolError};

use super::ran::Ran;
use super::run::Run;
use crate::plain_schema::plain;

/// How long a command may take that does not say how long, in milliseconds.
const TIMEOUT_MS: u64 = 30_000;

/// The longest, in milliseconds. What takes longer goes on in the background.
const TIMEOUT_MS_MAX: u64 = 600_000;

/// What the call has besides: the command ends in time, and what it printed is told.
const CALL: Duration = Duration::from_millis(TIMEOUT_MS_MAX + 15_000);

/// What is told of its output while it runs: as much as a job's events hold.
const TOLD_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// Runs a command.
#[derive(Debug)]
pub(crate) struct Bash {
    /// What is shown of its output.
    pub(crate) shown_bytes_max: usize,
}

/// The arguments of `Bash`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(transform = plain)]
pub(crate) struct Input {
    /// For `bash -c`.
    command: String,
    /// How long it may take, in milliseconds. Default: 30000.
    #[schemars(range(min = 1, max = TIMEOUT_MS_MAX))]
    timeout: Option<u64>,
    /// What it is for, in a few words, for the person who may be asked about it.
    #[serde(default, rename = "description")]
    _description: Option<String>,
}

impl Tool for Bash {
    const ABOUT: About = About {
        name: BASH,
        title: "Run a command",
        summary: "Run a command with bash in the workspace, sandboxed, and give what it printed: stdout and stderr in order, \
                  then its exit code if that is not 0. Each call starts anew in the workspace's root with empty stdin: `cd` \
                  and variables do not last. Files outside are read-only or hidden, hosts may be closed. What it has started \
                  ends with it: for servers and long work use BackgroundBash. Of long output head and tail are shown, and \
                  the rest is kept.",
        effect: Effect::Executes,
        arguments: ArgumentRoles { remarks: &["description"], ..ArgumentRoles::NONE },
        scopes: &["run_tests"],
        needs: &[Need::Process, Need::Artifacts, Need::Net(&[])],
        idempotent: false,
        open_world: false,
        timeout: CALL,
        examples: &[Example {
            title: "The tests, for five minutes at most",
            arguments: r#"{"command": "cargo test 2>&1 | tail -50", "timeout": 300000, "description": "Run the tests"}"#,
        }],
    };
    type Input = Input;
    type Output = Ran;

    async fn run(&self, input: Input, cx: &Context) -> Result<Ran, ToolError> {
        let run = Run {
            tool: BASH,
            command: &input.command,
            stdin: None,
            time_max: Some(Duration::from_millis(input.timeout.unwrap_or(TIMEOUT_MS))),
            shown_bytes_max: self.shown_bytes_max,
            told_bytes_max: TOLD_BYTES_MAX,
        };
        run.by(cx).await
    }
}
