//! Amounts as people write them: lengths of time and sizes, each a number with its unit. Whether an amount is sensible is
//! for those to say who use it.

mod size;
mod span;
mod written;

pub use size::{NoSize, Size};
pub use span::{NoSpan, Span};
