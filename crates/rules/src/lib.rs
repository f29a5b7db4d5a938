//! AI rules: what a project lets agents see, do and send, by paths and contents.
//!
//! Knows the rules file and judges a call, or a result, by it. Reads files that it is told to read and nothing else.
//! A rules file that cannot be used denies every call; no file at all costs a look at the clock.

mod arguments;
mod assigned;
mod call;
mod config;
mod encoded;
mod files;
mod finding;
mod in_force;
mod judge;
mod judgement;
mod names;
mod node;
mod outcome;
mod paths;
mod patterns;
mod read;
mod rule;
mod rules;
mod shapes;
mod strike;
mod token;
mod transform;
mod variables;
mod vocabulary;
mod workspace;

pub use call::Call;
pub use config::{Config, Settings};
pub use files::{Found, Layer, NAMES};
pub use finding::{Approval, Finding, Stop};
pub use judgement::Judgement;
pub use node::{BYTES_MAX, Place, yaml_as_json};
pub use outcome::{OnResult, Words};
pub use read::Problem;
pub use rule::{Action, Category, Mode, Rule};
pub use rules::Rules;
pub use vocabulary::{Holds, Vocabulary};
pub use workspace::Workspace;
