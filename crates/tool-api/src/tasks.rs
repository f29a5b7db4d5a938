//! The hand of tools that have commands go on behind their answer, and of those that look after them: the background tasks of
//! one caller in one workspace, by small numbers. Each is a job; who keeps them, and for how long, is the gate's affair.

use std::time::Duration;

use futures_util::future::BoxFuture;

use crate::failure::ToolError;
use crate::stdin::Stdin;

/// The tool whose calls become some if they last.
pub const BASH: &str = "Bash";

/// The tool that starts one, whose calls they are.
pub const BACKGROUND: &str = "BackgroundBash";

/// The tool that reads what one has put out.
pub const BACKGROUND_READ: &str = "ReadBgOutput";

/// The tool that lists them.
pub const BACKGROUND_LIST: &str = "ListBgTasks";

/// The tool that ends one.
pub const BACKGROUND_KILL: &str = "KillBgTask";

/// How a task is doing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskSeen {
    /// Which one.
    pub number: u32,
    /// In words: `running`, `exited 0`, `killed`.
    pub status: String,
    /// True if nothing will change any more.
    pub is_over: bool,
    /// How long it runs, or ran.
    pub runtime: Duration,
    /// The arguments that it was started with, as JSON text.
    pub arguments: String,
}

/// What a task has put out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TaskOutput {
    /// In order; what is new, or all that is kept.
    pub text: String,
    /// Where in the whole output it begins, in bytes.
    pub start: u64,
    /// Bytes before it that are not kept here.
    pub missed: u64,
    /// The artifact with the whole, if there is one: once the task is over.
    pub artifact: Option<String>,
}

/// Which part of a task's output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutputPart {
    /// What is new since the last look.
    New,
    /// All that is kept.
    All,
    /// What is kept from this byte of the whole on. It is no look: what was new stays so.
    From(u64),
}

/// What is asked of a task's output.
#[derive(Debug, Clone, Copy)]
pub struct OutputAsked<'a> {
    /// What of it.
    pub part: OutputPart,
    /// Wait for a line with these words, or for the end; without words for the end alone.
    pub until: Option<&'a str>,
    /// But no longer than this.
    pub within: Duration,
}

/// What a task's program is to read.
#[derive(Debug, Clone, Copy)]
pub struct Typed<'a> {
    /// As it is.
    pub text: &'a str,
    /// Whether its input ends behind that.
    pub ends: bool,
}

/// The background tasks of one caller in one workspace.
pub trait Tasks: Send + Sync {
    /// Whether this call runs as one.
    fn is_one(&self) -> bool;

    /// Has the tool of this call, which its caller may make, run as a task with these arguments (JSON text), and gives its number.
    fn start(&self, arguments: String) -> BoxFuture<'_, Result<u32, ToolError>>;

    /// Tells where the program of the task reads that this call runs as; nothing if its stdin has ended.
    fn reads(&self, stdin: Option<Stdin>);

    /// Has the program of one read this, all of it or an error that says how much; nothing if there is none of this number.
    fn write<'a>(&'a self, number: u32, typed: Typed<'a>) -> BoxFuture<'a, Result<Option<()>, ToolError>>;

    /// All that are kept, the newest first.
    fn list(&self) -> BoxFuture<'_, Result<Vec<TaskSeen>, ToolError>>;

    /// What one has put out; nothing if there is none of this number.
    fn read<'a>(
        &'a self,
        number: u32,
        asked: OutputAsked<'a>,
    ) -> BoxFuture<'a, Result<Option<(TaskSeen, TaskOutput)>, ToolError>>;

    /// Ends one with everything that it has started, and tells how it stands then and whether it was over before; nothing if
    /// there is none of this number.
    fn end(&self, number: u32) -> BoxFuture<'_, Result<Option<(TaskSeen, bool)>, ToolError>>;
}
