//! Tools that live elsewhere, in other MCP servers, made to look like ours.
//!
//! One `Upstream` is one configured server: started or dialled when it is needed, shared by all callers,
//! started again after it died. Who may call its tools, how long a call may take and what is recorded is
//! left to the gate; this crate believes nothing a server says of itself where that would loosen a rule.

mod answer;
mod backoff;
mod catalogue;
mod clean;
mod closed;
mod config;
mod connection;
mod error;
mod features;
mod handshake;
mod idle;
mod leaving;
mod legacy_task;
mod listing;
mod lists;
mod naming;
mod offer;
mod pool;
mod profiles;
mod publish;
mod remote_action;
mod remote_extension;
mod remote_tool;
mod round;
mod settings;
mod shape;
mod signer;
mod spelling;
mod start;
mod status;
mod stay;
mod tend;
mod trace;
pub mod trust;
mod turns;
mod upstream;
mod uri_map;
mod vocabulary;

pub use config::{
    Config, GrantKind, Isolation, Oauth, OauthTable, ProviderTable, Reference, Restart, SigningAlgorithm,
    Timeout, Tool, Transport, Trust, Value,
};
pub use error::{ConnectError, NotStarted};
pub use listing::{ENTRIES_MAX, LIST_BYTES_MAX, PAGES_MAX};
pub use offer::{Offer, State, Withheld};
pub use remote_tool::SCOPE;
pub use settings::{CALL_TIMEOUT_MAX, CALL_TIMEOUT_MIN, NotFollowed, Settings, references, relative_words};
pub use start::{LIST_TIMEOUT, START_TIMEOUT};
pub use status::{LISTS_GOOD_FOR, Report, Status};
pub use trace::{Obstacle, Trace, Traced};
pub use upstream::{END_TIMEOUT, Upstream, World};
pub use vocabulary::redaction_vocabulary;
