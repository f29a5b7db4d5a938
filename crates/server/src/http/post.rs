//! A POST: one message, or a batch of them, and its answer as JSON or as a stream.
//!
//! The answer is JSON unless the call reports progress before it is done; then it becomes a stream. In the
//! legacy revisions a client that hangs up has not cancelled its call, so a call that must wait goes on
//! beside the connection.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use gate::{Caller, Via};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::{Body as _, Incoming};
use hyper::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use hyper::{Request, StatusCode};
use tokio::sync::mpsc;
use tokio::time::timeout;
use wire::http::{EVENT_STREAM, JSON, SESSION_ID};
use wire::message::Rejected;
use wire::{Code, Frame, HTTP_BODY_BYTES_MAX, Message, Revision, WireError};

use super::Door;
use super::answer::{self, Answer};
use super::sessions::{self, Named};
use crate::dispatch::{self, Later};
use crate::session::Session;

/// Progress reports that may wait for a slow reader; more are dropped, since only the latest matter.
const REPORTS_WAITING_MAX: usize = 64;

/// How long a body may take to arrive.
const BODY_WAIT_MAX: Duration = Duration::from_secs(60);

/// Answers a POST.
pub(super) async fn handle(door: &Arc<Door>, request: Request<Incoming>, said: Option<Revision>) -> Answer {
    let (head, body) = request.into_parts();
    match negotiate(door, &head.headers, said) {
        Err(refusal) => *refusal,
        Ok((session, streams)) => match read(body).await {
            Err(refusal) => *refusal,
            Ok(bytes) => act(door, session, streams, Frame::parse(bytes)).await,
        },
    }
}

/// True if the client takes a stream as an answer.
type Streams = bool;

/// Checks the headers and finds the conversation that the request belongs to.
fn negotiate(
    door: &Door,
    headers: &HeaderMap,
    said: Option<Revision>,
) -> Result<(Arc<Session>, Streams), Box<Answer>> {
    let is_json = |kind: &HeaderValue| {
        kind.to_str().is_ok_and(|kind| kind.split(';').next().unwrap_or("").trim().eq_ignore_ascii_case(JSON))
    };
    if !headers.get(CONTENT_TYPE).is_some_and(is_json) {
        let why = "send the message as Content-Type: application/json\n";
        return Err(answer::text(StatusCode::UNSUPPORTED_MEDIA_TYPE, why).into());
    }
    let accepts = |kind: &str| {
        headers.get_all(ACCEPT).iter().any(|kinds| kinds.to_str().is_ok_and(|kinds| kinds.contains(kind)))
    };
    let (streams, any) = (accepts(EVENT_STREAM), accepts("*/*") || !headers.contains_key(ACCEPT));
    if !streams && !any && !accepts(JSON) {
        let why = "accept application/json and text/event-stream\n";
        return Err(answer::text(StatusCode::NOT_ACCEPTABLE, why).into());
    }
    match door.sessions.named(headers) {
        Named::Open(open) => Ok((open.session.clone(), streams)),
        Named::Unknown => Err(sessions::unknown().into()),
        Named::None => {
            let revision = said.unwrap_or(Revision::UNSAID_OVER_HTTP);
            Ok((Session::new(Caller::local_user(Via::Http), revision), streams))
        }
    }
}

