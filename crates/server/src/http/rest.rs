//! Plain requests with JSON, beside the MCP endpoint and behind the same checks of who knocks: tools, calls, records, rules.
//! `docs/openapi.json` describes all of it.
//!
//! The first part of a path behind `/mcp/` is the name of a route, or else that of a workspace, whose routes follow. So no
//! workspace has the name of a route.

mod audit;
mod auditors;
mod health;
mod invoke;
mod invoked;
mod job_events;
mod job_socket;
mod jobs;
mod operations;
mod rules;
mod streamed;
mod tools;
mod validate;
mod verdict;

use gate::{Caller, Failure};
use hyper::body::Incoming;
use hyper::{Method, Request, StatusCode};

use super::answer::{self, Answered};
use super::door::Door;
use super::openapi::OPENAPI;
use super::problem::Problem;
use super::query::Query;
use super::{head, mistyped};
use crate::config::MCP_PATH;
use crate::workspaces::check_workspace_name;
use jobs::Act;

/// The methods of what is only read.
const READS: &str = "GET, HEAD, OPTIONS";

/// What stands at an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Route<'p> {
    Audit,
    Health,
    Invoke,
    Jobs,
    /// One job, by its id.
    Job(&'p str),
    JobAct(&'p str, Act),
    JobInput(&'p str),
    JobEvents(&'p str),
    OpenApi,
    RulesTest,
    Tools,
    /// One tool, by its name.
    Tool(&'p str),
    /// Where a call is checked; and the tool of that name, which is asked for by another method.
    Validate,
}

/// A request of ours, by its path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place<'p> {
    /// The name of the workspace that it is for; nothing for the default one.
    pub(super) workspace: Option<&'p str>,
    route: Route<'p>,
}

impl<'p> Route<'p> {
    fn of(path: &'p str) -> Option<Route<'p>> {
        Some(match path {
            "audit" => Route::Audit,
            "health" => Route::Health,
            "invoke" => Route::Invoke,
            "jobs" => Route::Jobs,
            "openapi.json" => Route::OpenApi,
            "rules/test" => Route::RulesTest,
            "tools" => Route::Tools,
            "tools/validate" => Route::Validate,
            _ => match path.split('/').collect::<Vec<_>>()[..] {
                ["tools", name] if !name.is_empty() => Route::Tool(name),
                ["jobs", id] if !id.is_empty() => Route::Job(id),
                ["jobs", id, "events"] if !id.is_empty() => Route::JobEvents(id),
                ["jobs", id, "input"] if !id.is_empty() => Route::JobInput(id),
                ["jobs", id, act] if !id.is_empty() => Route::JobAct(id, Act::parse(act)?),
                _ => return None,
            },
        })
    }

    /// Whether each workspace has it. The audit log, and what is described, are the same for all.
    fn is_of_workspaces(self) -> bool {
        match self {
            Route::Health | Route::Invoke | Route::Tools | Route::Tool(_) | Route::Validate => true,
            Route::Jobs | Route::Job(_) | Route::JobAct(..) | Route::JobInput(_) => true,
            Route::JobEvents(_) => true,
            Route::Audit | Route::OpenApi | Route::RulesTest => false,
        }
    }

    fn methods(self) -> &'static str {
        match self {
            Route::Audit | Route::Health | Route::OpenApi | Route::Tools | Route::Tool(_) => READS,
            Route::Jobs | Route::Job(_) | Route::JobEvents(_) => READS,
            Route::Invoke | Route::RulesTest | Route::JobAct(..) | Route::JobInput(_) => "POST, OPTIONS",
            Route::Validate => "GET, HEAD, POST, OPTIONS",
        }
    }

    /// Whether it has parameters, which it reads by itself.
    fn has_parameters(self) -> bool {
        match self {
            Route::Audit | Route::Jobs | Route::JobEvents(_) | Route::Tools => true,
            Route::Health | Route::OpenApi | Route::Tool(_) | Route::Validate | Route::Invoke => false,
            Route::RulesTest | Route::Job(_) | Route::JobAct(..) | Route::JobInput(_) => false,
        }
    }
}

/// How a failure of a call is told outside of an invocation.
pub(super) fn problem(failure: &Failure) -> Problem {
    verdict::of_failure(failure).problem()
}

/// What a path stands for; nothing if it is none of ours.
pub(super) fn place(path: &str) -> Option<Place<'_>> {
    let path = path.strip_prefix(MCP_PATH)?.strip_prefix('/')?;
    if let Some(route) = Route::of(path) {
        return Some(Place { workspace: None, route });
    }
    let (name, path) = path.split_once('/').filter(|(name, _)| check_workspace_name(name).is_ok())?;
    let route = Route::of(path).filter(|route| route.is_of_workspaces())?;
    Some(Place { workspace: Some(name), route })
}

/// The methods of a path that is one of ours.
pub(super) fn methods(path: &str) -> Option<&'static str> {
    place(path).map(|place| place.route.methods())
}

/// Answers somebody whom we know.
pub(super) async fn handle(door: &Door, caller: Caller, request: Request<Incoming>) -> Answered {
    let (mut head, body) = request.into_parts();
    let Some(Place { workspace, route }) = place(head.uri.path()) else {
        return Ok(mistyped::nothing_at(head.uri.path()));
    };
    let endpoint = &match workspace {
        Some(name) => door.named.endpoint(&door.endpoint, name)?,
        None => door.endpoint.clone(),
    };
    let query = head.uri.query();
    // What is done with a job wants no body, and so no form of one.
    let has_body = route.methods().contains("POST") && !matches!(route, Route::JobAct(..));
    if head.method == Method::POST && has_body {
        head::content_is_json(&head.headers)?;
    }
    head::takes_json_or_events(&head.headers)?;
    if !route.has_parameters() {
        Query::read(query, &[])?;
    }
    // Without its body, which the connection leaves away.
    let is_head = head.method == Method::HEAD;
    let method = if is_head { &Method::GET } else { &head.method };
    match (route, method) {
        (Route::Audit, &Method::GET) => audit::list(door, &caller, query).await,
        (Route::Health, &Method::GET) => Ok(health::report(door, endpoint, &caller)),
        (Route::Invoke, &Method::POST) => invoke::handle(endpoint, caller, body, &head.headers).await,
        (Route::Jobs, &Method::GET) => jobs::list(endpoint, &caller, query, workspace.is_some()).await,
        (Route::Job(id), &Method::GET) => jobs::show(endpoint, &caller, id).await,
        (Route::JobAct(id, act), &Method::POST) => jobs::act(endpoint, &caller, (id, act), body).await,
        (Route::JobInput(id), &Method::POST) => jobs::answer(endpoint, &caller, id, body).await,
        (Route::JobEvents(id), &Method::GET) => {
            let upgrade = head.extensions.remove().filter(|_| !is_head);
            job_events::stream(endpoint, caller, (id, query), &head.headers, upgrade).await
        }
        (Route::OpenApi, &Method::GET) => Ok(answer::json(StatusCode::OK, OPENAPI.into())),
        (Route::RulesTest, &Method::POST) => rules::test(door, endpoint, &caller, body).await,
        (Route::Tools, &Method::GET) => tools::list(endpoint, &caller, query).await,
        (Route::Tool(name), &Method::GET) => tools::show(endpoint, &caller, name).await,
        (Route::Validate, &Method::GET) => tools::show(endpoint, &caller, "validate").await,
        (Route::Validate, &Method::POST) => validate::handle(door, endpoint, &caller, body).await,
        (route, method) => Ok(mistyped::not_allowed_at(head.uri.path(), method, route.methods())),
    }
}

#[cfg(test)]
mod tests;
