//! Says which programs a text for bash starts, or that it cannot tell. Runs nothing and looks at no file: what a program, a
//! script or a name that was given another meaning elsewhere does in turn is not seen.

mod beginning;
mod found;
mod git;
mod matching;
mod names;
mod parse;
mod script;
mod through;
mod unclear;
mod unseen;
mod word;
mod wrapper;

pub use beginning::beginnings;
pub use script::Script;
pub use unclear::Unclear;
