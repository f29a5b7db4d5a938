//! AI rules: what a project lets agents see, do and send, by paths and contents.
//!
//! Knows the rules file and judges a call, or a result, by it. Reads files that it is told to read and nothing else.
//! A rules file that cannot be used denies every call; no file at all costs a look at the clock.

mod arguments;
mod config;
mod encoded;
mod files;
mod in_force;
mod judge;
mod names;
mod node;
mod outcome;
mod paths;
mod patterns;
mod read;
mod rule;
mod shapes;
mod strike;
mod token;
mod transform;
mod variables;
mod workspace;

pub use config::{Config, Settings};
pub use files::{Found, Layer, NAMES};
pub use in_force::Rules;
pub use judge::{Approval, Call, Finding, Judgement, Stop};
pub use node::{BYTES_MAX, Place};
pub use outcome::{OnResult, Words};
pub use read::Problem;
pub use rule::{Action, Category, Mode, Rule};
pub use workspace::Workspace;
