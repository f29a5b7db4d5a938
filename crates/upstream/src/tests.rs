//! Tests of upstreams as a whole; those of one file stand beside it.

mod allocations;
mod pinned;
