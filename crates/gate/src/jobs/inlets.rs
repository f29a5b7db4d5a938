//! `Inlet`: where the program of a background task reads, if it was started so that it can be told more.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use ::jobs::JobId;
use policy::Scopes;
use serde_json::json;
use tokio::sync::{Mutex, SetOnce};
use tokio::time::timeout;
use tool_api::{Stdin, ToolError, Typed};

/// How long a task that has just been begun may take to start its program: as long as the sandbox does.
const STARTS_MAX: Duration = Duration::from_secs(5);

/// Those of the tasks that run here.
pub(super) type Inlets = HashMap<JobId, Arc<Inlet>>;

/// Where the program of one task reads. Empty before it has started, and nothing in it if its stdin ended then.
#[derive(Default)]
pub(super) struct Inlet(SetOnce<Option<Mutex<Stdin>>>);

impl Inlet {
    /// The program has started.
    pub(super) fn reads(&self, stdin: Option<Stdin>) {
        // Each task starts one.
        let _ = self.0.set(stdin.map(Mutex::new));
    }

    /// Types what is to be read. One call does at a time: what two type at once would come in pieces.
    pub(super) async fn write(&self, number: u32, Typed { text, ends }: Typed<'_>) -> Result<(), ToolError> {
        let stdin = timeout(STARTS_MAX, self.0.wait()).await.ok().and_then(Option::as_ref);
        let stdin = stdin.ok_or_else(|| not_open(number))?;
        let mut stdin = stdin.try_lock().map_err(|_| {
            ToolError::new(
                "stdin_busy",
                format!("another call writes to background task {number}; call again"),
            )
        })?;
        if ends && !stdin.ends_behind(text) {
            let why = "on a tty `eof` ends the input at the beginning of a line alone, so nothing was typed; end the text with `\\n`";
            return Err(ToolError::new("invalid_arguments", why));
        }
        let closed = |_: io::Error| {
            ToolError::new(
                "stdin_closed",
                format!("the stdin of background task {number} is closed: it reads no more"),
            )
        };
        let taken = stdin.write(text.as_bytes()).await.map_err(closed)?;
        let is_whole = taken == text.len() && (!ends || stdin.end().await.map_err(closed)?);
        if is_whole { Ok(()) } else { Err(full(number, taken, text.len())) }
    }
}

/// Tokens of one person may hold different scopes, and a program does what was allowed to whom it was started by.
pub(super) fn may_type(number: u32, started_with: &Scopes, held: &Scopes) -> Result<(), ToolError> {
    if started_with.within(held) == *started_with {
        return Ok(());
    }
    let why = format!(
        "background task {number} was started with scopes that this caller lacks, so nothing was typed; start another"
    );
    Err(ToolError::new("task_has_more_scopes", why))
}

/// Also of a task that another process runs.
pub(super) fn not_open(number: u32) -> ToolError {
    let why = format!(
        "background task {number} reads nothing: it was not started with `stdin`, or not by this process"
    );
    ToolError::new("stdin_closed", why)
}

fn full(number: u32, taken: usize, bytes: usize) -> ToolError {
    let why = format!(
        "background task {number} does not read: there was room for {taken} of {bytes} bytes, which it may read yet; the rest \
         was not written, nor its input ended"
    );
    ToolError::new("stdin_full", why).with_details(json!({ "written_bytes": taken }))
}
