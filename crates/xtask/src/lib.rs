//! The developer commands: `cargo xtask COMMAND`. What runs here never ships.
//!
//! The list of them is in `commands.rs`; each has a file of its own. The checks themselves are cargo's, the
//! program's and the end-to-end cases': this crate calls them in order, with what they need in place.

#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a developer command starts processes, edits the checkout and speaks to a terminal"
)]

mod bench;
pub mod checkout;
mod commands;
mod conformance;
mod deny;
mod docs;
mod e2e;
mod fuzz;
pub mod install;
mod logs;
mod long;
mod mutants;
mod package;
pub mod program;
mod quick;
mod sandbox;
mod scripts;
pub mod step;
mod test;
mod tidy;
mod toolchain;
mod watched;

pub use commands::run;
