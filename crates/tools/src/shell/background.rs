//! `BackgroundBash`: a command that goes on behind its answer, and what is typed to one. Both are one tool, since who types to
//! a shell runs commands: rules and people that decide about one decide about the other.

use std::fmt;
use std::time::Duration;

use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};
use serde_json::json;
use tool_api::{
    About, ArgumentRoles, BACKGROUND, BACKGROUND_READ, Context, Effect, Example, Need, Outcome, Output,
    Structured, Tool, ToolError, Typed,
};

use super::command::{self, Open};
use super::kill::unknown;
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
    /// For `bash -c`; with `task_id` what to type to that task, as it is: end a line with `\n`, `\u0003` is Ctrl-C on a tty.
    command: String,
    /// Keep stdin open, to type to it: a `pipe`, or a `tty` of 80×24 (`TERM=dumb`) for REPLs and prompts.
    stdin: Option<Open>,
    /// Type `command` to this task, at most 4095 bytes.
    task_id: Option<u32>,
    /// End its stdin then.
    #[serde(default)]
    eof: bool,
}

/// The longest that is typed at once: a terminal takes no longer line.
const TYPED_BYTES_MAX: usize = 4095;

/// What a call is for.
#[derive(Debug, PartialEq, Eq)]
enum Wanted {
    Start { command: String, stdin: Option<Open> },
    Type { task_id: u32, text: String, ends: bool },
}

impl Input {
    fn wanted(self) -> Result<Wanted, ToolError> {
        let Input { command, stdin, task_id, eof } = self;
        let wrong = |why: String| Err(ToolError::new("invalid_arguments", why));
        match task_id {
            None if eof => wrong("`eof` ends the stdin of a task: name it with `task_id`".to_owned()),
            None => command::check(&command).map(|()| Wanted::Start { command, stdin }),
            Some(_) if stdin.is_some() => {
                wrong("`stdin` is for a task that is started, without `task_id`".to_owned())
            }
            Some(_) if command.is_empty() && !eof => {
                wrong("there is nothing to type: `command` is empty".to_owned())
            }
            Some(_) if command.contains('\0') => wrong("what is typed has no NUL character".to_owned()),
            Some(_) if command.len() > TYPED_BYTES_MAX => wrong(format!(
                "what is typed has {} bytes, and at once goes at most {TYPED_BYTES_MAX}: write it to a file of the workspace, and have \
                 it read that",
                command.len()
            )),
            Some(task_id) => Ok(Wanted::Type { task_id, text: command, ends: eof }),
        }
    }
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

/// What was typed.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Written {
    /// The task.
    task_id: u32,
    /// How much.
    written_bytes: usize,
}

impl fmt::Display for Written {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Written { task_id, written_bytes } = self;
        write!(
            f,
            "Typed {written_bytes} bytes to background task {task_id}; {BACKGROUND_READ} shows what it answers."
        )
    }
}

/// What the call gives, and what it gives as the task.
pub(crate) enum Begun {
    Started(Started),
    Written(Written),
    Ran(Ran),
}

impl Output for Begun {
    // What a task gives is its job's affair.
    const SCHEMA: Option<fn() -> Schema> = None;

    fn into_outcome(self) -> Outcome {
        match self {
            Begun::Started(started) => Structured(started).into_outcome(),
            Begun::Written(written) => Structured(written).into_outcome(),
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
                  at once. Its ports are its own: other commands do not reach them. One started with `stdin` can be typed to: \
                  call again with its `task_id`.",
        effect: Effect::Executes,
        arguments: ArgumentRoles::NONE,
        scopes: &["run_tests"],
        needs: &[Need::Process, Need::Artifacts, Need::Net(&[]), Need::Tasks],
        idempotent: false,
        open_world: false,
        timeout: TASK,
        examples: &[
            Example { title: "A watcher", arguments: r#"{"command": "npm run build -- --watch"}"# },
            Example { title: "A REPL", arguments: r#"{"command": "python3", "stdin": "tty"}"# },
            Example { title: "A line for it", arguments: r#"{"task_id": 1, "command": "print(6 * 7)\n"}"# },
        ],
    };
    type Input = Input;
    type Output = Begun;

    async fn run(&self, input: Input, cx: &Context) -> Result<Begun, ToolError> {
        let tasks = cx.tasks()?;
        let (command, stdin) = match input.wanted()? {
            Wanted::Start { command, stdin } => (command, stdin),
            Wanted::Type { task_id, text, ends } => {
                let written = tasks.write(task_id, Typed { text: &text, ends }).await?;
                written.ok_or_else(|| unknown(task_id))?;
                return Ok(Begun::Written(Written { task_id, written_bytes: text.len() }));
            }
        };
        if !tasks.is_one() {
            let mut arguments = json!({ "command": command });
            if let Some(stdin) = stdin {
                arguments["stdin"] = json!(stdin);
            }
            let task_id = tasks.start(arguments.to_string()).await?;
            return Ok(Begun::Started(Started { task_id }));
        }
        let run = Run {
            tool: BACKGROUND,
            command: &command,
            stdin,
            time_max: None,
            shown_bytes_max: self.shown_bytes_max,
            told_bytes_max: u64::MAX,
        };
        run.by(cx).await.map(Begun::Ran)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(arguments: &str, expected: Result<Wanted, &str>) {
        let input: Input = serde_json::from_str(arguments).expect("as the schema says");
        match (input.wanted(), expected) {
            (Ok(wanted), Ok(expected)) => assert_eq!(wanted, expected, "{arguments}"),
            (Err(error), Err(words)) => assert!(error.to_string().contains(words), "{arguments}: {error}"),
            (found, expected) => panic!("{arguments}: {found:?} and not {expected:?}"),
        }
    }

    fn typed(text: &str, ends: bool) -> Result<Wanted, &str> {
        Ok(Wanted::Type { task_id: 3, text: text.to_owned(), ends })
    }

    #[test]
    fn a_command_is_started_or_typed() {
        let start = |stdin| Ok(Wanted::Start { command: "cat".to_owned(), stdin });
        check(r#"{"command": "cat"}"#, start(None));
        check(r#"{"command": "cat", "stdin": "pipe"}"#, start(Some(Open::Pipe)));
        check(r#"{"command": "cat", "stdin": "tty"}"#, start(Some(Open::Tty)));
        check(r#"{"command": "cat", "eof": true}"#, Err("`task_id`"));
        check(r#"{"command": ""}"#, Err("the command is empty"));
        check(r#"{"command": "y\n", "task_id": 3}"#, typed("y\n", false));
        check(r#"{"command": "\u0003", "task_id": 3}"#, typed("\u{3}", false));
        check(r#"{"command": " ", "task_id": 3, "eof": true}"#, typed(" ", true));
        check(r#"{"command": "", "task_id": 3, "eof": true}"#, typed("", true));
        check(r#"{"command": "", "task_id": 3}"#, Err("nothing to type"));
        check(r#"{"command": "y", "task_id": 3, "stdin": "tty"}"#, Err("without `task_id`"));
        check(r#"{"command": "a\u0000", "task_id": 3}"#, Err("NUL"));
        let long = "é".repeat(TYPED_BYTES_MAX / 2 + 1);
        check(&format!(r#"{{"command": "{long}", "task_id": 3}}"#), Err("4096 bytes"));
        let most = "x".repeat(TYPED_BYTES_MAX);
        check(&format!(r#"{{"command": "{most}", "task_id": 3}}"#), typed(&most, false));
    }
}
