//! `ReadBgOutput`: what a background task has put out.

use std::fmt;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tool_api::{
    ARTIFACT_READ, ARTIFACT_SEARCH, About, ArgumentRoles, BACKGROUND_READ, Context, Effect, Example, Need,
    OutputAsked, Structured, TaskOutput, Tool, ToolError,
};

use super::kill::unknown;
use super::list::Task;
use crate::plain_schema::plain;

/// The longest wait, in milliseconds: the least patient clients give up after a minute.
const WAIT_MS_MAX: u64 = 50_000;

/// How long a call waits for words that does not say how long.
const WAIT: Duration = Duration::from_secs(30);

/// Reads it.
#[derive(Debug)]
pub(crate) struct Read {
    /// What is shown at once.
    pub(crate) shown_bytes_max: usize,
}

/// The arguments of `ReadBgOutput`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(transform = plain)]
pub(crate) struct Input {
    /// The number of the task.
    task_id: u32,
    /// Show all that is kept, and not only what is new since the last call.
    #[serde(default)]
    all: bool,
    /// Wait so many milliseconds at most, until the task ends.
    #[schemars(range(max = WAIT_MS_MAX))]
    wait_ms: Option<u64>,
    /// Or until a line has this text. `wait_ms` is 30000 then, unless it is said.
    until: Option<String>,
}

/// What it has put out.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(transform = plain)]
pub(crate) struct Seen {
    /// The task.
    #[serde(flatten)]
    task: Task,
    /// Its output, stdout and stderr in order.
    output: String,
    /// Bytes of it that are left out before.
    #[serde(default, skip_serializing_if = "is_zero")]
    left_out_bytes: u64,
    /// The artifact that holds them, once the task is over.
    #[serde(skip_serializing_if = "Option::is_none")]
    artifact: Option<String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands over references")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl Seen {
    /// The end of it, if it is too long: what is newest matters most.
    fn of(task: Task, output: TaskOutput, bytes_max: usize) -> Seen {
        let TaskOutput { mut text, missed, artifact } = output;
        let from = text.ceil_char_boundary(text.len().saturating_sub(bytes_max));
        let from = match text[from..].find('\n').filter(|_| from > 0) {
            Some(end) if end < bytes_max / 2 => from + end + 1,
            _ => from,
        };
        let output = text.split_off(from);
        let left_out_bytes = missed + from as u64;
        Seen { task, output, left_out_bytes, artifact: artifact.filter(|_| left_out_bytes > 0) }
    }
}

impl fmt::Display for Seen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let output = self.output.trim_end_matches('\n');
        write!(f, "{}", self.task.header())?;
        if self.left_out_bytes > 0 {
            write!(f, "\n[{} bytes before are left out", self.left_out_bytes)?;
            match &self.artifact {
                Some(id) => write!(f, ": {ARTIFACT_READ} and {ARTIFACT_SEARCH} with id: \"{id}\" show them")?,
                None if self.task.runs() => {
                    f.write_str("; once the task has ended by itself, this names what shows them")?
                }
                None => {}
            }
            f.write_str("]")?;
        }
        write!(f, "\n{}", if output.is_empty() { "(no new output)" } else { output })
    }
}

impl Tool for Read {
    const ABOUT: About = About {
        name: BACKGROUND_READ,
        title: "Read a background task's output",
        summary: "Show how a background task is doing and the end of what it has put out since the last call (or of `all` that \
                  is kept). With `until` it waits for a line with that text, such as \"listening\", with `wait_ms` alone \
                  for the task's end.",
        effect: Effect::Reads,
        arguments: ArgumentRoles::NONE,
        scopes: &["run_tests"],
        needs: &[Need::Tasks],
        idempotent: false,
        open_world: false,
        timeout: Duration::from_secs(60),
        examples: &[
            Example { title: "What is new", arguments: r#"{"task_id": 3}"# },
            Example {
                title: "Until it is ready",
                arguments: r#"{"task_id": 3, "until": "listening on", "wait_ms": 20000}"#,
            },
        ],
    };
    type Input = Input;
    type Output = Structured<Seen>;

    async fn run(&self, input: Input, cx: &Context) -> Result<Self::Output, ToolError> {
        let Input { task_id, all, wait_ms, until } = input;
        let until = until.as_deref().filter(|words| !words.is_empty());
        let unsaid = if until.is_some() { WAIT } else { Duration::ZERO };
        let within = wait_ms.map_or(unsaid, |wait_ms| Duration::from_millis(wait_ms.min(WAIT_MS_MAX)));
        let read = cx.tasks()?.read(task_id, OutputAsked { all, until, within }).await?;
        let (seen, output) = read.ok_or_else(|| unknown(task_id))?;
        Ok(Structured(Seen::of(Task::of(&seen), output, self.shown_bytes_max)))
    }
}

#[cfg(test)]
mod tests {
    use tool_api::TaskSeen;

    use super::*;

    #[track_caller]
    fn check(text: &str, missed: u64, expected: &str) {
        check_in(true, None, text, missed, expected);
    }

    #[track_caller]
    fn check_in(is_over: bool, artifact: Option<&str>, text: &str, missed: u64, expected: &str) {
        let seen = TaskSeen {
            number: 3,
            status: if is_over { "exited 0" } else { "running" }.to_owned(),
            is_over,
            runtime: Duration::from_secs(12),
            arguments: "{}".to_owned(),
        };
        let output = TaskOutput { text: text.to_owned(), missed, artifact: artifact.map(str::to_owned) };
        assert_eq!(Seen::of(Task::of(&seen), output, 10).to_string(), expected);
    }

    #[test]
    fn the_end_of_what_is_new_is_shown() {
        check("", 0, "task 3 · exited 0 · 12s\n(no new output)");
        check("a\nb\n", 0, "task 3 · exited 0 · 12s\na\nb");
        check("a", 5, "task 3 · exited 0 · 12s\n[5 bytes before are left out]\na");
        check("0123456\n89abcdef", 1, "task 3 · exited 0 · 12s\n[9 bytes before are left out]\n89abcdef");
        check_in(true, Some("i"), "a", 0, "task 3 · exited 0 · 12s\na");
        let shown = "task 3 · exited 0 · 12s\n[5 bytes before are left out: artifact_read and artifact_search with id: \"i\" show them]\na";
        check_in(true, Some("i"), "a", 5, shown);
        let runs = "task 3 · running · 12s\n[5 bytes before are left out; once the task has ended by itself, this names what shows them]\na";
        check_in(false, None, "a", 5, runs);
        check("aéééééé", 0, "task 3 · exited 0 · 12s\n[3 bytes before are left out]\nééééé");
    }
}
