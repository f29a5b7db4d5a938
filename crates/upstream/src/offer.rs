//! What an upstream has on offer at a moment, and how it is doing.

use pins::HeldBack;

use std::fmt;
use std::sync::Arc;

use serde::Serialize;
use tool_api::{AnyTool, Features};
use wire::Revision;

use crate::lists::Lists;

/// A picture of an upstream; a new one replaces it when something changes.
#[derive(Clone, Default)]
pub struct Offer {
    /// How it is doing.
    pub state: State,
    /// Its tools. They stay on offer while it is down, since the next call starts it again.
    pub tools: Vec<Arc<dyn AnyTool>>,
    /// Everything that it offers beside tools.
    pub features: Features,
    /// What it has that cannot be offered, whoever accepts it.
    pub withheld: Vec<Withheld>,
    /// What is not offered until a person accepts it.
    pub held: Vec<HeldBack>,
    /// How many of its tools its table leaves out, by `include` and `exclude`.
    pub excluded: usize,
    /// What its table says about tools that it does not have, most likely a slip: sentences that begin with the key.
    pub mistakes: Vec<String>,
    /// Everything that it lists and says of itself as a JSON object, its entries byte for byte as they came, to
    /// be remembered for `Upstream::offer_cached`. Another text means another offer.
    pub definitions: Option<Arc<str>>,
    /// What it was made from, if that was read in this run.
    pub(crate) lists: Option<Arc<Lists>>,
    /// When what it was made from was read, in milliseconds since 1970.
    pub(crate) fetched_at_ms: Option<i64>,
    /// How long its lists stay good, in milliseconds since they came; nothing if it is of a revision that does not say it.
    pub ttl_ms: Option<u64>,
    /// False if this is remembered from an earlier run and has not been seen in this one.
    pub fresh: bool,
}

/// Something that cannot be offered, and the reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Withheld {
    /// What it is: "tool", "prompt", "resource" or "resource template".
    pub kind: &'static str,
    /// Its own name or URI, or a few words if it has none.
    pub name: String,
    /// Why not.
    pub why: String,
}

/// How an upstream is doing. Prints for people.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum State {
    /// Its table says `enabled = false`.
    Disabled,
    /// Not running; the next call starts it.
    #[default]
    Stopped,
    /// Being started or dialled.
    Connecting,
    /// Ready.
    Connected {
        /// The protocol revision it speaks with us.
        #[serde(skip)]
        revision: Revision,
        /// Its own name and version, as far as it says them.
        #[serde(skip)]
        server: String,
    },
    /// It wants us to sign in, and a person has to do that: `toolcrib mcp auth NAME`.
    NeedsAuth,
    /// It wants us to sign in, and registers no clients by itself.
    NeedsClientRegistration {
        /// What to do about it.
        error: String,
    },
    /// Could not be started, or stopped by itself; the next call tries again.
    Failed {
        /// What went wrong.
        error: String,
    },
}

impl State {
    /// Its name for programs.
    pub fn word(&self) -> &'static str {
        match self {
            State::Disabled => "disabled",
            State::Stopped => "stopped",
            State::Connecting => "connecting",
            State::Connected { .. } => "connected",
            State::NeedsAuth => "needs_auth",
            State::NeedsClientRegistration { .. } => "needs_client_registration",
            State::Failed { .. } => "failed",
        }
    }

    /// What went wrong, in the states that have such.
    pub fn error(&self) -> Option<&str> {
        match self {
            State::NeedsClientRegistration { error } | State::Failed { error } => Some(error),
            State::Disabled
            | State::Stopped
            | State::Connecting
            | State::Connected { .. }
            | State::NeedsAuth => None,
        }
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            State::Disabled => f.write_str("disabled"),
            State::Stopped => f.write_str("stopped (starts on demand)"),
            State::Connecting => f.write_str("connecting"),
            State::Connected { revision, server } if server.is_empty() => {
                write!(f, "connected ({})", revision.name())
            }
            State::Connected { revision, server } => write!(f, "connected to {server} ({})", revision.name()),
            State::NeedsAuth => f.write_str("needs you to sign in"),
            State::NeedsClientRegistration { error } => write!(f, "needs a client registration: {error}"),
            State::Failed { error } => write!(f, "failed: {error}"),
        }
    }
}

/// Names the tools, since they themselves cannot be printed.
impl fmt::Debug for Offer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tools: Vec<_> = self.tools.iter().map(|tool| &tool.definition().name).collect();
        f.debug_struct("Offer")
            .field("state", &self.state)
            .field("tools", &tools)
            .field("features", &self.features)
            .field("withheld", &self.withheld)
            .field("held", &self.held)
            .field("fresh", &self.fresh)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_reads_well() {
        let connected =
            |server: &str| State::Connected { revision: Revision::LATEST_LEGACY, server: server.to_owned() };
        assert_eq!(connected("everything 2.0").to_string(), "connected to everything 2.0 (2025-11-25)");
        assert_eq!(connected("").to_string(), "connected (2025-11-25)");
        assert_eq!(State::Failed { error: "gone".to_owned() }.to_string(), "failed: gone");
    }
}
