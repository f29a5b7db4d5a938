//! The messages about tools: `tools/list`, `tools/call`, progress, and their parts.

mod call;
mod entry;
mod list;
mod progress;
mod result;

pub use crate::paging::list_cursor;
pub use call::{CallParams, call_params, write_call};
pub use entry::{Hints, ToolEntry, running_as_task};
pub use list::{ListedTool, listed_tool, read_list_result, renamed};
pub use progress::write_progress;
pub use result::{Block, is_error, write_call_result};
