//! From a message to its answer: one list of methods.

use std::sync::Arc;
use std::time::Instant;

use futures_util::future::{BoxFuture, join_all};
use gate::Call;
use gate::ProgressSink;
use tokio::sync::mpsc;
use tracing::debug;
use wire::message::{Rejected, Text};
use wire::{Code, Id, Message, WireError, initialize, tools, write};

use crate::progress::Reporter;
use crate::reply;
use crate::session::{BeginFault, Session};
use crate::{OURSELVES, Server};

/// An answer that needs waiting. It gives the frame, or nothing for a call that was cancelled.
pub(crate) type Later = BoxFuture<'static, Option<Vec<u8>>>;

/// Where a call's progress goes.
pub(crate) type Outbox = mpsc::Sender<Vec<u8>>;

/// Gives the outbox once a call asks for progress; nothing if the client cannot be told of it. Most calls do
/// not ask, and a channel costs more than parsing them.
pub(crate) type OpenOutbox<'a> = &'a mut dyn FnMut() -> Option<Outbox>;

/// Acts on one message. Answers that need no waiting are appended to `out`; others come later. A
/// notification gives neither.
pub(crate) fn dispatch(
    server: &Arc<Server>,
    session: &Arc<Session>,
    message: Result<Message, Rejected>,
    outbox: OpenOutbox<'_>,
    out: &mut Vec<u8>,
) -> Option<Later> {
    match message {
        Ok(Message::Request { id, method, params }) => {
            debug!(target: "mcp", method, %id, "received request");
            request(server, session, id, &method, params, outbox, out)
        }
        Ok(Message::Notification { method, params }) => {
            debug!(target: "mcp", method, "received notification");
            notification(session, &method, params.as_ref());
            None
        }
        Ok(Message::Response { id, .. }) => {
            // We send no requests, so this answers nothing; there is nobody to tell.
            debug!(target: "mcp", ?id, "received an answer to nothing");
            None
        }
        Err(Rejected { id, error }) => {
            debug!(target: "mcp", ?id, code = error.code.number(), "refused a message: {}", error.message);
            write::error(out, id.as_ref(), &error);
            None
        }
    }
}

fn request(
    server: &Arc<Server>,
    session: &Arc<Session>,
    id: Id,
    method: &str,
    params: Option<Text>,
    outbox: OpenOutbox<'_>,
    out: &mut Vec<u8>,
) -> Option<Later> {
    // A call looks for itself when it begins.
    if method != "tools/call" && session.is_running(&id) {
        write::error(out, Some(&id), &begin_fault(BeginFault::Duplicate));
        return None;
    }
    let done = match method {
        "tools/call" => return call(server, session, id, params, outbox, out),
        "tools/list" => return list(server, session, id, params, out),
        "initialize" => initialize(server, session, &id, params.as_ref(), out),
        "ping" => {
            write::result(out, &id, b"{}");
            Ok(())
        }
        _ => Err(unknown_method(method)),
    };
    if let Err(error) = done {
        write::error(out, Some(&id), &error);
    }
    debug!(target: "mcp", %id, "sending response");
    None
}

fn unknown_method(method: &str) -> WireError {
    let shown: String = method.chars().take(100).collect();
    WireError::new(Code::MethodNotFound, format!("Method not found: {shown}"))
}

fn notification(session: &Session, method: &str, params: Option<&Text>) {
    if method != "notifications/cancelled" {
        // `notifications/initialized` and all others change nothing here, and are never answered.
        return;
    }
    let id = params.and_then(|text| {
        let written = text.object()?.get("requestId")?;
        Id::parse(text, written)
    });
    if let Some(id) = id {
        session.cancel(&id);
    }
}

fn initialize(
    server: &Server,
    session: &Session,
    id: &Id,
    params: Option<&Text>,
    out: &mut Vec<u8>,
) -> Result<(), WireError> {
    let hello = initialize::hello(params)?;
    session.settle(hello.revision);
    tracing::info!(
        target: "mcp",
        client = hello.client.name,
        version = hello.client.version,
        revision = hello.revision.name(),
        "a client connected"
    );
    let welcome = initialize::welcome(hello.revision, OURSELVES, server.instructions.as_deref());
    write::result(out, id, &welcome);
    Ok(())
}

