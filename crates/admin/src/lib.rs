//! What an operator can do, as typed operations: each has an input, an output and an error that can be sent as JSON. It
//! prints nothing and asks nobody. Who may is said by the one who carries it ([`By`]); what it needs is handed in as
//! values, a *part* for each noun ([`Admin`]).

mod admin;
pub mod approvals;
pub mod artifacts;
pub mod audit_log;
mod by;
pub mod diagnosis;
mod error_chain;
mod fault;
pub mod folders;
pub mod import;
pub mod jobs;
pub mod keys;
mod nearest;
mod operation;
pub mod policy;
pub mod questions;
pub mod receipts;
mod record;
pub mod rules;
mod running;
pub mod secrets;
mod server_report;
pub mod servers;
mod tools;
pub mod trust;

pub use admin::{Admin, Listed, OPERATIONS, reveals};
pub use by::{By, Person};
pub use error_chain::chain;
pub use fault::{Fault, Kind};
pub use nearest::{nearest, unknown};
pub use operation::Operation;
pub use running::{Answered, Health, JobCounts, Refused, Reloaded, Running, Told, Toolcrib};
pub use tools::{KnownTools, ServerTools, Tools};