async fn read(body: Incoming) -> Result<Bytes, Box<Answer>> {
    let too_large = || {
        let why = format!("Invalid request: a body may have at most {HTTP_BODY_BYTES_MAX} bytes");
        let error = WireError::new(Code::InvalidRequest, why);
        answer::error(StatusCode::PAYLOAD_TOO_LARGE, None, &error)
    };
    if body.size_hint().lower() > HTTP_BODY_BYTES_MAX as u64 {
        return Err(too_large().into());
    }
    let Ok(read) = timeout(BODY_WAIT_MAX, Limited::new(body, HTTP_BODY_BYTES_MAX).collect()).await else {
        return Err(answer::text(StatusCode::REQUEST_TIMEOUT, "the body took too long to arrive\n").into());
    };
    match read {
        Ok(collected) => Ok(collected.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => Err(too_large().into()),
        Err(_) => Err(answer::text(StatusCode::BAD_REQUEST, "the body ended too early\n").into()),
    }
}

async fn act(
    door: &Arc<Door>,
    session: Arc<Session>,
    streams: Streams,
    frame: Result<Frame, Rejected>,
) -> Answer {
    let mut channel = None;
    let mut outbox =
        || streams.then(|| channel.get_or_insert_with(|| mpsc::channel(REPORTS_WAITING_MAX)).0.clone());
    let mut out = Vec::new();
    let later = match frame {
        Err(rejected) => {
            return answer::error(status(rejected.error.code), rejected.id.as_ref(), &rejected.error);
        }
        Ok(Frame::Single(message)) if is_handshake(&message) => return handshake(door, message),
        Ok(Frame::Single(message)) => {
            dispatch::dispatch(&door.server, &session, Ok(message), &mut outbox, &mut out)
        }
        Ok(Frame::Batch(messages)) => match dispatch::batch(&door.server, &session, messages, &mut outbox) {
            Ok(later) => later,
            Err(error) => return answer::error(StatusCode::BAD_REQUEST, None, &error),
        },
    };
    match later {
        Some(later) => finish(door, later, channel.map(|(_, reports)| reports), streams).await,
        None if out.is_empty() => answer::empty(StatusCode::ACCEPTED),
        None => answer::json(out),
    }
}

/// The status of an error about a message: 400 if it is none, 200 if it is one that asks for the wrong thing.
fn status(code: Code) -> StatusCode {
    match code {
        Code::ParseError | Code::InvalidRequest => StatusCode::BAD_REQUEST,
        Code::MethodNotFound | Code::InvalidParams | Code::InternalError | Code::RateLimited => {
            StatusCode::OK
        }
    }
}

fn is_handshake(message: &Message) -> bool {
    matches!(message, Message::Request { method, .. } if method == "initialize")
}

/// Answers `initialize`, always as a conversation of its own; the new session's id is in the header.
fn handshake(door: &Door, message: Message) -> Answer {
    let session = Session::new(Caller::local_user(Via::Http), Revision::LATEST);
    let mut frame = Vec::new();
    // It never waits.
    dispatch::dispatch(&door.server, &session, Ok(message), &mut || None, &mut frame);
    let text = String::from_utf8_lossy(&frame);
    if wire::Object::parse(&text).is_none_or(|answer| answer.get("result").is_none()) {
        return answer::json(frame);
    }
    match door.sessions.open(session) {
        Ok(id) => {
            let mut answer = answer::json(frame);
            answer.headers_mut().insert(HeaderName::from_static(SESSION_ID), id);
            answer
        }
        // Without randomness there are no unguessable ids, so there is no session.
        Err(_) => answer::text(StatusCode::INTERNAL_SERVER_ERROR, "the system gives no randomness\n"),
    }
}

/// Waits for an answer, and turns to a stream once there is progress to tell.
async fn finish(
    door: &Arc<Door>,
    later: Later,
    reports: Option<mpsc::Receiver<Vec<u8>>>,
    streams: Streams,
) -> Answer {
    let mut later = Detached::new(door, later);
    let Some(mut reports) = reports else { return last(later.await, streams) };
    tokio::select! {
        biased;
        frame = &mut later => match reports.try_recv() {
            Ok(first) => {
                let later = Detached::new(door, Box::pin(std::future::ready(frame)));
                answer::events(continued(door, first, reports, later))
            }
            Err(_) => last(frame, streams),
        },
        Some(first) = reports.recv() => answer::events(continued(door, first, reports, later)),
    }
}

/// An answer without anything before it. A cancelled call has none: the stream ends empty, or there is no
/// content.
fn last(frame: Option<Vec<u8>>, streams: Streams) -> Answer {
    match frame {
        Some(frame) => answer::json(frame),
        None if streams => answer::events(mpsc::channel(1).1),
        None => answer::empty(StatusCode::ACCEPTED),
    }
}

/// A stream of the reports so far, those to come, and the answer at its end. A reader that is too slow
/// misses reports; it holds up neither the call nor its deadline.
fn continued(
    door: &Door,
    first: Vec<u8>,
    mut reports: mpsc::Receiver<Vec<u8>>,
    mut later: Detached,
) -> mpsc::Receiver<Vec<u8>> {
    let (sender, messages) = mpsc::channel(REPORTS_WAITING_MAX);
    door.tasks.spawn(async move {
        // Fails only if the reader is slow or gone; the call goes on either way.
        let tell = |report| drop(sender.try_send(report));
        tell(first);
        let frame = loop {
            tokio::select! {
                biased;
                Some(report) = reports.recv() => tell(report),
                frame = &mut later => break frame,
            }
        };
        // What was reported in the same turn as the answer comes before it.
        while let Ok(report) = reports.try_recv() {
            tell(report);
        }
        if let Some(frame) = frame {
            // The client may have hung up.
            let _ = sender.send(frame).await;
        }
    });
    messages
}

/// A call that goes on if nobody waits for it any more: a client that hangs up has not cancelled it. It is
/// bounded by its own deadline, and by the door's end.
struct Detached {
    later: Option<Later>,
    door: Arc<Door>,
}

impl Detached {
    fn new(door: &Arc<Door>, later: Later) -> Detached {
        Detached { later: Some(later), door: door.clone() }
    }
}

impl Future for Detached {
    type Output = Option<Vec<u8>>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Vec<u8>>> {
        let later = self.later.as_mut().expect("a finished call is not asked again");
        let answer = std::task::ready!(later.as_mut().poll(cx));
        self.later = None;
        Poll::Ready(answer)
    }
}

impl Drop for Detached {
    fn drop(&mut self) {
        let Some(rest) = self.later.take().filter(|_| !self.door.closing.is_cancelled()) else { return };
        let closing = self.door.closing.clone();
        // A call that is dropped at the end has its record closed by that.
        self.door.tasks.spawn(async move { closing.run_until_cancelled(rest).await });
    }
}