fn list(
    server: &Arc<Server>,
    session: &Arc<Session>,
    id: Id,
    params: Option<Text>,
    out: &mut Vec<u8>,
) -> Option<Later> {
    let cursor = match tools::list_cursor(params.as_ref()) {
        Ok(cursor) => cursor,
        Err(error) => {
            write::error(out, Some(&id), &error);
            return None;
        }
    };
    let (server, session) = (server.clone(), session.clone());
    Some(Box::pin(async move {
        let offer = server.gate.catalog().settled().await;
        let revision = session.revision();
        let page = server.lists.page(&server.gate, &offer, &session.caller, revision, cursor.as_deref());
        session.saw(offer.version);
        let mut frame = Vec::new();
        match page {
            Ok(page) => write::result(&mut frame, &id, &page),
            Err(error) => write::error(&mut frame, Some(&id), &error),
        }
        debug!(target: "mcp", %id, tools = offer.tools().len(), "sending response");
        Some(frame)
    }))
}

fn call(
    server: &Arc<Server>,
    session: &Arc<Session>,
    id: Id,
    params: Option<Text>,
    outbox: OpenOutbox<'_>,
    out: &mut Vec<u8>,
) -> Option<Later> {
    let begun = tools::call_params(params.as_ref())
        .and_then(|params| Ok((params, session.begin(&id).map_err(begin_fault)?)));
    let (params, in_flight) = match begun {
        Ok(begun) => begun,
        Err(error) => {
            write::error(out, Some(&id), &error);
            return None;
        }
    };
    let (server, session) = (server.clone(), session.clone());
    let progress = params.progress_token.and_then(|token| {
        let reporter = Reporter { token, revision: session.revision(), outbox: outbox()? };
        Some(Arc::new(reporter) as Arc<dyn ProgressSink>)
    });
    Some(Box::pin(async move {
        debug!(target: "mcp", %id, tool = params.name, "received call");
        let since = Instant::now();
        let arguments = params.arguments.map(|text| text.bytes());
        let cancel = in_flight.cancel.clone();
        let meta = params.meta.map(|text| text.bytes());
        let call = Call { tool: &params.name, arguments, meta, cancel, progress };
        let result = server.gate.call(&session.caller, call).await;
        drop(in_flight);
        let success = matches!(&result, Ok(outcome) if !outcome.is_error);
        debug!(target: "mcp", %id, tool = params.name, duration = ?since.elapsed(), success, "tool execution completed");
        let cancelled = matches!(&result, Err(failure) if failure.is_cancelled());
        (!cancelled).then(|| reply::call(session.revision(), &id, result))
    }))
}

fn begin_fault(fault: BeginFault) -> WireError {
    let why = match fault {
        BeginFault::Duplicate => "Invalid request: a request with this id has not been answered yet",
        BeginFault::TooMany => "Invalid request: too many requests wait for their answers; let some finish",
    };
    WireError::new(Code::InvalidRequest, why)
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
        let why = format!("Invalid request: revision {} has no batches", revision.name());
        return Err(WireError::new(Code::InvalidRequest, why));
    }
    let mut ready = Vec::new();
    let mut waiting = Vec::new();
    for message in messages {
        let mut answer = Vec::new();
        let message = refuse_handshake(message);
        waiting.extend(dispatch(server, session, message, outbox, &mut answer));
        ready.push(answer);
    }
    ready.retain(|answer| !answer.is_empty());
    if ready.is_empty() && waiting.is_empty() {
        return Ok(None);
    }
    Ok(Some(Box::pin(async move {
        ready.extend(join_all(waiting).await.into_iter().flatten());
        (!ready.is_empty()).then(|| [b"[", &ready.join(&b","[..])[..], b"]"].concat())
    })))
}

/// Lets everything through but the handshake, which must not be part of a batch.
fn refuse_handshake(message: Result<Message, Rejected>) -> Result<Message, Rejected> {
    match message {
        Ok(Message::Request { id, method, .. }) if method == "initialize" => {
            let error =
                WireError::new(Code::InvalidRequest, "Invalid request: initialize must not be in a batch");
            Err(Rejected { id: Some(id), error })
        }
        other => other,
    }
}

/// The notification that the tools on offer have changed.
pub(crate) fn list_changed() -> Vec<u8> {
    let mut frame = Vec::new();
    write::notification(&mut frame, "notifications/tools/list_changed", None);
    frame
}

#[cfg(test)]
mod tests;
