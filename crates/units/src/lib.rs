//! Lengths of time and sizes as people write them, each a number with its unit. Whether one is sensible is for those to say
//! who use it.

mod size;
mod span;
mod written;

pub use size::Size;
pub use span::Span;
pub use written::NotWritten;
