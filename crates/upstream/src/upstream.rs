//! One configured server: what is known of it, and what its tools hold of it. What happens to it is in `actor`.

mod bridged_tasks;
mod followed_task;
mod handle;
mod pool;
mod starts;
mod suspended_tasks;

pub(crate) use bridged_tasks::{Bridged, Input, KEPT_MAX, lock};
#[cfg(test)]
pub(crate) use bridged_tasks::{ENDED_KEPT, TASKS_MAX};
pub(crate) use followed_task::{Followed, params};
pub use handle::Upstream;
pub(crate) use pool::{Key, Opened, Pool, Slot, Whose};
pub(crate) use starts::{Attempt, Demand, Phase, Starts, after_failure, attempt};
pub(crate) use suspended_tasks::Run;
