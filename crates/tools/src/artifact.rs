//! Tools that read artifacts: what was too large to be said. Who may read which is the gate's affair.

mod blocks;
mod opened;
pub(crate) mod read;
pub(crate) mod resource;
pub(crate) mod search;
