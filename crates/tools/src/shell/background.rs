//! `BackgroundBash`: a command that goes on behind its answer.

use std::fmt;
use std::time::Duration;

use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};
use serde_json::json;
use tool_api::{
    About, ArgumentRoles, BACKGROUND, BACKGROUND_READ, Context, Effect, Example, Need, Outcome, Output,
    Structured, Tool, ToolError,
};

use super::command;
use super::ran::Ran;
use super::run::Run;
use crate::plain_schema::plain;

/// The longest that one goes on: jobs are ended that are older.
const TASK: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// Starts a command.
#[derive(Debug)]
pub(crate) struct Background {
    /// What is shown of its output, should somebody ask for the result of its job.
    pub(crate) shown_bytes_max: usize,
}

/// The arguments of `BackgroundBash`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(transform = plain)]
pub(crate) struct Input {
    /// For `bash -c`.
    command: String,
}

/// A task that has been started.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Started {
    /// Its number, for the tools that look after it.
    task_id: u32,
}

impl fmt::Display for Started {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = self.task_id;
        write!(
            f,
            "Started background task {number}. Read its output with {BACKGROUND_READ} (task_id: {number})."
        )
    }
}

/// What the call gives, and what it gives as the task.
pub(crate) enum Begun {
    Started(Started),
    Ran(Ran),
}

impl Output for Begun {
    fn schema() -> Option<Schema> {
        // What a task gives is its job's affair.
        None
    }

    fn into_outcome(self) -> Outcome {
        match self {
            Begun::Started(started) => Structured(started).into_outcome(),
            Begun::Ran(ran) => ran.into_outcome(),
        }
    }
}

impl Tool for Background {
    const ABOUT: About = About {
        name: BACKGROUND,
        title: "Run a command in the background",
        summary: "Start a command with bash in the workspace, as `Bash` does, and answer at once with a `task_id`: for servers, \
                  watchers and long builds. It goes on until it ends, KillBgTask ends it, or Toolcrib stops; at most 32 run \
                  at once. Its ports are its own: other commands do not reach them.",
        effect: Effect::Executes,
        arguments: ArgumentRoles::NONE,
        scopes: &["run_tests"],
        needs: &[Need::Process, Need::Artifacts, Need::Net(&[]), Need::Tasks],
        idempotent: false,
        open_world: false,
        timeout: TASK,
        examples: &[Example { title: "A watcher", arguments: r#"{"command": "npm run build -- --watch"}"# }],
    };
    type Input = Input;
    type Output = Begun;

    async fn run(&self, Input { command }: Input, cx: &Context) -> Result<Begun, ToolError> {
        let tasks = cx.tasks()?;
        if !tasks.is_one() {
            command::check(&command)?;
            let task_id = tasks.start(json!({ "command": command }).to_string()).await?;
            return Ok(Begun::Started(Started { task_id }));
        }
        let run = Run {
            tool: BACKGROUND,
            command: &command,
            time_max: None,
            shown_bytes_max: self.shown_bytes_max,
            told_bytes_max: u64::MAX,
        };
        run.by(cx).await.map(Begun::Ran)
    }
}
