//! `tools list`: the tools on offer, and what is wrong with the others.

use gate::{BUILT_IN, Definition, Offer};
use serde_json::{Value, json};
use upstream::State;

use super::show::description;
use crate::assemble::Crib;
use crate::commands::caller::caller;
use crate::commands::gated::settled;
use crate::ending::{Ending, Trouble};
use crate::print;
use crate::upstreams::Upstreams;

/// How much of a description the table shows, in characters.
const SUMMARY_CHARS_MAX: usize = 80;

pub(super) async fn run(crib: &Crib, json: bool) -> Result<Ending, Trouble> {
    let offer = settled(crib).await?;
    let caller = caller();
    let seen: Vec<&Definition> = offer
        .tools()
        .iter()
        .filter(|tool| crib.gate.may_see(&caller, tool))
        .map(|tool| tool.definition())
        .collect();
    let servers = servers(&crib.upstreams);
    let left_out = left_out(&offer, &crib.upstreams);
    if json {
        let tools: Vec<Value> = seen.iter().map(|definition| description(definition)).collect();
        let servers: Vec<Value> = servers.iter().map(Server::to_json).collect();
        let left_out: Vec<Value> = left_out.iter().map(LeftOut::to_json).collect();
        print::json(&json!({ "tools": tools, "upstreams": servers, "left_out": left_out }))?;
    } else {
        print::foreign(&table(&seen))?;
        for trouble in troubles(&crib.upstreams) {
            print::remark(&print::harmless(&trouble));
        }
        for one in &left_out {
            print::remark(&print::harmless(&format!(
                "{}: {} is not offered: {}",
                one.source, one.tool, one.why
            )));
        }
    }
    Ok(Ending::Good)
}

fn table(seen: &[&Definition]) -> String {
    let title = ["TOOL", "FROM", "EFFECT", "WHAT IT DOES"].map(str::to_owned).to_vec();
    let row = |definition: &&Definition| {
        vec![
            definition.name.to_string(),
            definition.upstream().unwrap_or(BUILT_IN).to_owned(),
            definition.effect.name().to_owned(),
            summary(&definition.description),
        ]
    };
    print::table(&[title].into_iter().chain(seen.iter().map(row)).collect::<Vec<_>>())
}

/// The first sentence of a description, or as much of it as fits.
fn summary(description: &str) -> String {
    let line = description.split_whitespace().collect::<Vec<_>>().join(" ");
    let sentence = line.split_once(". ").map_or(line.as_str(), |(first, _)| first);
    let sentence = sentence.trim_end_matches('.');
    match sentence.char_indices().nth(SUMMARY_CHARS_MAX) {
        None => sentence.to_owned(),
        Some((end, _)) => format!("{}…", &sentence[..end]),
    }
}

/// A line for each upstream whose tools are not on offer.
pub(crate) fn troubles(upstreams: &Upstreams) -> Vec<String> {
    let bad = servers(upstreams).into_iter().filter(|server| !server.is_good);
    bad.map(|server| format!("{}: {}", server.name, server.state)).collect()
}

/// An upstream and how it is doing.
struct Server {
    name: String,
    state: String,
    tools: usize,
    is_good: bool,
}

impl Server {
    fn to_json(&self) -> Value {
        json!({ "name": self.name, "state": self.state, "tools": self.tools })
    }
}

fn servers(upstreams: &Upstreams) -> Vec<Server> {
    let server = |upstream: std::sync::Arc<upstream::Upstream>| {
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

/// A tool that exists and is not on offer.
struct LeftOut {
    source: String,
    tool: String,
    why: String,
}

impl LeftOut {
    fn to_json(&self) -> Value {
        json!({ "upstream": self.source, "tool": self.tool, "why": self.why })
    }
}

fn left_out(offer: &Offer, upstreams: &Upstreams) -> Vec<LeftOut> {
    let taken = offer.collisions().iter().map(|collision| LeftOut {
        source: collision.source.to_string(),
        tool: collision.name.to_string(),
        why: "another tool has this name; set another `prefix`".to_owned(),
    });
    let withheld = upstreams.iter().flat_map(|upstream| {
        let offer = upstream.offers().borrow().clone();
        let source = upstream.name().to_owned();
        offer.withheld.into_iter().map(move |one| LeftOut {
            source: source.clone(),
            tool: one.name,
            why: one.why,
        })
    });
    taken.chain(withheld).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_is_one_sentence_that_fits() {
        for (description, expected) in [
            ("Reads a file. Text has lines.", "Reads a file"),
            ("Reads a file.", "Reads a file"),
            ("  Reads\n a   file", "Reads a file"),
            ("Version 2.0 of it", "Version 2.0 of it"),
            ("", ""),
        ] {
            assert_eq!(summary(description), expected);
        }
        assert_eq!(summary(&"é".repeat(81)), format!("{}…", "é".repeat(80)));
        assert_eq!(summary(&"é".repeat(80)), "é".repeat(80));
    }
}
