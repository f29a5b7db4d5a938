//! A sum that is right, and a test that is not.

mod sum;

pub use sum::add;
