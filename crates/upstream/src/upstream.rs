//! One configured server: what is known of it, and what its tools hold of it. What happens to it is in `actor`.

mod handle;
mod pool;
mod starts;

pub use handle::Upstream;
pub(crate) use pool::{Key, Opened, Pool, Slot, Whose};
pub(crate) use starts::{Attempt, Demand, Phase, Starts, after_failure, attempt};
