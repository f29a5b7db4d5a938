//! `TaskManager`: what is to be done, kept for the caller in this workspace over the end of everything.

use std::fmt;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tool_api::{
    About, ArgumentRoles, Context, Effect, Example, Need, Structured, Tool, ToolError, amend, noted,
};

use super::task_list::TaskList;
use crate::plain_schema::plain;

/// Under which name the tasks are kept.
pub(super) const NAME: &str = "tasks";

/// Keeps tasks.
#[derive(Debug)]
pub(crate) struct TaskManager;

/// The arguments of `TaskManager`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(transform = plain)]
pub(crate) struct Input {
    /// `create` a task, `add` a step to one, `complete` a step or a task, `list` all, `pending` shows open steps, `switch` the
    /// current task.
    action: Action,
    /// The task's name or the step's text.
    #[serde(default)]
    text: String,
    /// The same as `text`.
    #[serde(default)]
    query: String,
    /// Which task; without it the current one.
    task_id: Option<u32>,
    /// Which step of it.
    step_id: Option<u32>,
}

#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
enum Action {
    Create,
    Add,
    Complete,
    List,
    Pending,
    Switch,
}

/// What was done, and what there is to do.
// With what was done stands the task that it was done to, else the tasks that were asked for.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(transform = plain)]
pub(crate) struct Told {
    /// What was done.
    #[serde(skip_serializing_if = "Option::is_none")]
    done: Option<String>,
    #[serde(flatten)]
    list: TaskList,
}

impl fmt::Display for Told {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.done {
            Some(done) => f.write_str(done),
            None => self.list.fmt(f),
        }
    }
}

impl Tool for TaskManager {
    const ABOUT: About = About {
        name: "TaskManager",
        title: "Keep tasks",
        summary: "Keep a list of tasks with steps, for work that takes more than a few calls: it is there in your next \
                  session. Create a task, add its steps, complete them as you go.",
        effect: Effect::Writes,
        arguments: ArgumentRoles::NONE,
        scopes: &[],
        needs: &[Need::State],
        idempotent: false,
        open_world: false,
        timeout: Duration::from_secs(30),
        examples: &[
            Example {
                title: "A task",
                arguments: r#"{"action": "create", "text": "Make the parser read tabs"}"#,
            },
            Example { title: "All of them", arguments: r#"{"action": "list"}"# },
        ],
    };
    type Input = Input;
    type Output = Structured<Told>;

    async fn run(&self, input: Input, cx: &Context) -> Result<Structured<Told>, ToolError> {
        let Input { action, text, query, task_id, step_id } = input;
        let text = if text.trim().is_empty() { &query } else { &text };
        let state = cx.state()?;
        let told = match action {
            Action::List => Told { done: None, list: noted(state, NAME).await? },
            Action::Pending => {
                let all: TaskList = noted(state, NAME).await?;
                Told { done: None, list: all.pending(task_id)? }
            }
            Action::Create | Action::Add | Action::Complete | Action::Switch => {
                let change = |list: &mut TaskList| {
                    // The whole list would be told again with each step.
                    let done = match action {
                        Action::Create => list.create(text),
                        Action::Add => list.add(task_id, text),
                        Action::Complete => list.complete(task_id, step_id),
                        _ => list.switch(task_id.ok_or_else(|| {
                            ToolError::new("invalid_arguments", "say which task in `task_id`")
                        })?),
                    };
                    let (id, done) = done?;
                    Ok(Told { done: Some(done), list: list.only(id) })
                };
                amend(state, NAME, change).await?
            }
        };
        Ok(Structured(told))
    }
}

#[cfg(test)]
mod tests;
