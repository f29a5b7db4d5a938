//! `resources`: what other servers have to read, and reading it, through the gate as the local user.

use bytes::Bytes;
use daemon::assemble::Crib;
use gate::{Action, Call, Failure, Offer, Payload, Refusal, Shown, Target};
use serde_json::{Value, json};
use terminal::{Ending, Trouble, print};

use super::caller::caller;
use super::gated::{binary, carry, failed, settled, with_crib};
use super::troubles::{tell_troubles, unknown};
use crate::cli::{Cli, Resources};

/// What is said of a call that wants to ask somebody, by all commands that cannot.
pub(super) const ASKS: &str = "the server wants to ask something before it answers, which a command cannot pass on; use an \
                               MCP client";

/// What programs are told of a URI that nobody has.
const UNKNOWN: &str = "unknown_resource";

pub(super) fn run(cli: &Cli, command: Resources) -> Result<Ending, Trouble> {
    with_crib(cli, async |crib| match &command {
        Resources::List => list(crib, cli.json).await,
        Resources::Read { uri } => read(crib, uri, cli.json).await,
    })
}

async fn list(crib: &Crib, json: bool) -> Result<Ending, Trouble> {
    let offer = settled(crib).await?;
    let resources = visible(crib, &offer, &offer.resources, Action::ReadResource);
    let templates = visible(crib, &offer, &offer.templates, Action::ReadResource);
    let all = |listed: &[&Shown]| listed.iter().map(|one| described(one)).collect::<Vec<_>>();
    let facts = json!({ "resources": all(&resources), "templates": all(&templates) });
    print::found(json, &facts, &table(&resources, &templates))?;
    if !json {
        tell_troubles(&crib.upstreams);
    }
    Ok(Ending::Good)
}

/// Those that the caller may use so.
pub(super) fn visible<'o>(crib: &Crib, offer: &Offer, all: &'o [Shown], action: Action) -> Vec<&'o Shown> {
    let caller = caller();
    let may_use = |one: &&Shown| {
        offer.source(&one.source).is_some_and(|source| crib.gate.may_use(&caller, source, action))
    };
    all.iter().filter(may_use).collect()
}

/// What its server says of it, and whose it is.
pub(super) fn described(one: &Shown) -> Value {
    let mut object = listing(one);
    object["from"] = (*one.source).into();
    object
}

pub(super) fn listing(one: &Shown) -> Value {
    serde_json::from_slice(&one.item.listing).ok().filter(Value::is_object).unwrap_or_else(|| json!({}))
}

fn table(resources: &[&Shown], templates: &[&Shown]) -> String {
    let row = |one: &&Shown, is_template: bool| {
        let listing = listing(one);
        let word = |key: &str| listing[key].as_str().unwrap_or_default().to_owned();
        let mut what = if word("title").is_empty() { word("name") } else { word("title") };
        if is_template {
            what = format!("{what} (fill in the parts in braces)");
        }
        vec![one.item.key.to_string(), one.source.to_string(), word("mimeType"), what]
    };
    let resources = resources.iter().map(|one| row(one, false));
    let templates = templates.iter().map(|one| row(one, true));
    print::Table::titled(["URI", "FROM", "TYPE", "WHAT IT IS"], resources.chain(templates)).to_string()
}

async fn read(crib: &Crib, uri: &str, json: bool) -> Result<Ending, Trouble> {
    let target = Target::Resource { action: Action::ReadResource, uri };
    let arguments = Bytes::from(json!({ "uri": uri }).to_string());
    let call = || Call { target, ..Call::tool(uri, Some(arguments.clone())) };
    let outcome = match carry(crib, call).await? {
        Ok(outcome) => outcome,
        Err(Failure::Refused(Refusal::UnknownResource(_))) => return Err(no_resource(crib, uri)),
        // The only server that has resources was asked for it, and it cannot be its own.
        Err(failure) if failure.code() == UNKNOWN => return Err(no_resource(crib, uri)),
        Err(failure) => return failed(crib, &failure, json),
    };
    let Payload::Relayed { result, .. } = &outcome.payload else {
        return Err(Trouble::Failed(ASKS.to_owned()));
    };
    if json {
        print::line(&String::from_utf8_lossy(result))?;
        return Ok(Ending::Good);
    }
    let result: Value = serde_json::from_slice(result).unwrap_or_default();
    for content in result["contents"].as_array().into_iter().flatten() {
        match content["text"].as_str() {
            // As it is, since it may go into a file.
            Some(text) => print::line(text)?,
            // Not among the text.
            None => print::remark(&print::harmless(&format!("{}; --json has it", binary(content)))),
        }
    }
    Ok(Ending::Good)
}

fn no_resource(crib: &Crib, uri: &str) -> Trouble {
    let offer = crib.gate.catalog().offer();
    let known = offer.resources.iter().map(|one| &*one.item.key);
    unknown(&crib.upstreams, "resource", uri, known)
}
