//! Work that outlives its request: taken once, ended once.
//!
//! What a job is, which states it goes through, what may happen to it and in which order jobs begin. Who runs them is the
//! gate's affair, and where they are kept the store's.

mod event;
mod id;
mod job;
mod limits;
mod of_caller;
mod queue;
mod retry;
mod state;

pub use event::{Event, Numbered};
pub use id::JobId;
pub use job::{BadJob, Job, Progress};
pub use limits::*;
pub use queue::{Limits, Queue, Waiting};
pub use retry::{RETRIES_MAX, back_off};
pub use state::State;
