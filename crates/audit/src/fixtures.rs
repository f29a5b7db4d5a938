//! What tests of other crates use.

mod failing;

pub use failing::Faults;
