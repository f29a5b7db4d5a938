//! `Stream`: events as they arrive in the body of an answer, each of them a message; and `Place`, how far one has come,
//! so that the server can be asked for the rest of it (MCP 2025-11-25, Streamable HTTP, "Resumability and Redelivery").

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::HeaderValue;
use hyper::body::Incoming;
use wire::sse::{Event, Events};

use super::super::pending::Via;
use super::body;
use super::peer::Peer;
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

/// How long a server is left alone that does not say how long it wants to be.
const RETRY_DEFAULT: Duration = Duration::from_secs(1);

/// A server that wants to be asked at once is still not asked without a pause.
const RETRY_MIN: Duration = Duration::from_millis(50);

/// Longest wait, whatever a server says and however often it failed.
pub(super) const RETRY_MAX: Duration = Duration::from_secs(60);

/// How far a stream has come. It outlives the connections that the stream is read from.
#[derive(Debug, Default)]
pub(crate) struct Place {
    last_id: Option<HeaderValue>,
    retry: Option<Duration>,
    has_moved: bool,
}

impl Place {
    /// Notes how far `events` has come.
    pub(super) fn note(&mut self, events: &Events) {
        if let Some(retry) = events.retry() {
            self.retry = Some(Duration::from_millis(retry));
        }
        let Some(id) = events.last_id() else { return };
        if self.last_id.as_ref().is_none_or(|known| known.as_bytes() != id.as_bytes()) {
            // An id that no header can carry cannot be asked behind.
            self.last_id = HeaderValue::from_bytes(id.as_bytes()).ok();
            self.has_moved = true;
        }
    }

    /// The id of the last event, to ask behind; nothing if the stream cannot be resumed.
    pub(super) fn last_id(&self) -> Option<&HeaderValue> {
        self.last_id.as_ref()
    }

    /// True if events with new ids came since the last time this was asked.
    pub(super) fn take_moved(&mut self) -> bool {
        std::mem::take(&mut self.has_moved)
    }

    /// Forgets the last event, which the server does not know any more.
    pub(super) fn forget(&mut self) {
        self.last_id = None;
    }

    /// How long to wait before the server is asked again, after so many times in vain: what it said at first,
    /// then twice as long each time.
    pub(super) fn wait(&self, in_vain: u32) -> Duration {
        let first = self.retry.unwrap_or(RETRY_DEFAULT).max(RETRY_MIN);
        first.saturating_mul(1 << in_vain.min(16)).min(RETRY_MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noted(place: &mut Place, stream: &str) {
        let mut events = Events::default();
        events.feed(stream.as_bytes()).expect("small");
        while events.next_event().is_some() {}
        place.note(&events);
    }

    #[test]
    fn the_last_whole_event_is_the_place() {
        let mut place = Place::default();
        noted(&mut place, "data: no id\n\n");
        assert!(place.last_id().is_none() && !place.take_moved());
        noted(&mut place, "id: a\ndata:\n\nid: b\ndata: x\n\nid: c\ndata: cut");
        assert_eq!(place.last_id().map(HeaderValue::as_bytes), Some(&b"b"[..]));
        assert!(place.take_moved());
        noted(&mut place, "id: b\ndata: again\n\n");
        assert!(!place.take_moved());
        noted(&mut place, "id: a\u{1}\ndata:\n\n");
        assert_eq!(place.last_id(), None, "no header can carry it");
    }

    #[test]
    fn the_server_says_how_long_it_wants_to_be_left_alone() {
        let mut place = Place::default();
        let waits = |place: &Place| [0, 1, 3, 60].map(|in_vain| place.wait(in_vain).as_millis());
        assert_eq!(waits(&place), [1_000, 2_000, 8_000, 60_000]);
        noted(&mut place, "retry: 500\n\n");
        assert_eq!(waits(&place), [500, 1_000, 4_000, 60_000]);
        noted(&mut place, "retry: 0\n\n");
        assert_eq!(waits(&place), [50, 100, 400, 60_000]);
        noted(&mut place, "retry: 99999999999\n\n");
        assert_eq!(waits(&place), [60_000; 4]);
    }
}
