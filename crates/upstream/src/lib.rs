//! Tools that live elsewhere, in other MCP servers, made to look like ours.
//!
//! One `Upstream` is one configured server: started or dialled when it is needed, shared by all callers,
//! started again after it died. Who may call its tools, how long a call may take and what is recorded is
//! left to the gate; this crate believes nothing a server says of itself where that would loosen a rule.

mod actor;
mod answer;
mod backoff;
mod breaker;
mod catalogue;
mod clean;
mod clock;
mod closed;
mod config;
mod connection;
mod draft;
mod error;
mod fault;
mod features;
mod habits;
mod handshake;
mod kind;
mod listing;
mod lists;
mod names;
mod naming;
mod offer;
mod profiles;
mod refusals;
mod remote_action;
mod remote_skill;
mod remote_tool;
mod renewal;
mod round;
mod settings;
mod signer;
mod slots;
mod spelling;
mod status;
mod tasks;
#[cfg(test)]
mod tests;
mod tool_filter;
mod trace;
mod upstream;
mod uri_map;
mod vocabulary;
mod watch;
mod world;

pub use actor::END_TIMEOUT;
pub use config::{
    Config, Destructive, Enabled, GrantKind, Isolation, Network, NotFollowed, Oauth, OauthTable,
    ProviderTable, Reference, Restart, SandboxProfile, SandboxTable, Timeout, Tool, Transport, Trust, Value,
};
pub use connection::SandboxReport;
pub use error::{ConnectError, NotStarted};
pub use fault::Fault;
pub use listing::{ENTRIES_MAX, LIST_BYTES_MAX, PAGES_MAX};
pub use offer::{Offer, State, Withheld};
pub use refusals::SandboxRefusal;
pub use remote_tool::SCOPE;
pub use settings::{
    CALL_TIMEOUT_MAX, CALL_TIMEOUT_MIN, Confinement, LIST_TIMEOUT, START_TIMEOUT, ServerSandbox, Settings,
    host_rules, references, relative_words,
};
pub use status::{LISTS_GOOD_FOR, Report, SandboxState, Status};
pub use tool_filter::Globs;
pub use trace::{Obstacle, Trace, Traced};
pub use upstream::Upstream;
pub use vocabulary::redaction_vocabulary;
pub use watch::ServerWatch;
pub use world::World;
