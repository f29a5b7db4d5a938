//! `KillBgTask`: ends a background task.

use std::fmt;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tool_api::{
    About, ArgumentRoles, BACKGROUND_KILL, BACKGROUND_LIST, Context, Effect, Example, Need, Structured, Tool,
    ToolError,
};

use super::list::Task;
use crate::plain_schema::plain;

/// Ends one.
#[derive(Debug)]
pub(crate) struct Kill;

/// The arguments of `KillBgTask`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(transform = plain)]
pub(crate) struct Input {
    /// The number of the task.
    task_id: u32,
}

/// How it stands then.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(transform = plain)]
pub(crate) struct Killed {
    /// The task.
    task: Task,
    /// True if it had ended before.
    was_over: bool,
}

impl fmt::Display for Killed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let before = if self.was_over { "It had ended before: " } else { "" };
        write!(f, "{before}{}", self.task.header())
    }
}

/// The same words for what is another caller's: nobody learns of it.
pub(super) fn unknown(number: u32) -> ToolError {
    let why = format!("there is no background task {number}; {BACKGROUND_LIST} shows which there are");
    ToolError::new("unknown_task", why)
}

impl Tool for Kill {
    const ABOUT: About = About {
        name: BACKGROUND_KILL,
        title: "End a background task",
        summary: "End a background task at once, with everything that it has started. What it has put out stays readable.",
        effect: Effect::Executes,
        arguments: ArgumentRoles::NONE,
        scopes: &["run_tests"],
        needs: &[Need::Tasks],
        idempotent: true,
        open_world: false,
        timeout: Duration::from_secs(30),
        examples: &[Example { title: "The third", arguments: r#"{"task_id": 3}"# }],
    };
    type Input = Input;
    type Output = Structured<Killed>;

    async fn run(&self, Input { task_id }: Input, cx: &Context) -> Result<Self::Output, ToolError> {
        let ended = cx.tasks()?.end(task_id).await?;
        let (seen, was_over) = ended.ok_or_else(|| unknown(task_id))?;
        Ok(Structured(Killed { task: Task::of(&seen), was_over }))
    }
}
