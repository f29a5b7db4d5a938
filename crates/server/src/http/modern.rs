//! POSTs of the modern revision: each stands alone. Who hangs up has cancelled, so everything about a request hangs
//! on the body of its answer and goes with it.

use std::sync::Arc;
use std::time::Duration;

use gate::Caller;
use hyper::StatusCode;
use hyper::header::HeaderMap;
use wire::http::METHOD;
use wire::message::Text;
use wire::{ByteString, Code, Id, Message, Revision, meta};

use super::answer::{self, Answer};
use super::endpoint::Endpoint;
use super::events::events;
use super::exchange::{Exchange, Outgoing, SILENCE_MAX, only};
use super::head::TakesEvents;
use super::mirror;
use crate::dispatch;
use crate::outgoing::{Later, Now, Reply};
use crate::session::Session;

/// How long a stream may say nothing before a comment goes out.
const QUIET_MAX: Duration = Duration::from_secs(15);

/// The request that is answered when its client, or we, have had enough.
const LISTEN: &str = "subscriptions/listen";

/// A modern request.
pub(super) struct Asked {
    pub(super) id: Id,
    pub(super) method: ByteString,
    pub(super) params: Option<Text>,
}

/// Answers a request.
pub(super) async fn request(
    endpoint: &Arc<Endpoint>,
    caller: Caller,
    head: &HeaderMap,
    takes_events: TakesEvents,
    asked: Asked,
) -> Answer {
    let params = asked.params.as_ref();
    if let Err(error) =
        mirror::version(head, params).and_then(|()| mirror::method(head, &asked.method, params))
    {
        let error = dispatch::without_secrets(&endpoint.server, &error);
        return answer::error(status(Some(error.code)), Some(&asked.id), &error);
    }
    let Asked { id, method, params } = asked;
    let session = Session::new(caller, Revision::MODERN);
    if method == "tools/call" {
        // The session is new, so nothing is set.
        let _ = session.header_check.set(mirror::arguments(head));
    }
    let is_standing = *method == *LISTEN;
    let mut outgoing = Outgoing::default();
    let mut out = Vec::new();
    let message = Message::Request { id, method, params: params.clone() };
    let mut outbox = || takes_events.then(|| outgoing.outbox());
    match dispatch::dispatch(&endpoint.server, &session, Ok(message), &mut outbox, &mut out) {
        Now::Nothing => answer::empty(StatusCode::ACCEPTED),
        Now::Written(code) => {
            // Parameters that are wrong are told in band, metadata that is wrong is not.
            let in_metadata = code == Some(Code::InvalidParams)
                && meta::envelope(params.as_ref()).is_none_or(|envelope| envelope.is_err());
            answer::json(if in_metadata { StatusCode::BAD_REQUEST } else { status(code) }, out)
        }
        Now::Later(later) => {
            let later = match is_standing {
                true => Box::pin(while_known(endpoint.clone(), session, later)),
                false => later,
            };
            finish(endpoint, later, outgoing, takes_events).await
        }
    }
}

/// What stands as long as its client likes ends when nobody knows its caller any more.
async fn while_known(endpoint: Arc<Endpoint>, session: Arc<Session>, mut later: Later) -> Option<Reply> {
    tokio::select! {
        biased;
        reply = &mut later => return reply,
        () = endpoint.until_unknown(&session.caller) => session.end(),
    }
    later.await
}

/// Takes a notification. There is none that changes anything here: over HTTP, hanging up cancels.
pub(super) fn notification(head: &HeaderMap, method: &str, params: Option<&Text>) -> Answer {
    let repeats_itself = mirror::version(head, params).and_then(|()| {
        // Asked of requests only; but what is said must be so.
        if head.contains_key(METHOD) { mirror::method(head, method, params) } else { Ok(()) }
    });
    match repeats_itself {
        Ok(()) => answer::empty(StatusCode::ACCEPTED),
        Err(error) => answer::error(status(Some(error.code)), None, &error),
    }
}

/// The status of an answer (MCP 2026-07-28, "Streamable HTTP", "Error Handling"), be the error ours or an
/// upstream's.
fn status(code: Option<Code>) -> StatusCode {
    match code.map(Code::number) {
        // Parse error, invalid request; header mismatch, missing capability, unsupported version.
        Some(-32700 | -32600 | -32022..=-32020) => StatusCode::BAD_REQUEST,
        // Unknown method.
        Some(-32601) => StatusCode::NOT_FOUND,
        _ => StatusCode::OK,
    }
}

/// Waits for an answer, and turns to a stream once there is something to tell before it.
async fn finish(
    endpoint: &Arc<Endpoint>,
    later: Later,
    outgoing: Outgoing,
    takes_events: TakesEvents,
) -> Answer {
    let mut exchange = Exchange::new(later, outgoing);
    match exchange.only_answer(takes_events.then_some(SILENCE_MAX)).await {
        Some(reply) => {
            let status = status(reply.as_ref().and_then(|reply| reply.code));
            only(reply.map(|reply| reply.frame), status, takes_events)
        }
        None => answer::events(events(exchange.pieces(endpoint.clone()), QUIET_MAX)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_have_the_status_of_the_specification() {
        let cases = [
            (None, 200),
            (Some(Code::ParseError), 400),
            (Some(Code::InvalidRequest), 400),
            (Some(Code::MethodNotFound), 404),
            (Some(Code::InvalidParams), 200),
            (Some(Code::InternalError), 200),
            (Some(Code::RateLimited), 200),
            (Some(Code::HeaderMismatch), 400),
            (Some(Code::MissingClientCapability), 400),
            (Some(Code::UnsupportedVersion), 400),
            (Some(Code::Relayed(-32021)), 400),
            (Some(Code::Relayed(-32000)), 200),
            (Some(Code::Relayed(7)), 200),
        ];
        for (code, expected) in cases {
            assert_eq!(status(code).as_u16(), expected, "{code:?}");
        }
    }
}
