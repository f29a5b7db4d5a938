//! A POST: one message, or a batch of them. Which era it belongs to is said by its body.

use std::sync::Arc;

use gate::Caller;
use hyper::body::Incoming;
use hyper::header::HeaderMap;
use hyper::{Request, StatusCode};
use wire::message::Rejected;
use wire::{Code, Frame, Message, WireError, meta};

use super::answer::{self, Answer, Answered};
use super::endpoint::Endpoint;
use super::head::{self, TakesEvents};
use super::{intake, legacy, modern};
use crate::outgoing::invalid_request;

/// Answers a POST to the endpoint.
pub(super) async fn handle(endpoint: &Arc<Endpoint>, caller: Caller, request: Request<Incoming>) -> Answered {
    let (head, body) = request.into_parts();
    let takes_events = head::forms(&head.headers)?;
    let bytes = intake::read(&endpoint.bodies, body).await?;
    classify(endpoint, caller, &head.headers, takes_events, Frame::parse(bytes)).await
}

/// Finds out which era a message belongs to, and has it answered there.
async fn classify(
    endpoint: &Arc<Endpoint>,
    caller: Caller,
    head: &HeaderMap,
    takes_events: TakesEvents,
    frame: Result<Frame, Rejected>,
) -> Answered {
    let message = match frame {
        Err(rejected) => return Ok(refused(head, &rejected)),
        Ok(Frame::Batch(messages)) => {
            return legacy::batch(endpoint, caller, head, takes_events, messages).await;
        }
        Ok(Frame::Single(message)) => message,
    };
    match message {
        Message::Request { id, method, params } if meta::is_modern(params.as_ref()) => {
            let asked = modern::Asked { id, method, params };
            Ok(modern::request(endpoint, caller, head, takes_events, asked).await)
        }
        Message::Request { ref method, .. } if method == "initialize" => {
            legacy::handshake(endpoint, caller, message).await
        }
        Message::Request { id, .. } if head::names_modern(head) => {
            let why = format!("Invalid params: the request's `_meta` needs \"{}\"", meta::PROTOCOL_VERSION);
            Err(answer::bad_request(Some(&id), &WireError::new(Code::InvalidParams, why)))
        }
        Message::Notification { ref method, ref params }
            if meta::is_modern(params.as_ref()) || head::names_modern(head) =>
        {
            Ok(modern::notification(head, method, params.as_ref()))
        }
        Message::Response { .. } if head::names_modern(head) => {
            let why = "revision 2026-07-28 has no requests of servers, so nothing is answered";
            Err(answer::bad_request(None, &invalid_request(why)))
        }
        message => legacy::message(endpoint, caller, head, takes_events, message).await,
    }
}

/// The answer to what is no message: 400, but 200 if only its parameters are wrong and the client is one of those
/// that expect it.
fn refused(head: &HeaderMap, rejected: &Rejected) -> Answer {
    let in_band = rejected.error.code == Code::InvalidParams && !head::names_modern(head);
    let status = if in_band { StatusCode::OK } else { StatusCode::BAD_REQUEST };
    answer::error(status, rejected.id.as_ref(), &rejected.error)
}
