//! How the servers are doing, for the commands that list what they offer or look for it in vain.

use std::sync::Arc;

use daemon::assemble::Crib;
use daemon::upstreams::Upstreams;
use serde::Serialize;
use terminal::{Trouble, print};
use upstream::{State, Upstream};

use admin::nearest;

/// A server and how it is doing.
#[derive(Serialize)]
pub(super) struct Server {
    name: String,
    state: String,
    tools: usize,
    #[serde(skip)]
    is_good: bool,
}

pub(super) fn servers(upstreams: &Upstreams) -> Vec<Server> {
    let server = |upstream: Arc<Upstream>| {
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
        Server { name, state, tools: offer.tools.len(), is_good }
    };
    upstreams.iter().map(server).collect()
}

/// A line for each server whose tools are not on offer.
fn troubles(upstreams: &Upstreams) -> impl Iterator<Item = String> {
    let bad = servers(upstreams).into_iter().filter(|server| !server.is_good);
    bad.map(|server| format!("{}: {}", server.name, server.state))
}

pub(super) fn tell_troubles(upstreams: &Upstreams) {
    troubles(upstreams).for_each(|trouble| print::remark(&trouble));
}

/// What a person may have meant by the name of a tool, prompt or resource (`what`) that there is none of, and which
/// servers could not say what they have.
pub(super) fn unknown<'a>(
    upstreams: &Upstreams,
    (what, code): (&str, &'static str),
    name: &str,
    known: impl IntoIterator<Item = &'a str>,
) -> Trouble {
    let said = match nearest(name, known) {
        Some(near) => format!("there is no {what} `{name}`; did you mean `{near}`?"),
        None => format!("there is no {what} `{name}`; `toolcrib {what}s list` names those that are listed"),
    };
    let lines: Vec<String> = std::iter::once(said).chain(troubles(upstreams)).collect();
    Trouble::Unknown { code, said: print::harmless(&lines.join("\n")) }
}

/// A tool that there is not.
pub(super) fn unknown_tool(crib: &Crib, name: &str) -> Trouble {
    let offer = crib.gate.catalog().offer();
    let known = offer.tools.iter().map(|tool| tool.definition().name.as_str());
    unknown(&crib.upstreams, ("tool", "unknown_tool"), name, known)
}
