//! `tools list`: the tools on offer, and what is wrong with the others.

use daemon::assemble::Crib;
use daemon::upstreams::Upstreams;
use gate::{DECLARED, Definition, Offer};
use serde::Serialize;
use serde_json::{Value, json};
use server::{tool_description, tool_owner};
use terminal::{Ending, Trouble, print};

use crate::commands::caller::caller;
use crate::commands::gated::settled;
use crate::commands::troubles::{servers, tell_troubles};

/// How much of a description the table shows, in characters.
const SUMMARY_CHARS_MAX: usize = 80;

pub(super) async fn run(crib: &Crib, json: bool) -> Result<Ending, Trouble> {
    let offer = settled(crib).await?;
    let caller = caller();
    let seen: Vec<&Definition> = offer
        .tools
        .iter()
        .filter(|tool| crib.gate.may_see(&caller, tool))
        .map(|tool| tool.definition())
        .collect();
    let left_out = left_out(&offer, &crib.upstreams);
    let tools: Vec<Value> = seen.iter().map(|definition| tool_description(definition)).collect();
    let manifests = crib.declared.problems();
    let upstreams = servers(&crib.upstreams);
    let facts =
        json!({ "tools": tools, "upstreams": upstreams, "left_out": left_out, "manifests": manifests });
    let words =
        print::Table::titled(["TOOL", "FROM", "EFFECT", "WHAT IT DOES"], seen.iter().map(|one| row(one)));
    print::found(json, &facts, &words)?;
    if !json {
        tell_troubles(&crib.upstreams);
        manifests.iter().for_each(|why| print::remark(why));
        for LeftOut { upstream, tool, why } in &left_out {
            print::remark(&format!("{upstream}: {tool} is not offered: {why}"));
        }
    }
    Ok(Ending::Good)
}

fn row(definition: &Definition) -> Vec<String> {
    vec![
        definition.name.to_string(),
        tool_owner(definition).to_owned(),
        definition.effect.name().to_owned(),
        summary(&definition.description),
    ]
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

/// A tool that exists and is not on offer.
#[derive(Serialize)]
struct LeftOut {
    upstream: String,
    tool: String,
    why: String,
}

fn left_out(offer: &Offer, upstreams: &Upstreams) -> Vec<LeftOut> {
    let taken = offer.collisions.iter().map(|collision| LeftOut {
        upstream: collision.source.to_string(),
        tool: collision.name.to_string(),
        why: match &*collision.source == DECLARED {
            true => "another tool has this name; choose another `id`".to_owned(),
            false => "another tool has this name; set another `prefix`".to_owned(),
        },
    });
    let withheld = upstreams.iter().flat_map(|upstream| {
        let withheld = upstream.offers().borrow().withheld.clone();
        let name = upstream.name().to_owned();
        withheld.into_iter().map(move |one| LeftOut { upstream: name.clone(), tool: one.name, why: one.why })
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
