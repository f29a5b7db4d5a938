//! The tools that there are, as operations look at them: by what is remembered of servers, none of which is started.

use std::sync::Arc;

use gate::{Definition, Offer};
use sandbox::Root;
use serde::Serialize;
use upstream::{State, Upstream};

use crate::fault::Fault;
use crate::nearest::unknown;

/// Knows the tools that there are.
pub trait Tools: Send + Sync {
    /// Those that are on offer by what is remembered of servers. Starts none of them; waits for the disk.
    ///
    /// # Errors
    /// Why nobody can say.
    fn known(&self) -> Result<KnownTools, Fault>;
}

/// The tools that there are.
pub struct KnownTools {
    /// They themselves.
    pub offer: Arc<Offer>,
    /// The folder that our own work in, as it is guarded.
    pub files: Root,
    /// The servers that they may be on.
    pub servers: Vec<ServerTools>,
}

/// A server, how it is doing, and how many tools it has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ServerTools {
    name: String,
    state: String,
    tools: usize,
    /// What of it waits for a person, in a few words.
    #[serde(skip_serializing_if = "Option::is_none")]
    held_back: Option<String>,
    #[serde(skip)]
    is_good: bool,
}

impl KnownTools {
    /// What is known of the tool of this name.
    pub(crate) fn definition(&self, name: &str) -> Result<&Definition, Fault> {
        let known = self.offer.tools.iter().map(|tool| tool.definition().name.as_str());
        let troubles = self.servers.iter().filter_map(ServerTools::trouble);
        let found = self.offer.get(name).map(|tool| tool.definition());
        found.ok_or_else(|| unknown("tool", name, known, troubles))
    }
}

impl ServerTools {
    /// Those of this server, as it is doing now.
    pub fn of(upstream: &Upstream) -> ServerTools {
        let offer = upstream.offers().borrow().clone();
        let is_good = match offer.state {
            State::Connected { .. } => true,
            // Its tools are remembered, or it has not been asked for them.
            State::Stopped => offer.definitions.is_some(),
            State::Disabled
            | State::Connecting
            | State::Failed { .. }
            | State::NeedsAuth
            | State::NeedsClientRegistration { .. } => false,
        };
        let (name, mut state) = (upstream.name().to_owned(), offer.state.to_string());
        if offer.state == State::NeedsAuth {
            state.push_str(&format!("; run `toolcrib mcp auth {name}`"));
        }
        ServerTools {
            name,
            state,
            tools: offer.tools.len(),
            held_back: pins::held_in_short(&offer.held),
            is_good,
        }
    }

    /// Whether its tools are known, or it is connected.
    pub fn is_good(&self) -> bool {
        self.is_good
    }

    /// A line, if its tools are not on offer, or not all of them.
    pub fn trouble(&self) -> Option<String> {
        let ServerTools { name, state, held_back, .. } = self;
        let held_back =
            held_back.as_ref().map(|held| format!("{held}; `toolcrib mcp trust {name}` shows more"));
        let state = (!self.is_good).then(|| state.clone());
        let troubles: Vec<_> = state.into_iter().chain(held_back).collect();
        (!troubles.is_empty()).then(|| format!("{name}: {}", troubles.join("; ")))
    }
}
