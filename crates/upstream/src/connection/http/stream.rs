//! `Stream`: events as they arrive in the body of an answer, each of them a message.

use bytes::Bytes;
use hyper::body::Incoming;
use wire::sse::{Event, Events};

use super::super::{Fault, Via};
use super::place::Place;
use super::{Peer, body};

/// A body that is a stream of events, and what of it has arrived.
pub(in crate::connection) struct Stream {
    body: Incoming,
    events: Events,
}

impl Stream {
    pub(in crate::connection) fn new(body: Incoming) -> Stream {
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
    pub(in crate::connection) async fn next(&mut self) -> Result<Event, Fault> {
        loop {
            if let Some(event) = self.events.next_event() {
                return Ok(event);
            }
            let piece = body::next(&mut self.body).await?;
            let piece = piece.ok_or_else(|| Fault::Gone("ended its answer too early".to_owned()))?;
            self.events.feed(&piece).map_err(|error| Fault::Broken(error.to_string()))?;
        }
    }

    /// The next message.
    ///
    /// # Errors
    /// At the end of the stream, however it came.
    pub(in crate::connection) async fn next_message(&mut self) -> Result<Bytes, Fault> {
        loop {
            let event = self.next().await?;
            if is_message(&event) {
                return Ok(event.data.into());
            }
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
pub(super) async fn read_events(
    stream: &mut Stream,
    peer: &Peer,
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
        body::take_in(peer, event.data.into(), via).await;
        if let Via::Request(id) = via
            && !peer.exchange().is_open(id)
        {
            return Ok(());
        }
    }
}
