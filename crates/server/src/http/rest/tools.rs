//! The tools that a caller may see, as programs read them.

use gate::{Caller, Offered};
use hyper::StatusCode;
use serde_json::{Value, json};

use super::super::answer::{self, Answer, Answered};
use super::super::endpoint::Endpoint;
use super::super::problem::Problem;
use super::super::query::{Query, bad_cursor};
use super::verdict;
use crate::tool_description::tool_description;

/// Most tools in one page: their schemas are read where requests are answered.
const PAGE_MAX: u64 = 200;

/// Tools in a page of which nobody says how long it is to be.
const PAGE: u64 = 100;

/// Lists them, in the order of MCP's own list.
pub(super) async fn list(endpoint: &Endpoint, caller: &Caller, query: Option<&str>) -> Answered {
    let query = Query::read(query, &["limit", "cursor"])?;
    let limit = query.number("limit", 1..=PAGE_MAX)?.unwrap_or(PAGE);
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let gate = endpoint.server.gate();
    let offer = gate.catalog().offer();
    let seen: Vec<&Offered> =
        offer.tools.iter().filter(|tool| gate.may_see(caller, tool)).map(|tool| &**tool).collect();
    let rest = match query.text("cursor") {
        None => &seen[..],
        Some(cursor) => behind(&seen, cursor)?,
    };
    let shown = &rest[..rest.len().min(limit)];
    let next = shown.last().filter(|_| rest.len() > limit).map(|last| name(last));
    let tools: Vec<Value> = shown.iter().map(|tool| tool_description(tool.definition())).collect();
    // Of servers that have not reported yet there are no tools.
    Ok(clean(endpoint, &json!({ "tools": tools, "complete": offer.is_settled, "next_cursor": next })))
}

/// The tools behind the last one of a page.
fn behind<'s, 'o>(seen: &'s [&'o Offered], cursor: &str) -> Result<&'s [&'o Offered], Problem> {
    let place = seen.iter().position(|tool| name(tool) == cursor);
    place.map(|place| &seen[place + 1..]).ok_or_else(bad_cursor)
}

fn name(tool: &Offered) -> &str {
    tool.definition().name.as_str()
}

/// Shows one.
pub(super) async fn show(endpoint: &Endpoint, caller: &Caller, name: &str) -> Answered {
    let found = endpoint.server.gate().find(caller, name).await;
    let found = found.map_err(|refusal| verdict::of_failure(&refusal.into()).problem())?;
    Ok(clean(endpoint, &tool_description(found.definition())))
}

/// What servers say of their tools leaves without secrets.
fn clean(endpoint: &Endpoint, told: &Value) -> Answer {
    let text = told.to_string().into_bytes();
    let struck = endpoint.server.gate().redactor().json(&text).map(|struck| struck.bytes);
    answer::whole(StatusCode::OK, wire::http::JSON, struck.unwrap_or_else(|| text.into()))
}
