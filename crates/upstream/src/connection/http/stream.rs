//! `Stream`: events as they arrive in the body of an answer, each of them a message.

use std::sync::Arc;

use bytes::Bytes;
use hyper::body::Incoming;
use wire::sse::{Event, Events};

use super::super::via::Via;
use super::body;
use super::peer::Peer;
use super::place::Place;
use crate::fault::Fault;

/// A body that is a stream of events, and what of it has arrived.
pub(crate) struct Stream {
    body: Incoming,
    events: Events,
}

impl Stream {
    pub(crate) fn new(body: Incoming) -> Stream {
        Stream { body, events: Events::default() }
    }

    pub(super) fn body(&mut self) -> &mut Incoming {
        &mut self.body
    }

    pub(super) fn into_body(self) -> Incoming {
        self.body
    }

    /// The next event. Nothing is lost if the future is dropped.
    ///
    /// # Errors
    /// At the end of the stream, however it came.
    pub(crate) async fn next(&mut self) -> Result<Event, Fault> {
        loop {
            if let Some(event) = self.events.next_event() {
                return Ok(event);
            }
            let piece = body::next(&mut self.body).await?;
            let piece = piece.ok_or_else(|| Fault::Gone("ended its answer too early".to_owned()))?;
            self.events.feed(&piece).map_err(|error| Fault::Broken(error.to_string()))?;
        }
    }
}

/// True if the event holds a message.
fn is_message(event: &Event) -> bool {
    (event.kind.is_empty() || event.kind == "message") && !event.data.is_empty()
}

/// Takes in a stream up to the answer of the request it belongs to, and notes how far it came.
///
/// # Errors
/// At the end of the stream, or when it breaks.
pub(crate) async fn read_events(
    stream: &mut Stream,
    peer: &Arc<Peer>,
    via: Via,
    place: &mut Place,
) -> Result<(), Fault> {
    let asked_behind = place.last_id().cloned();
    loop {
        let event = stream.next().await;
        place.note(&stream.events);
        let event = event?;
        // Some servers begin with the very event that they were asked to go on behind.
        let is_old = match (&event.id, &asked_behind) {
            (Some(id), Some(old)) => id.as_bytes() == old.as_bytes(),
            _ => false,
        };
        if is_old || !is_message(&event) {
            continue;
        }
        take_in(peer, event.data.into(), via).await;
        if let Via::Request(id) = via
            && !peer.exchange.pending.is_open(id)
        {
            return Ok(());
        }
    }
}

/// Takes in a body that is one message.
///
/// # Errors
/// Always: what was wrong with it, in case that the answer was not in it.
pub(super) async fn read_one(whole: &mut Incoming, peer: &Arc<Peer>, via: Via) -> Result<(), Fault> {
    let whole = body::read_up_to(whole, body::ANSWER_BYTES_MAX).await?;
    if whole.trim_ascii().is_empty() {
        return Err(Fault::Broken("it accepted the request and gave no answer".to_owned()));
    }
    take_in(peer, whole, via).await;
    Err(Fault::Broken("it answered with something else than a message of MCP".to_owned()))
}

/// Hands a message to the exchange. What that wants to say to the server goes out while more is read: the server may
/// accept it only after it has said something itself.
async fn take_in(peer: &Arc<Peer>, frame: Bytes, via: Via) {
    let mut answers = Vec::new();
    peer.exchange.take_in(frame, via, &mut |answer| answers.push(answer));
    if answers.is_empty() {
        return;
    }
    let permit = peer.answering.clone().acquire_owned().await.expect("nobody closes the semaphore");
    let own = peer.clone();
    // Bounded by the time that each answer has.
    peer.runtime.spawn(async move {
        own.tell_all(answers).await;
        drop(permit);
    });
}
