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

use super::answer::{self, Answer};
use super::detached::Detached;
use super::endpoint::Endpoint;
use super::events::{Events, QUIET_MAX};
use super::first::{First, Frames, Outgoing, SILENCE_MAX, SILENCE_RESUMABLE_MAX, only};
use super::head::{self, TakesEvents};
use super::sessions::{self, Named, Open, OpenFault};
use super::streams::{Reader, Writer};
use crate::dispatch;
use crate::outgoing::{Later, Now};
use crate::session::Session;

/// Answers `initialize`, always as a conversation of its own; the new session's id is in the header.
pub(super) fn handshake(endpoint: &Endpoint, caller: Caller, message: Message) -> Answer {
    let session = Session::new(caller, Revision::LATEST_LEGACY);
    let mut frame = Vec::new();
    // It never waits.
    let now = dispatch::dispatch(&endpoint.server, &session, Ok(message), &mut || None, &mut frame);
    if !matches!(now, Now::Written(None)) {
        return answer::json(StatusCode::OK, frame);
    }
    match endpoint.sessions.open(session, None) {
        Ok((id, _)) => {
            let mut answer = answer::json(StatusCode::OK, frame);
            answer.headers_mut().insert(HeaderName::from_static(SESSION_ID), sessions::header(&id));
            answer
        }
        Err(fault) => not_opened(&fault),
    }
}

/// The answer to a client that gets no session.
pub(super) fn not_opened(fault: &OpenFault) -> Answer {
    match fault {
        OpenFault::NoRandomness => {
            answer::text(StatusCode::INTERNAL_SERVER_ERROR, "the system gives no randomness\n")
        }
        OpenFault::Full => {
            answer::text(StatusCode::SERVICE_UNAVAILABLE, "too many sessions are in use; try again later\n")
        }
    }
}

/// Finds the conversation that a request belongs to: its session, or one of its own if it names none.
fn conversation(endpoint: &Endpoint, caller: Caller, head: &HeaderMap) -> Result<Arc<Open>, Box<Answer>> {
    let said = head::legacy_revision(head)?;
    match endpoint.sessions.named(head, &caller) {
        Named::Open(open) => Ok(open),
        Named::Unknown => Err(sessions::unknown().into()),
        Named::None => {
            let revision = said.unwrap_or(Revision::UNSAID_OVER_HTTP);
            let session = Session::new(caller, revision);
            Ok(Open::passing(session, endpoint.total.clone()))
        }
    }
}

/// Answers one message.
pub(super) async fn message(
    endpoint: &Arc<Endpoint>,
    caller: Caller,
    head: &HeaderMap,
    takes_events: TakesEvents,
    message: Message,
) -> Answer {
    let open = match conversation(endpoint, caller, head) {
        Ok(open) => open,
        Err(refusal) => return *refusal,
    };
    let mut outgoing = Outgoing::default();
    let mut out = Vec::new();
    let mut outbox = || takes_events.then(|| outgoing.outbox());
    match dispatch::dispatch(&endpoint.server, &open.session, Ok(message), &mut outbox, &mut out) {
        Now::Nothing => answer::empty(StatusCode::ACCEPTED),
        Now::Written(_) => answer::json(StatusCode::OK, out),
        Now::Later(later) => finish(endpoint, &open, later, outgoing.frames(), takes_events).await,
    }
}

/// Answers a batch (2025-03-26).
pub(super) async fn batch(
    endpoint: &Arc<Endpoint>,
    caller: Caller,
    head: &HeaderMap,
    takes_events: TakesEvents,
    messages: Vec<Result<Message, Rejected>>,
) -> Answer {
    let open = match conversation(endpoint, caller, head) {
        Ok(open) => open,
        Err(refusal) => return *refusal,
    };
    let mut outgoing = Outgoing::default();
    let mut outbox = || takes_events.then(|| outgoing.outbox());
    match dispatch::batch(&endpoint.server, &open.session, messages, &mut outbox) {
        Ok(None) => answer::empty(StatusCode::ACCEPTED),
        Ok(Some(later)) => finish(endpoint, &open, later, outgoing.frames(), takes_events).await,
        Err(error) => answer::error(StatusCode::BAD_REQUEST, None, &error),
    }
}

/// Waits for an answer, and turns to a stream once there is something to tell before it.
async fn finish(
    endpoint: &Arc<Endpoint>,
    open: &Arc<Open>,
    later: Later,
    mut frames: Frames,
    takes_events: TakesEvents,
) -> Answer {
    let mut later = Detached::new(endpoint, later);
    let silence = if open.is_primed() { SILENCE_RESUMABLE_MAX } else { SILENCE_MAX };
    match First::of(&mut later, &mut frames, takes_events.then_some(silence)).await {
        First::Answer(reply) => only(reply.map(|reply| reply.frame), StatusCode::OK, takes_events),
        First::Stream { message, answer } => {
            let Ok(place) = endpoint.streaming.clone().try_acquire_owned() else {
                let why = "too many answers are streams that go on; try again later\n";
                return answer::text(StatusCode::SERVICE_UNAVAILABLE, why);
            };
            let (writer, reader) = open.begin();
            let later = match answer {
                Some(answer) => Detached::new(endpoint, Box::pin(std::future::ready(answer))),
                None => later,
            };
            // A task of its own, since a slow or lost reader must not hold up the call.
            let writing = write(writer, message, frames, later);
            let closing = endpoint.closing.clone();
            endpoint.tasks.spawn(async move {
                closing.run_until_cancelled(writing).await;
                drop(place);
            });
            following(reader)
        }
    }
}

/// Writes the messages of one POST as they come, and its answer at the end.
async fn write(writer: Writer, first: Option<Vec<u8>>, mut frames: Frames, mut later: Detached) {
    if let Some(first) = first {
        writer.write(&first).await;
    }
    let reply = loop {
        let frame = async {
            writer.room().await;
            frames.next().await
        };
        tokio::select! {
            biased;
            frame = frame => writer.write(&frame).await,
            reply = &mut later => break reply,
        }
    };
    // What was said in the same turn as the answer comes before it.
    while let Some(frame) = frames.ready() {
        writer.write(&frame).await;
    }
    if let Some(reply) = reply {
        writer.write(&reply.frame).await;
    }
}

/// The answer that follows a stream of a POST to its end.
pub(super) fn following(reader: Reader) -> Answer {
    let events = stream::unfold(reader, |mut reader| async move {
        let event = reader.next().await?;
        Some((event, reader))
    });
    answer::events(Events::new(events, QUIET_MAX))
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
            let frames = Outgoing::default().frames();
            finish(&endpoint, &open, Box::pin(std::future::pending()), frames, true).await
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
