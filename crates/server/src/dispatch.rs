//! From a message to its answer: one list of methods for each era.
//!
//! Which era a request belongs to is said by the request itself: a modern one (2026-07-28) names its revision in
//! `_meta`. So both may come over one connection, and neither changes how the other is answered.

mod calls;
mod job_wish;
mod legacy;
mod list;
mod listen;
mod request;
mod tasks;
mod welcome;

use std::sync::Arc;

use futures_util::future::join_all;
use tracing::debug;
use wire::message::{Rejected, Text};
use wire::{Id, Message, WireError, meta, write};

use crate::Server;
use crate::list_kind::ListKind;
use crate::outgoing::{Later, Now, OpenOutbox, Reply, invalid_request};
use crate::session::Session;
use request::Request;
pub(crate) use request::without_secrets;
use tasks::Asks;

/// Acts on one message. An answer that needs no waiting is appended to `out`; others come later. A notification
/// gives neither.
pub(crate) fn dispatch(
    server: &Arc<Server>,
    session: &Arc<Session>,
    message: Result<Message, Rejected>,
    outbox: OpenOutbox<'_>,
    out: &mut Vec<u8>,
) -> Now {
    match message {
        Ok(Message::Request { id, method, params }) => {
            debug!(target: "mcp", %method, %id, "received request");
            let mut request = Request { server, session, id, params, envelope: None, outbox, out };
            answer(&mut request, &method).unwrap_or_else(|error| request.refuse(&error))
        }
        Ok(Message::Notification { method, params }) => {
            debug!(target: "mcp", %method, "received notification");
            notification(session, &method, params.as_ref());
            Now::Nothing
        }
        Ok(Message::Response { id, answer }) => {
            let is_awaited = id.as_ref().is_some_and(|id| session.answer(id, answer));
            debug!(target: "mcp", ?id, is_awaited, "received an answer");
            Now::Nothing
        }
        Err(Rejected { id, error }) => {
            debug!(target: "mcp", ?id, code = error.code.number(), "refused a message: {}", error.message);
            write::error(out, id.as_ref(), &without_secrets(server, &error));
            Now::Written(Some(error.code))
        }
    }
}

/// The methods. The modern revision says in each request what those with a handshake say once.
fn answer(request: &mut Request<'_>, method: &str) -> Result<Now, WireError> {
    request.envelope = meta::envelope(request.params.as_ref()).transpose()?;
    let is_modern = request.envelope.is_some();
    match method {
        "tools/call" => calls::tool(request),
        "tools/list" => list::list(request, ListKind::Tools),
        "prompts/list" => list::list(request, ListKind::Prompts),
        "prompts/get" => calls::get_prompt(request),
        "resources/list" => list::list(request, ListKind::Resources),
        "resources/templates/list" => list::list(request, ListKind::Templates),
        "resources/read" => calls::read_resource(request),
        "completion/complete" => calls::complete(request),
        "server/discover" if is_modern => welcome::discover(request),
        "subscriptions/listen" if is_modern => listen::listen(request),
        "tasks/get" if is_modern || tasks::has_core_tasks(request) => tasks::task(request, Asks::Get),
        "tasks/cancel" if is_modern || tasks::has_core_tasks(request) => tasks::task(request, Asks::Cancel),
        "tasks/update" if is_modern => tasks::task(request, Asks::Update),
        "tasks/result" if tasks::has_core_tasks(request) => tasks::task(request, Asks::Result),
        "tasks/list" if tasks::has_core_tasks(request) => tasks::list(request),
        "resources/subscribe" if !is_modern => legacy::subscribe(request),
        "resources/unsubscribe" if !is_modern => legacy::unsubscribe(request),
        "logging/setLevel" if !is_modern => legacy::set_level(request),
        "initialize" if !is_modern => welcome::initialize(request),
        "ping" if !is_modern => request.answer(b"{}", None),
        _ => calls::extension_method(request, method),
    }
}

fn notification(session: &Session, method: &str, params: Option<&Text>) {
    match method {
        "notifications/initialized" => session.ready(),
        "notifications/cancelled" => {
            let id = params.and_then(|text| Id::parse(text, text.object()?.get("requestId")?));
            id.iter().for_each(|id| session.cancel(id));
        }
        // `notifications/roots/list_changed` and all others change nothing here, and none is answered.
        _ => {}
    }
}

/// Acts on a batch (2025-03-26): all its messages at once, answered together in one frame, or not at all if
/// none of them wants an answer.
///
/// # Errors
/// A revision without batches.
pub(crate) fn batch(
    server: &Arc<Server>,
    session: &Arc<Session>,
    messages: Vec<Result<Message, Rejected>>,
    outbox: OpenOutbox<'_>,
) -> Result<Option<Later>, WireError> {
    let revision = session.revision();
    if !revision.has_batches() {
        return Err(invalid_request(format_args!("revision {} has no batches", revision.name())));
    }
    let mut ready = Vec::new();
    let mut waiting = Vec::new();
    for message in messages {
        let mut answer = Vec::new();
        match dispatch(server, session, refuse_in_batch(message), outbox, &mut answer) {
            Now::Nothing => {}
            Now::Written(_) => ready.push(answer),
            Now::Later(later) => waiting.push(later),
        }
    }
    if ready.is_empty() && waiting.is_empty() {
        return Ok(None);
    }
    Ok(Some(Box::pin(async move {
        ready.extend(join_all(waiting).await.into_iter().flatten().map(|reply| reply.frame));
        let frame = (!ready.is_empty()).then(|| [b"[", &ready.join(&b","[..])[..], b"]"].concat());
        frame.map(|frame| Reply { frame, code: None })
    })))
}

/// Lets everything through but what must not be part of a batch: the handshake, and requests of the revision that
/// has no batches.
fn refuse_in_batch(message: Result<Message, Rejected>) -> Result<Message, Rejected> {
    let refused = |id, why| {
        Err(Rejected { id: Some(id), error: invalid_request(format_args!("{why} must not be in a batch")) })
    };
    match message {
        Ok(Message::Request { id, method, .. }) if method == "initialize" => refused(id, "initialize"),
        Ok(Message::Request { id, params, .. }) if meta::is_modern(params.as_ref()) => {
            refused(id, "a request with the metadata of revision 2026-07-28")
        }
        other => other,
    }
}

#[cfg(test)]
mod tests;
