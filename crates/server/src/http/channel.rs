//! The HTTP+SSE transport of 2024-11-05: a GET opens a channel and learns where to post; all answers come over the
//! channel, and the session ends with it.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::stream;
use gate::Caller;
use hyper::body::Incoming;
use hyper::{Method, Request, StatusCode};
use tokio::sync::{OwnedSemaphorePermit, mpsc};
use wire::http::EVENT_STREAM;
use wire::{Code, Frame, Message, Revision, WireError, meta, sse};

use super::answer::{self, Answer};
use super::endpoint::Endpoint;
use super::events::{Events, QUIET_MAX, event};
use super::outbound::{NobodyReads, Outbound};
use super::sessions::{self, Open};
use super::{head, intake, legacy};
use crate::dispatch;
use crate::outgoing::{Later, Now};
use crate::session::Session;

/// Where a channel is opened.
pub(super) const PATH: &str = "/sse";

/// Where messages of a channel's client are posted.
pub(super) const POST_PATH: &str = "/message";

/// What names the session in the query.
const QUERY: &str = "sessionId=";

/// Answers a request for a channel.
pub(super) fn open(endpoint: &Arc<Endpoint>, caller: Caller, request: &Request<Incoming>) -> Answer {
    if request.method() != Method::GET {
        return answer::not_allowed("GET, OPTIONS");
    }
    if !head::accepts(request.headers(), EVENT_STREAM) && !head::accepts(request.headers(), "*/*") {
        return answer::text(StatusCode::NOT_ACCEPTABLE, "accept text/event-stream to open a stream\n");
    }
    let session = Session::new(caller, Revision::V2024_11_05);
    let (outbound, frames) = Outbound::new();
    match endpoint.channels.open(session, Some(outbound.clone())) {
        Ok((id, open)) => {
            let connected = Connected { endpoint: endpoint.clone(), id, open };
            answer::events(Events::new(carried(connected, outbound, frames), QUIET_MAX))
        }
        Err(fault) => legacy::not_opened(&fault),
    }
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
fn carried(
    connected: Connected,
    outbound: Arc<Outbound>,
    frames: mpsc::Receiver<Vec<u8>>,
) -> impl stream::Stream<Item = Bytes> + Send {
    let mut endpoint = Vec::new();
    sse::write_endpoint(&mut endpoint, &format!("{POST_PATH}?{QUERY}{}", connected.id));
    // Nothing is written to it: it ends when the session does.
    let end = connected.open.stand(None).ok();
    let state = (Some(Bytes::from(endpoint)), connected, outbound, frames, end);
    stream::unfold(state, |(endpoint, connected, outbound, mut frames, mut end)| async move {
        if let Some(endpoint) = endpoint {
            return Some((endpoint, (None, connected, outbound, frames, end)));
        }
        let ended = end.as_mut()?;
        let said = tokio::select! {
            biased;
            _ = ended.next() => return None,
            frame = frames.recv() => outbound.taken(frame?),
            frame = connected.open.announced(&connected.endpoint.server) => frame,
        };
        Some((event(&said), (None, connected, outbound, frames, end)))
    })
}

/// Takes a message that belongs to a channel.
pub(super) async fn post(endpoint: &Arc<Endpoint>, caller: &Caller, request: Request<Incoming>) -> Answer {
    if request.method() != Method::POST {
        return answer::not_allowed("POST, OPTIONS");
    }
    let query = request.uri().query().unwrap_or_default();
    let id = query.split('&').find_map(|part| part.strip_prefix(QUERY));
    let open = match id.map(|id| endpoint.channels.get(id, caller)) {
        None => return answer::text(StatusCode::BAD_REQUEST, "the query needs the sessionId of a channel\n"),
        Some(None) => return sessions::unknown(),
        Some(Some(open)) => open,
    };
    let (head, body) = request.into_parts();
    if let Err(refusal) = head::content_is_json(&head.headers) {
        return *refusal;
    }
    match intake::read(&endpoint.bodies, body).await {
        Ok(bytes) => take(endpoint, &open, bytes).await,
        Err(refusal) => *refusal,
    }
}

async fn take(endpoint: &Arc<Endpoint>, open: &Arc<Open>, bytes: Bytes) -> Answer {
    let outbound = open.outbound.as_ref().filter(|outbound| !outbound.is_given_up());
    let Some(outbound) = outbound else { return sessions::unknown() };
    let frame = match Frame::parse(bytes) {
        Ok(frame) => frame,
        Err(rejected) => {
            return answer::error(StatusCode::BAD_REQUEST, rejected.id.as_ref(), &rejected.error);
        }
    };
    if let Frame::Single(Message::Request { id, params, .. }) = &frame
        && meta::is_modern(params.as_ref())
    {
        // There the headers must repeat it, and who hangs up has cancelled.
        let error =
            WireError::new(Code::InvalidRequest, "Invalid request: revision 2026-07-28 is spoken at /mcp");
        return answer::error(StatusCode::BAD_REQUEST, Some(id), &error);
    }
    let Some(place) = outbound.place(calls(&frame)) else {
        let why = "Invalid request: too many requests wait for their answers; let some finish";
        let error = WireError::new(Code::InvalidRequest, why);
        return answer::error(StatusCode::TOO_MANY_REQUESTS, None, &error);
    };
    let mut outbox = || Some(outbound.outbox());
    let mut out = Vec::new();
    let now = match frame {
        Frame::Single(message) => {
            dispatch::dispatch(&endpoint.server, &open.session, Ok(message), &mut outbox, &mut out)
        }
        Frame::Batch(messages) => {
            match dispatch::batch(&endpoint.server, &open.session, messages, &mut outbox) {
                Ok(later) => later.map_or(Now::Nothing, Now::Later),
                Err(error) => return answer::error(StatusCode::BAD_REQUEST, None, &error),
            }
        }
    };
    match now {
        Now::Nothing => {}
        // Waits for a reader that is behind.
        Now::Written(_) => send(open, outbound, out).await,
        Now::Later(later) => answer_later(endpoint, open, outbound, later, place).await,
    }
    answer::empty(StatusCode::ACCEPTED)
}

/// How many answers a frame may want. Answers of the client want none and must get through, since calls may wait
/// for them.
fn calls(frame: &Frame) -> u32 {
    let wants_none =
        |message: &Message| matches!(message, Message::Notification { .. } | Message::Response { .. });
    match frame {
        Frame::Single(message) => u32::from(!wants_none(message)),
        Frame::Batch(messages) => {
            let calls = messages.iter().filter(|message| !message.as_ref().is_ok_and(wants_none)).count();
            u32::try_from(calls).unwrap_or(u32::MAX)
        }
    }
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
    place: OwnedSemaphorePermit,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_request_of_a_frame_takes_a_place() {
        let (request, note) =
            (r#"{"jsonrpc":"2.0","id":1,"method":"x"}"#, r#"{"jsonrpc":"2.0","method":"x"}"#);
        let response = r#"{"jsonrpc":"2.0","id":1,"result":{}}"#;
        let cases = [
            (request.to_owned(), 1),
            (note.to_owned(), 0),
            (response.to_owned(), 0),
            (format!("[{request},{note},{request},{response}]"), 2),
            (format!("[{note},{note}]"), 0),
            // What is no message is answered, too.
            (format!("[{request},1]"), 2),
        ];
        for (text, expected) in cases {
            let frame = Frame::parse(text.clone().into()).expect("a frame");
            assert_eq!(calls(&frame), expected, "{text}");
        }
    }
}
