//! The tasks of one caller in one workspace, and what may be done with them.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tool_api::ToolError;

use crate::plain_schema::plain;

/// Most tasks. Done ones make room for new ones, the oldest first.
const TASKS_MAX: usize = 200;

/// Most steps of one task.
const STEPS_MAX: usize = 100;

/// The longest name of a task and text of a step, in characters.
pub(super) const TEXT_CHARS_MAX: usize = 1_000;

/// All of them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(transform = plain)]
pub(super) struct TaskList {
    /// The task that steps are added to where a call names none.
    #[serde(skip_serializing_if = "Option::is_none")]
    current: Option<u32>,
    tasks: Vec<Task>,
}

/// Something to be done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
struct Task {
    id: u32,
    name: String,
    is_done: bool,
    steps: Vec<Step>,
}

/// A part of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
struct Step {
    id: u32,
    text: String,
    is_done: bool,
}

/// The task that something was done to, and what to say of it.
type Done = (u32, String);

impl TaskList {
    /// Begins a task, which is the current one from then on.
    pub(super) fn create(&mut self, name: &str) -> Result<Done, ToolError> {
        let name = text(name)?;
        if self.tasks.len() >= TASKS_MAX {
            let done = self.tasks.iter().position(|task| task.is_done);
            let why = format!("there are {TASKS_MAX} open tasks, which is the most; complete some first");
            self.tasks.remove(done.ok_or_else(|| ToolError::new("too_many_tasks", why))?);
        }
        let id = self.tasks.iter().map(|task| task.id).max().unwrap_or(0) + 1;
        let said = format!("Task {id} is created, and the current one: {name}");
        self.tasks.push(Task { id, name, is_done: false, steps: Vec::new() });
        self.current = Some(id);
        Ok((id, said))
    }

    /// Adds a step to a task.
    pub(super) fn add(&mut self, task: Option<u32>, step: &str) -> Result<Done, ToolError> {
        let step = text(step)?;
        let task = self.task(task)?;
        if task.steps.len() >= STEPS_MAX {
            let why =
                format!("task {} has {STEPS_MAX} steps, which is the most; create another task", task.id);
            return Err(ToolError::new("too_many_steps", why));
        }
        let id = task.steps.last().map_or(0, |step| step.id) + 1;
        let said = format!("Step {id} is added to task {}: {step}", task.id);
        task.steps.push(Step { id, text: step, is_done: false });
        // There is something left to do.
        task.is_done = false;
        Ok((task.id, said))
    }

    /// Completes a step, or a whole task.
    pub(super) fn complete(&mut self, task: Option<u32>, step: Option<u32>) -> Result<Done, ToolError> {
        let Some(step) = step else {
            let why =
                "say what is completed: `step_id` for a step of the current task, `task_id` for a whole task";
            let task = self.task(Some(task.ok_or_else(|| ToolError::new("invalid_arguments", why))?))?;
            task.is_done = true;
            return Ok((task.id, format!("Task {} is done: {}", task.id, task.name)));
        };
        let task = self.task(task)?;
        let id = task.id;
        let found = task.steps.iter_mut().find(|found| found.id == step);
        let gone =
            || ToolError::new("step_not_found", format!("task {id} has no step {step}; list shows them"));
        let found = found.ok_or_else(gone)?;
        found.is_done = true;
        let left = task.steps.iter().filter(|step| !step.is_done).count();
        let said = match left {
            0 => format!(
                "Step {step} of task {id} is done, the last one; complete the task with `task_id` {id}."
            ),
            left => format!("Step {step} of task {id} is done; {left} to go."),
        };
        Ok((id, said))
    }

    /// Makes another task the current one.
    pub(super) fn switch(&mut self, task: u32) -> Result<Done, ToolError> {
        let task = self.task(Some(task))?;
        let (id, said) = (task.id, format!("Task {} is the current one: {}", task.id, task.name));
        self.current = Some(id);
        Ok((id, said))
    }

    /// One task of them.
    pub(super) fn only(&self, id: u32) -> TaskList {
        let task = self.tasks.iter().filter(|task| task.id == id);
        TaskList { current: self.current, tasks: task.cloned().collect() }
    }

    /// The open steps of a task, or of the current one; the open tasks if there is neither.
    pub(super) fn pending(&self, task: Option<u32>) -> Result<TaskList, ToolError> {
        let mut pending = self.clone();
        if let Some(id) = task.or(self.current) {
            self.clone().task(Some(id))?;
            pending.tasks.retain(|task| task.id == id);
        }
        pending.tasks.retain(|task| !task.is_done);
        pending.tasks.iter_mut().for_each(|task| task.steps.retain(|step| !step.is_done));
        Ok(pending)
    }

    fn task(&mut self, id: Option<u32>) -> Result<&mut Task, ToolError> {
        let none = "there is no current task: create one, or say `task_id`";
        let id = id.or(self.current).ok_or_else(|| ToolError::new("task_not_found", none))?;
        let known: Vec<_> = self.tasks.iter().map(|task| task.id.to_string()).collect();
        let found = self.tasks.iter_mut().find(|task| task.id == id);
        found.ok_or_else(|| {
            let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
            ToolError::new("task_not_found", format!("there is no task {id}; there are: {known}"))
        })
    }
}

/// As Markdown.
impl fmt::Display for TaskList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.tasks.is_empty() {
            return f.write_str("No tasks.");
        }
        let mark = |is_done| if is_done { 'x' } else { ' ' };
        for (nth, Task { id, name, is_done, steps }) in self.tasks.iter().enumerate() {
            let line_end = if nth == 0 { "" } else { "\n" };
            write!(f, "{line_end}- [{}] {id}. {name}", mark(*is_done))?;
            f.write_str(if self.current == Some(*id) { " (current)" } else { "" })?;
            steps.iter().try_for_each(|step| {
                write!(f, "\n  - [{}] {}. {}", mark(step.is_done), step.id, step.text)
            })?;
        }
        Ok(())
    }
}

/// On one line, so that the list stays one.
fn text(given: &str) -> Result<String, ToolError> {
    let text = given.split_whitespace().collect::<Vec<_>>().join(" ");
    match text.chars().count() {
        0 => Err(ToolError::new("invalid_arguments", "say in `text` what is to be done")),
        1..=TEXT_CHARS_MAX => Ok(text),
        count => {
            let why = format!("the text has {count} characters, and {TEXT_CHARS_MAX} are the most");
            Err(ToolError::new("invalid_arguments", why))
        }
    }
}
