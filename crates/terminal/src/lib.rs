//! What the program says to whoever started it, and hears from them: results and remarks, the log, signals, exit codes,
//! and what is typed unseen.

pub mod bar;
mod ending;
pub mod log;
pub mod open_files;
pub mod paint;
pub mod print;
pub mod runtime;
pub mod signals;
pub mod times;
pub mod unseen;

pub use ending::{Ending, Trouble};
