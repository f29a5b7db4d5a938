mod allocations;
mod pinned;
