//! From a message to its answer: one list of methods for each era.
//!
//! Which era a request belongs to is said by the request itself: a modern one (2026-07-28) names its revision in
//! `_meta`. So both may come over one connection, and neither changes how the other is answered.

mod calls;
mod legacy;
mod list;
mod listen;

mod welcome;

use std::borrow::Cow;
use std::sync::Arc;

use futures_util::future::{BoxFuture, join_all};
use gate::Client;
use tokio::sync::mpsc;
use tracing::debug;
use wire::message::{Rejected, Text};
use wire::meta::Envelope;
use wire::{Code, Id, Message, Revision, WireError, meta, write};

use crate::Server;
use crate::session::{BeginFault, InFlight, Kind, Session};

/// Longest name of a method that an error repeats, in characters.
const METHOD_CHARS_MAX: usize = 100;

/// The answer to one request.
#[derive(Debug)]
pub(crate) struct Reply {
    /// The message that goes out.
    pub(crate) frame: Vec<u8>,
    /// Which error it is, for the status over HTTP; nothing for a result.
    pub(crate) code: Option<Code>,
}

/// An answer that needs waiting; nothing comes of it for a request that was cancelled. Whoever drops it gives the
/// request up.
pub(crate) type Later = BoxFuture<'static, Option<Reply>>;

/// What comes of a message.
pub(crate) enum Now {
    /// Nothing to say.
    Nothing,
    /// The answer was appended; the code is that of an error.
    Written(Option<Code>),
    /// The answer is still to come.
    Later(Later),
}

/// Where frames about one request go before its answer: progress, log messages, requests of ours to the client, and
/// the messages of a subscription. What a slow reader may miss is dropped on the way in, so whoever takes frames
/// out delivers every one of them.
pub(crate) type Outbox = mpsc::Sender<Vec<u8>>;

/// Gives the outbox once a request needs it; nothing if the client can be told nothing before its answer. Most
/// requests do not ask, and a channel costs more than parsing them.
pub(crate) type OpenOutbox<'a> = &'a mut dyn FnMut() -> Option<Outbox>;

/// A request on its way to its handler.
struct Request<'a> {
    server: &'a Arc<Server>,
    session: &'a Arc<Session>,
    id: Id,
    params: Option<Text>,
    /// What a modern client says with each request; nothing for a legacy one.
    envelope: Option<Envelope>,
    outbox: OpenOutbox<'a>,
    out: &'a mut Vec<u8>,
}

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
            match meta::envelope(request.params.as_ref()) {
                None => legacy_method(request, &method),
                Some(Ok(envelope)) => {
                    request.envelope = Some(envelope);
                    modern_method(request, &method)
                }
                Some(Err(error)) => request.refuse(&error),
            }
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

/// The methods of the revisions with a handshake.
fn legacy_method(request: Request<'_>, method: &str) -> Now {
    match method {
        "tools/call" => calls::tool(request),
        "tools/list" => list::list(request, Kind::Tools),
        "prompts/list" => list::list(request, Kind::Prompts),
        "prompts/get" => calls::get_prompt(request),
        "resources/list" => list::list(request, Kind::Resources),
        "resources/templates/list" => list::list(request, Kind::Templates),
        "resources/read" => calls::read_resource(request),
        "resources/subscribe" => legacy::subscribe(request),
        "resources/unsubscribe" => legacy::unsubscribe(request),
        "completion/complete" => calls::complete(request),
        "logging/setLevel" => legacy::set_level(request),
        "initialize" => welcome::initialize(request),
        "ping" => request.answer(b"{}"),
        _ => request.refuse_method(method),
    }
}

/// The methods of the revision without a handshake.
fn modern_method(request: Request<'_>, method: &str) -> Now {
    match method {
        "tools/call" => calls::tool(request),
        "tools/list" => list::list(request, Kind::Tools),
        "prompts/list" => list::list(request, Kind::Prompts),
        "prompts/get" => calls::get_prompt(request),
        "resources/list" => list::list(request, Kind::Resources),
        "resources/templates/list" => list::list(request, Kind::Templates),
        "resources/read" => calls::read_resource(request),
        "completion/complete" => calls::complete(request),
        "server/discover" => welcome::discover(request),
        "subscriptions/listen" => listen::listen(request),
        "tasks/get" => calls::task(request, gate::Action::GetTask),
        "tasks/update" => calls::task(request, gate::Action::UpdateTask),
        "tasks/cancel" => calls::task(request, gate::Action::CancelTask),
        _ => request.refuse_method(method),
    }
}

