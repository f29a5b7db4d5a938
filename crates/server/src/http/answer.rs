//! HTTP answers in the few forms this endpoint gives.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::{Frame, SizeHint};
use hyper::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use hyper::{Response, StatusCode};
use wire::http::{EVENT_STREAM, JSON};
use wire::{Id, WireError, write};

use super::events::Events;

/// An answer of this endpoint.
pub(super) type Answer = Response<Body>;

/// A body: whole, or events as they come.
pub(super) enum Body {
    /// All there is.
    Whole(Full<Bytes>),
    /// A stream of events.
    Events(Events),
}

impl hyper::body::Body for Body {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match &mut *self {
            Body::Whole(whole) => Pin::new(whole).poll_frame(cx),
            Body::Events(events) => events.poll(cx).map(|piece| piece.map(|piece| Ok(Frame::data(piece)))),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Body::Whole(whole) => whole.is_end_stream(),
            Body::Events(_) => false,
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Body::Whole(whole) => whole.size_hint(),
            Body::Events(_) => SizeHint::default(),
        }
    }
}

/// Bytes of this media type.
pub(super) fn whole(status: StatusCode, kind: &'static str, bytes: impl Into<Bytes>) -> Answer {
    let mut answer = Response::new(Body::Whole(Full::new(bytes.into())));
    *answer.status_mut() = status;
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    answer
}

/// One JSON-RPC message.
pub(super) fn json(status: StatusCode, frame: Vec<u8>) -> Answer {
    whole(status, JSON, frame)
}

/// A JSON-RPC error about the request as a whole.
pub(super) fn error(status: StatusCode, id: Option<&Id>, error: &WireError) -> Answer {
    let mut frame = Vec::new();
    write::error(&mut frame, id, error);
    whole(status, JSON, frame)
}

/// A sentence for people.
pub(super) fn text(status: StatusCode, sentence: impl Into<Bytes>) -> Answer {
    whole(status, "text/plain; charset=utf-8", sentence)
}

/// Taken, and nothing to say.
pub(super) fn empty(status: StatusCode) -> Answer {
    let mut answer = Response::new(Body::Whole(Full::default()));
    *answer.status_mut() = status;
    answer
}

/// Not with this method.
pub(super) fn not_allowed(methods: &'static str) -> Answer {
    let mut answer = text(StatusCode::METHOD_NOT_ALLOWED, "this method is not allowed here\n");
    answer.headers_mut().insert(ALLOW, HeaderValue::from_static(methods));
    answer
}

/// Messages as they come.
pub(super) fn events(events: Events) -> Answer {
    let mut answer = Response::new(Body::Events(events));
    let headers = answer.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(EVENT_STREAM));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    // Reverse proxies otherwise hold events back until their buffer is full.
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    answer
}

/// There is nothing at this path.
pub(super) fn nothing_here() -> Answer {
    text(StatusCode::NOT_FOUND, "there is nothing here; the MCP endpoint is /mcp\n")
}
