//! POSTs of the legacy revisions: the handshake opens a session, and later requests name it.
//!
//! The answer is JSON unless something is said before it; then it becomes a stream. A client that hangs up has not
//! cancelled its call: a call that must wait goes on beside the connection, and what a stream still had to say is
//! kept in the session for a while.

use std::sync::Arc;

use futures_util::stream;
use gate::Caller;
use hyper::StatusCode;
use hyper::header::{HeaderMap, HeaderName};
use wire::http::SESSION_ID;
use wire::message::Rejected;
use wire::{Message, Revision};

use super::answer::{self, Answer, Answered};
use super::detached::Detached;
use super::endpoint::Endpoint;
use super::events::{QUIET_MAX, events};
use super::exchange::{Exchange, Outgoing, SILENCE_MAX, SILENCE_RESUMABLE_MAX, only};
use super::head::{self, TakesEvents};
use super::sessions::{self, Open};
use super::streams::Reader;
use crate::dispatch;
use crate::outgoing::{Later, Now};
use crate::session::Session;

/// Answers `initialize`, always as a conversation of its own; the new session's id is in the header.
pub(super) async fn handshake(endpoint: &Endpoint, caller: Caller, message: Message) -> Answered {
    let session = Session::new(caller, Revision::LATEST_LEGACY);
    let mut frame = Vec::new();
    let now = dispatch::dispatch(&endpoint.server, &session, Ok(message), &mut || None, &mut frame);
    let is_welcome = match now {
        Now::Nothing => false,
        Now::Written(code) => code.is_none(),
        Now::Later(later) => match later.await {
            Some(reply) => {
                frame = reply.frame;
                reply.code.is_none()
            }
            None => false,
        },
    };
    let mut answer = answer::json(StatusCode::OK, frame);
    if is_welcome {
        let (id, _) = endpoint.sessions.open(session, None)?;
        answer.headers_mut().insert(HeaderName::from_static(SESSION_ID), sessions::header(&id));
    }
    Ok(answer)
}

/// The conversation that a request belongs to, and the session that it is of; one that names no session has one of its
/// own, of which nothing is kept.
type Conversation = (Arc<Session>, Option<Arc<Open>>);

fn conversation(endpoint: &Endpoint, caller: Caller, head: &HeaderMap) -> Result<Conversation, Box<Answer>> {
    let named = head::legacy_revision(head)?;
    Ok(match endpoint.sessions.named(head, &caller)? {
        Some(open) => (open.session.clone(), Some(open)),
        None => (Session::new(caller, named.unwrap_or(Revision::UNSAID_OVER_HTTP)), None),
    })
}

/// Answers one message.
pub(super) async fn message(
    endpoint: &Arc<Endpoint>,
    caller: Caller,
    head: &HeaderMap,
    takes_events: TakesEvents,
    message: Message,
) -> Answered {
    let (session, open) = conversation(endpoint, caller, head)?;
    let mut outgoing = Outgoing::default();
    let mut out = Vec::new();
    let mut outbox = || takes_events.then(|| outgoing.outbox());
    match dispatch::dispatch(&endpoint.server, &session, Ok(message), &mut outbox, &mut out) {
        Now::Nothing => Ok(answer::empty(StatusCode::ACCEPTED)),
        Now::Written(_) => Ok(answer::json(StatusCode::OK, out)),
        Now::Later(later) => finish(endpoint, open.as_deref(), later, outgoing, takes_events).await,
    }
}

/// Answers a batch (2025-03-26).
pub(super) async fn batch(
    endpoint: &Arc<Endpoint>,
    caller: Caller,
    head: &HeaderMap,
    takes_events: TakesEvents,
    messages: Vec<Result<Message, Rejected>>,
) -> Answered {
    let (session, open) = conversation(endpoint, caller, head)?;
    let mut outgoing = Outgoing::default();
    let mut outbox = || takes_events.then(|| outgoing.outbox());
    match dispatch::batch(&endpoint.server, &session, messages, &mut outbox) {
        Ok(None) => Ok(answer::empty(StatusCode::ACCEPTED)),
        Ok(Some(later)) => finish(endpoint, open.as_deref(), later, outgoing, takes_events).await,
        Err(error) => Err(answer::bad_request(None, &error)),
    }
}

/// Waits for an answer, and turns to a stream once there is something to tell before it.
async fn finish(
    endpoint: &Arc<Endpoint>,
    open: Option<&Open>,
    later: Later,
    outgoing: Outgoing,
    takes_events: TakesEvents,
) -> Answered {
    let mut exchange = Exchange::new(Detached::new(endpoint, later), outgoing);
    let is_resumable = open.is_some_and(|open| open.streams.are_primed());
    let silence = if is_resumable { SILENCE_RESUMABLE_MAX } else { SILENCE_MAX };
    if let Some(reply) = exchange.only_answer(takes_events.then_some(silence)).await {
        return Ok(only(reply.map(|reply| reply.frame), StatusCode::OK, takes_events));
    }
    let place = endpoint.streaming.clone().try_acquire_owned().map_err(|_| {
        let why = "too many answers are streams that go on; try again later";
        answer::refusal(StatusCode::SERVICE_UNAVAILABLE, why)
    })?;
    let Some(open) = open else { return Ok(answer::events(events(exchange.pieces(place), QUIET_MAX))) };
    let (writer, reader) = open.streams.begin();
    // A task of its own, since a slow or lost reader must not hold up the call.
    let writing = async move {
        while let Some(frame) = exchange.next(writer.room()).await {
            writer.write(&frame).await;
        }
    };
    let closing = endpoint.closing.clone();
    endpoint.tasks.spawn(async move {
        closing.run_until_cancelled(writing).await;
        drop(place);
    });
    Ok(following(reader))
}

/// The answer that follows a stream of a POST to its end.
pub(super) fn following(reader: Reader) -> Answer {
    let pieces = stream::unfold(reader, |mut reader| async move {
        let event = reader.next().await?;
        Some((event, reader))
    });
    answer::events(events(pieces, QUIET_MAX))
}

#[cfg(test)]
mod tests {
    use gate::Via;
    use testkit::SampleGate;

    use super::super::endpoint::STREAMING_MAX;
    use super::*;
    use crate::Server;

    #[tokio::test(start_paused = true)]
    async fn streams_of_calls_are_bounded_whoever_reads_them() {
        let gate = SampleGate::new();
        let endpoint = Endpoint::sample(Server::new(gate.gate.clone(), crate::Instructions::default()));
        let session = Session::new(Caller::local_user(Via::Http), Revision::LATEST_LEGACY);
        let (_, open) = endpoint.sessions.open(session, None).expect("there is room");
        let never = async || {
            let pending = Box::pin(std::future::pending());
            let finished = finish(&endpoint, Some(&*open), pending, Outgoing::default(), true).await;
            finished.unwrap_or_else(|refusal| *refusal)
        };
        for number in 0..STREAMING_MAX {
            assert_eq!(never().await.status(), StatusCode::OK, "{number}");
        }
        assert_eq!(never().await.status(), StatusCode::SERVICE_UNAVAILABLE);
        endpoint.closing.cancel();
        endpoint.tasks.close();
        endpoint.tasks.wait().await;
        assert_eq!(never().await.status(), StatusCode::OK, "there is room again");
    }
}
