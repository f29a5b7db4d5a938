//! The HTTP+SSE transport of 2024-11-05: a GET opens a channel and learns where to post; all answers come over the
//! channel, and the session ends with it.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::stream::{self, Stream, StreamExt};
use gate::Caller;
use hyper::body::Incoming;
use hyper::{Method, Request, StatusCode};
use tokio::sync::{OwnedSemaphorePermit, mpsc};
use wire::{Frame, Message, Revision, meta, sse};

use super::answer::{self, Answered};
use super::endpoint::Endpoint;
use super::events::{QUIET_MAX, event, events};
use super::outbound::{NobodyReads, Outbound};
use super::sessions::{self, Open};
use super::{head, intake};
use crate::dispatch;
use crate::outgoing::{Later, Now, invalid_request};
use crate::session::{BeginFault, Session};

/// Where a channel is opened.
pub(super) const PATH: &str = "/sse";

/// Where messages of a channel's client are posted.
pub(super) const POST_PATH: &str = "/message";

/// What names the session in the query.
const QUERY: &str = "sessionId=";

/// Answers a request for a channel.
pub(super) fn open(endpoint: &Arc<Endpoint>, caller: Caller, request: &Request<Incoming>) -> Answered {
    if request.method() != Method::GET {
        return Ok(answer::not_allowed("GET, OPTIONS"));
    }
    head::takes_stream(request.headers())?;
    let session = Session::new(caller, Revision::V2024_11_05);
    let (outbound, frames) = Outbound::new();
    let (id, open) = endpoint.channels.open(session, Some(outbound))?;
    let connected = Connected { endpoint: endpoint.clone(), id, open };
    Ok(answer::events(events(carried(connected, frames), QUIET_MAX)))
}

/// Ends the session when its client has hung up.
struct Connected {
    endpoint: Arc<Endpoint>,
    id: String,
    open: Arc<Open>,
}

impl Drop for Connected {
    fn drop(&mut self) {
        // One that had to make room for another has ended already.
        self.endpoint.channels.end(&self.id, &self.open.session.caller);
    }
}

/// Where to post, and then all there is to say.
fn carried(connected: Connected, frames: mpsc::Receiver<Vec<u8>>) -> impl Stream<Item = Bytes> + Send {
    let mut endpoint = Vec::new();
    sse::write_endpoint(&mut endpoint, &format!("{POST_PATH}?{QUERY}{}", connected.id));
    // Nothing is written to it: it ends when the session does.
    let end = connected.open.streams.stand(None).ok();
    let rest = stream::unfold((connected, frames, end), |(connected, mut frames, mut end)| async move {
        let ended = end.as_mut()?;
        let frame = tokio::select! {
            biased;
            _ = ended.next() => return None,
            frame = frames.recv() => frame?,
            frame = connected.open.announced(&connected.endpoint.server) => frame,
        };
        Some((event(&frame), (connected, frames, end)))
    });
    stream::once(std::future::ready(Bytes::from(endpoint))).chain(rest)
}

/// Takes a message that belongs to a channel.
pub(super) async fn post(endpoint: &Arc<Endpoint>, caller: &Caller, request: Request<Incoming>) -> Answered {
    if request.method() != Method::POST {
        return Ok(answer::not_allowed("POST, OPTIONS"));
    }
    let query = request.uri().query().unwrap_or_default();
    let id = query.split('&').find_map(|part| part.strip_prefix(QUERY)).ok_or_else(|| {
        answer::refusal(StatusCode::BAD_REQUEST, "the query needs the sessionId of a channel")
    })?;
    let open = endpoint.channels.get(id, caller).ok_or_else(sessions::unknown)?;
    let (head, body) = request.into_parts();
    head::content_is_json(&head.headers)?;
    let bytes = intake::read(&endpoint.bodies, body).await?;
    take(endpoint, &open, bytes).await
}

async fn take(endpoint: &Arc<Endpoint>, open: &Arc<Open>, bytes: Bytes) -> Answered {
    let outbound = open.outbound.as_ref().filter(|outbound| !outbound.is_given_up());
    let outbound = outbound.ok_or_else(sessions::unknown)?;
    let message = match Frame::parse(bytes) {
        Ok(Frame::Single(message)) => message,
        Ok(Frame::Batch(_)) => {
            return Err(answer::bad_request(None, &invalid_request("HTTP+SSE has no batches")));
        }
        Err(rejected) => return Err(answer::bad_request(rejected.id.as_ref(), &rejected.error)),
    };
    let mut place = None;
    if let Message::Request { id, params, .. } = &message {
        if meta::is_modern(params.as_ref()) {
            // There the headers must repeat it, and who hangs up has cancelled.
            let error = invalid_request("revision 2026-07-28 is spoken at /mcp");
            return Err(answer::bad_request(Some(id), &error));
        }
        // Answers of the client get through in any case, since calls may wait for them.
        place = Some(outbound.place().ok_or_else(|| {
            let error = invalid_request(BeginFault::TooMany);
            answer::error(StatusCode::TOO_MANY_REQUESTS, None, &error)
        })?);
    }
    let mut outbox = || Some(outbound.outbox());
    let mut out = Vec::new();
    match dispatch::dispatch(&endpoint.server, &open.session, Ok(message), &mut outbox, &mut out) {
        Now::Nothing => {}
        // Waits for a reader that is behind.
        Now::Written(_) => send(open, outbound, out).await,
        Now::Later(later) => answer_later(endpoint, open, outbound, later, place).await,
    }
    Ok(answer::empty(StatusCode::ACCEPTED))
}

async fn send(open: &Open, outbound: &Outbound, frame: Vec<u8>) {
    if outbound.answer(frame).await == Err(NobodyReads) {
        tracing::warn!("a client of HTTP+SSE does not read its answers; its session ends");
        open.end();
    }
}

/// Sends the answer when it is there. Most are there at once, and need no task.
async fn answer_later(
    endpoint: &Endpoint,
    open: &Arc<Open>,
    outbound: &Arc<Outbound>,
    mut later: Later,
    place: Option<OwnedSemaphorePermit>,
) {
    if let Some(reply) = (&mut later).now_or_never() {
        if let Some(reply) = reply {
            send(open, outbound, reply.frame).await;
        }
        return;
    }
    let (open, outbound, closing) = (open.clone(), outbound.clone(), endpoint.closing.clone());
    let rest = async move {
        if let Some(reply) = later.await {
            send(&open, &outbound, reply.frame).await;
        }
        drop(place);
    };
    endpoint.tasks.spawn(async move { closing.run_until_cancelled(rest).await });
}
