//! The events of a job as they come, behind the last one that the client has, until it is over: server-sent, or over a
//! WebSocket. Each page is read when the one before was taken: a slow reader holds nothing up.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::{self, Stream, StreamExt};
use gate::Caller;
use gate::jobs::{Jobs, Numbered};
use hyper::StatusCode;
use hyper::header::HeaderMap;
use hyper::upgrade::OnUpgrade;
use serde_json::json;
use wire::http::LAST_EVENT_ID;
use wire::param_headers::HeaderText;

use super::super::answer::{self, Answered};
use super::super::endpoint::Endpoint;
use super::super::events::events as body;
use super::super::head;
use super::super::problem::Problem;
use super::super::query::Query;
use super::jobs::{looked_at_by, of, problem};
use super::{job_socket, streamed};

/// How long a look for further events waits in one go.
const EVENTS_WAIT: Duration = Duration::from_secs(60);

/// How long a stream may say nothing before a comment goes out.
const QUIET_MAX: Duration = Duration::from_secs(15);

/// Streams the events of one job. They end as well once nobody knows the caller any more, or the job is forgotten.
pub(super) async fn stream(
    endpoint: &Arc<Endpoint>,
    caller: Caller,
    (id, query): (&str, Option<&str>),
    headers: &HeaderMap,
    upgrade: Option<OnUpgrade>,
) -> Answered {
    let upgrade = upgrade.filter(|_| job_socket::is_wanted(headers));
    if upgrade.is_none() {
        head::takes_stream(headers)?;
    }
    let after = after(headers, query)?;
    let jobs = of(endpoint)?.clone();
    let job = jobs.get(looked_at_by(&caller), id).await.map_err(problem)?;
    if upgrade.is_none() && job.state.is_final() && after >= job.last_event {
        // A browser opens a stream again whenever one ends, until it hears this (HTML, "Server-sent events").
        return Ok(answer::empty(StatusCode::NO_CONTENT));
    }
    let until_unknown = {
        let (endpoint, caller) = (endpoint.clone(), caller.clone());
        async move { endpoint.until_unknown(&caller).await }
    };
    let pages = pages(jobs, caller.clone(), id.to_owned(), after);
    if let Some(upgrade) = upgrade {
        return job_socket::answer(endpoint, &caller, headers, upgrade, pages, until_unknown);
    }
    let pieces = pages.map(written).take_until(Box::pin(until_unknown));
    Ok(answer::events(body(pieces, QUIET_MAX)))
}

/// The number of the last event that the client has. What a browser says by itself when it opens a stream again counts more than
/// the address, which stays the same.
fn after(headers: &HeaderMap, query: Option<&str>) -> Result<u64, Problem> {
    let bad = || Problem::bad("`Last-Event-ID` must be the number of an event");
    // What is wrong is refused, also where it does not count.
    let asked = Query::read(query, &["after"])?.number("after", 0..=u64::from(u32::MAX))?;
    match head::said(headers, LAST_EVENT_ID) {
        HeaderText::Absent => Ok(asked.unwrap_or(0)),
        HeaderText::Once(number) => number.parse::<u32>().map(u64::from).map_err(|_| bad()),
        HeaderText::Repeated | HeaderText::Unreadable => Err(bad()),
    }
}

/// Events behind a number, some at a time.
fn pages(
    jobs: Arc<Jobs>,
    caller: Caller,
    id: String,
    after: u64,
) -> impl Stream<Item = Vec<Numbered>> + Send + 'static {
    stream::unfold((jobs, caller, id, Some(after)), |(jobs, caller, id, after)| async move {
        let mut after = after?;
        loop {
            let page = jobs.events(looked_at_by(&caller), &id, after, EVENTS_WAIT).await.ok()?;
            after = page.last;
            let next = (!page.is_last).then_some(after);
            match (page.events.is_empty(), next) {
                (true, None) => return None,
                (true, Some(_)) => {}
                (false, next) => return Some((page.events, (jobs, caller, id, next))),
            }
        }
    })
}

fn written(page: Vec<Numbered>) -> Bytes {
    let event = |event: &Numbered| {
        let name = json!(event.event)["event"].as_str().unwrap_or("event").to_owned();
        streamed::event(&name, Some(event.number), json!(event).to_string().as_bytes())
    };
    page.iter().map(event).collect::<Vec<_>>().concat().into()
}
