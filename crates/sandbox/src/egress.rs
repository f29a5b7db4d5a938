//! The only way out to the network for a confined program: which hosts it may reach.

mod address;
mod host;
mod rules;

pub use address::Kind;
pub use host::{Destination, HOST_BYTES_MAX, Host, HostError};
pub use rules::{Grant, HostRuleError, HostRules, PORTS_MAX, PROXY_PORT, RULES_MAX};
