//! Tools for calls that go on after their answer, for clients that know no tasks.

pub(crate) mod result;
pub(crate) mod wait;

use tool_api::{Context, Jobs, ToolError};

/// The caller's jobs; without them there is none of any id.
fn jobs(cx: &Context) -> Result<&dyn Jobs, ToolError> {
    cx.jobs.as_deref().ok_or_else(gone)
}

/// The same words for what is another caller's: nobody learns of it.
fn gone() -> ToolError {
    ToolError::new(
        "job_not_found",
        "no job of this id is kept for this caller: it may have been too long ago; call its tool again",
    )
}
