//! `ListBgTasks`: the background tasks of the caller.

use std::fmt;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tool_api::{
    About, ArgumentRoles, BACKGROUND_LIST, Context, Effect, Example, Need, Structured, TaskSeen, Tool,
    ToolError,
};

use crate::plain_schema::brief;

/// What is shown of a command, in characters.
const COMMAND_CHARS_MAX: usize = 80;

/// Lists them.
#[derive(Debug)]
pub(crate) struct List;

/// The arguments of `ListBgTasks`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {}

/// A background task.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(transform = brief)]
pub(super) struct Task {
    task_id: u32,
    /// How it stands: `running`, `exited 0`, `killed`, `interrupted` and so on.
    status: String,
    runtime_ms: u64,
    /// The beginning of its command.
    command: String,
    #[serde(skip)]
    is_over: bool,
}

impl Task {
    pub(super) fn of(seen: &TaskSeen) -> Task {
        let arguments: Value = serde_json::from_str(&seen.arguments).unwrap_or_default();
        let command = arguments["command"].as_str().unwrap_or_default();
        let line = command.split_whitespace().collect::<Vec<_>>().join(" ");
        let command = match line.char_indices().nth(COMMAND_CHARS_MAX) {
            Some((end, _)) => format!("{}…", &line[..end]),
            None => line,
        };
        let runtime_ms = u64::try_from(seen.runtime.as_millis()).unwrap_or(u64::MAX);
        Task { task_id: seen.number, status: seen.status.clone(), runtime_ms, command, is_over: seen.is_over }
    }

    pub(super) fn runs(&self) -> bool {
        !self.is_over
    }

    /// What is said of it above its output.
    pub(super) fn header(&self) -> String {
        let Task { task_id, status, runtime_ms, .. } = self;
        format!("task {task_id} · {status} · {}", shown(Duration::from_millis(*runtime_ms)))
    }
}

/// All of them.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(transform = brief)]
pub(crate) struct Tasks {
    /// The newest first.
    tasks: Vec<Task>,
}

impl fmt::Display for Tasks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines = self.tasks.iter().map(|task| format!("{} · {}", task.header(), task.command));
        match self.tasks.is_empty() {
            true => f.write_str("There are no background tasks."),
            false => f.write_str(&lines.collect::<Vec<_>>().join("\n")),
        }
    }
}

/// As people say it.
fn shown(time: Duration) -> String {
    match time.as_secs() {
        seconds @ 0..60 => format!("{seconds}s"),
        seconds @ 60..3600 => format!("{}m{:02}s", seconds / 60, seconds % 60),
        seconds => format!("{}h{:02}m", seconds / 3600, seconds / 60 % 60),
    }
}

impl Tool for List {
    const ABOUT: About = About {
        name: BACKGROUND_LIST,
        title: "List background tasks",
        summary: "List the background tasks of this workspace with status and runtime, the newest first. Those that are over \
                  are kept for a day.",
        effect: Effect::Reads,
        arguments: ArgumentRoles::NONE,
        scopes: &["run_tests"],
        needs: &[Need::Tasks],
        idempotent: true,
        open_world: false,
        timeout: Duration::from_secs(30),
        examples: &[Example { title: "All of them", arguments: "{}" }],
    };
    type Input = Input;
    type Output = Structured<Tasks>;

    async fn run(&self, Input {}: Input, cx: &Context) -> Result<Self::Output, ToolError> {
        let seen = cx.tasks()?.list().await?;
        Ok(Structured(Tasks { tasks: seen.iter().map(Task::of).collect() }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_is_a_line() {
        let seen = |seconds, command: &str| TaskSeen {
            number: 3,
            status: "running".to_owned(),
            is_over: false,
            runtime: Duration::from_secs(seconds),
            arguments: serde_json::json!({ "command": command }).to_string(),
        };
        let of =
            |seconds, command: &str| Tasks { tasks: vec![Task::of(&seen(seconds, command))] }.to_string();
        assert_eq!(of(12, "npm  run\n dev"), "task 3 · running · 12s · npm run dev");
        assert_eq!(of(75, &"é".repeat(81)), format!("task 3 · running · 1m15s · {}…", "é".repeat(80)));
        assert_eq!(of(7262, "x"), "task 3 · running · 2h01m · x");
        assert_eq!(Tasks { tasks: Vec::new() }.to_string(), "There are no background tasks.");
    }
}
