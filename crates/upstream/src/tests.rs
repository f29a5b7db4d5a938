//! What a whole call costs.

mod allocations;