/// An error as it may leave: it may repeat the caller's own words.
pub(crate) fn without_secrets<'e>(server: &Server, error: &'e WireError) -> Cow<'e, WireError> {
    let redactor = server.gate.redactor();
    let message = redactor.strike(&error.message);
    let data = error.data.as_deref().and_then(|data| redactor.json(data.as_bytes()));
    if message.is_none() && data.is_none() {
        return Cow::Borrowed(error);
    }
    let message = message.map_or_else(|| error.message.clone(), |(message, _)| message);
    let data = match data {
        Some(struck) => Some(String::from_utf8_lossy(&struck.bytes).into_owned()),
        None => error.data.clone(),
    };
    Cow::Owned(WireError { code: error.code, message, data })
}

fn notification(session: &Session, method: &str, params: Option<&Text>) {
    if method == "notifications/initialized" {
        session.ready();
    }
    if method != "notifications/cancelled" {
        // `notifications/roots/list_changed` and all others change nothing here, and none is answered.
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

impl Request<'_> {
    /// The revision that the answer is written in.
    fn revision(&self) -> Revision {
        if self.envelope.is_some() { Revision::MODERN } else { self.session.revision() }
    }

    /// The client, and whether there is anything that it can be asked for in the middle of a call.
    fn client(&self) -> (Client, bool) {
        let Some(envelope) = &self.envelope else { return self.session.client() };
        let client = Client {
            capabilities: envelope.capabilities.bytes(),
            info: envelope.client.as_ref().map(Text::bytes),
            log_level: envelope.log_level.map(wire::LogLevel::name),
            conversation: self.session.conversation_of_request(),
            ..Client::default()
        };
        (client, false)
    }

    /// Notes that the request has not been answered, so that it can be cancelled.
    fn begin(&self) -> Result<InFlight, WireError> {
        self.session.begin(&self.id).map_err(|fault| {
            let why = match fault {
                BeginFault::Duplicate => "a request with this id has not been answered yet",
                BeginFault::TooMany => "too many requests wait for their answers; let some finish",
            };
            WireError::new(Code::InvalidRequest, format!("Invalid request: {why}"))
        })
    }

    /// Answers with a result (JSON text) that is the same in all revisions.
    fn answer(self, result: &[u8]) -> Now {
        self.answer_by(|out| out.extend_from_slice(result))
    }

    /// Answers with a result that `write` appends.
    fn answer_by(self, write: impl FnOnce(&mut Vec<u8>)) -> Now {
        // A call looks for itself when it begins.
        if self.session.is_running(&self.id) {
            let error = "Invalid request: a request with this id has not been answered yet";
            return self.refuse(&WireError::new(Code::InvalidRequest, error));
        }
        write::result_by(self.out, &self.id, write);
        debug!(target: "mcp", id = %self.id, "sending response");
        Now::Written(None)
    }

    /// Answers that there is no such method.
    fn refuse_method(self, method: &str) -> Now {
        // Struck before it is cut: of a secret at the end the beginning would be left.
        let shown: String = self.server.gate.redactor().text(method).chars().take(METHOD_CHARS_MAX).collect();
        self.refuse(&WireError::new(Code::MethodNotFound, format!("Method not found: {shown}")))
    }

    /// Answers with an error.
    fn refuse(self, error: &WireError) -> Now {
        write::error(self.out, Some(&self.id), &without_secrets(self.server, error));
        debug!(target: "mcp", id = %self.id, code = error.code.number(), "sending error");
        Now::Written(Some(error.code))
    }
}

impl Reply {
    /// A result that `write` appends.
    fn result(id: &Id, write: impl FnOnce(&mut Vec<u8>)) -> Reply {
        let mut frame = Vec::new();
        write::result_by(&mut frame, id, write);
        Reply { frame, code: None }
    }

    /// An error.
    pub(crate) fn error(id: &Id, error: &WireError) -> Reply {
        let mut frame = Vec::new();
        write::error(&mut frame, Some(id), error);
        Reply { frame, code: Some(error.code) }
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
        let why = format!("Invalid request: revision {} has no batches", revision.name());
        return Err(WireError::new(Code::InvalidRequest, why));
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
        let error =
            WireError::new(Code::InvalidRequest, format!("Invalid request: {why} must not be in a batch"));
        Err(Rejected { id: Some(id), error })
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
