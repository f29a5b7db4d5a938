//! HTTP answers in the few forms this endpoint gives.

use http_body_util::{Either, Full};
use hyper::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use hyper::{Response, StatusCode};
use wire::http::{EVENT_STREAM, JSON};
use wire::{Id, WireError, write};

use super::events::Events;
use super::problem::Problem;
pub(super) use super::response::{Answer, whole};

/// An answer, or one that refuses what was asked.
pub(super) type Answered = Result<Answer, Box<Answer>>;

/// One JSON-RPC message.
pub(super) fn json(status: StatusCode, frame: Vec<u8>) -> Answer {
    whole(status, JSON, frame)
}

/// An answer that is another one each time.
pub(super) fn fresh(value: &impl serde::Serialize) -> Answer {
    let text = serde_json::to_vec(value).expect("answers have text for keys");
    let mut answer = json(StatusCode::OK, text);
    answer.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    answer
}

/// A JSON-RPC error about the request as a whole.
pub(super) fn error(status: StatusCode, id: Option<&Id>, error: &WireError) -> Answer {
    let mut frame = Vec::new();
    write::error(&mut frame, id, error);
    whole(status, JSON, frame)
}

/// Why there is none: a problem of this status, in a sentence for people.
pub(super) fn problem(status: StatusCode, sentence: impl Into<String>) -> Answer {
    Problem::new(status, sentence).answer()
}

/// A refusal: a problem, where an answer may be given, too.
pub(super) fn refusal(status: StatusCode, sentence: impl Into<String>) -> Box<Answer> {
    problem(status, sentence).into()
}

/// A refusal as a JSON-RPC error.
pub(super) fn bad_request(id: Option<&Id>, error: &WireError) -> Box<Answer> {
    self::error(StatusCode::BAD_REQUEST, id, error).into()
}

/// Taken, and nothing to say.
pub(super) fn empty(status: StatusCode) -> Answer {
    let mut answer = Response::new(Either::Left(Full::default()));
    *answer.status_mut() = status;
    answer
}

/// Not with this method.
pub(super) fn not_allowed(methods: &'static str) -> Answer {
    let answer = problem(StatusCode::METHOD_NOT_ALLOWED, format!("only {methods} are allowed here"));
    with_methods(answer, methods)
}

/// The same, which says by which methods may be asked.
pub(super) fn with_methods(mut answer: Answer, methods: &'static str) -> Answer {
    answer.headers_mut().insert(ALLOW, HeaderValue::from_static(methods));
    answer
}

/// Messages as they come.
pub(super) fn events(events: Events) -> Answer {
    let mut answer = Response::new(Either::Right(events));
    let headers = answer.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(EVENT_STREAM));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    // Reverse proxies otherwise hold events back until their buffer is full.
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    answer
}

/// There is nothing at this path.
pub(super) fn nothing_here() -> Answer {
    problem(
        StatusCode::NOT_FOUND,
        "there is nothing here; the MCP endpoint is /mcp, and /mcp/openapi.json describes what else there is",
    )
}
