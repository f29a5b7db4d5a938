//! What tests use, those of other crates too.

mod in_memory;

pub use in_memory::InMemory;
