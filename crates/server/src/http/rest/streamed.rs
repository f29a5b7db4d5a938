//! A call as events (server-sent): `progress` and `log` while it runs, and `result` at its end.
//!
//! A slow reader never holds the call up: what it does not take is dropped, but for the end.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use futures_util::stream;
use gate::{Listener, Progress};
use serde_json::{Value, json};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};

use super::super::answer::{self, Answer};
use super::super::events::events;
use super::invoked::Invoked;

/// Events that may wait for a slow reader.
const WAITING_MAX: usize = 64;

/// The same in bytes: a server may log as much as a message holds.
const WAITING_BYTES_MAX: usize = 1024 * 1024;

/// How long a stream may say nothing before a comment goes out.
const QUIET_MAX: Duration = Duration::from_secs(15);

/// Hears a call that runs.
pub(super) struct Told {
    events: mpsc::Sender<Waiting>,
    room: Arc<Semaphore>,
}

/// What was heard.
pub(super) struct Heard(mpsc::Receiver<Waiting>);

/// An event that waits, and its room, which it gives back when it is taken.
struct Waiting {
    event: Bytes,
    _room: OwnedSemaphorePermit,
}

/// Both ends of the way.
pub(super) fn channel() -> (Told, Heard) {
    let (events, receiver) = mpsc::channel(WAITING_MAX);
    (Told { events, room: Arc::new(Semaphore::new(WAITING_BYTES_MAX)) }, Heard(receiver))
}

impl Told {
    fn tell(&self, name: &str, data: &[u8]) {
        let event = event(name, None, data);
        // One that is larger than all the room goes out if no other waits.
        let bytes = u32::try_from(event.len().min(WAITING_BYTES_MAX)).unwrap_or(u32::MAX);
        // A full way drops the event.
        if let Ok(room) = self.room.clone().try_acquire_many_owned(bytes) {
            let _ = self.events.try_send(Waiting { event, _room: room });
        }
    }
}

impl Heard {
    async fn next(&mut self) -> Option<Bytes> {
        self.0.recv().await.map(|waiting| waiting.event)
    }

    /// One that waits by now.
    fn waiting(&mut self) -> Option<Bytes> {
        self.0.try_recv().ok().map(|waiting| waiting.event)
    }
}

impl Listener for Told {
    fn progress(&self, progress: Progress) {
        let told = match progress {
            Progress::Step { done, total, message } => {
                json!({ "progress": done, "total": total, "message": message })
            }
            Progress::Relayed(params) => {
                let Ok(Value::Object(mut told)) = serde_json::from_slice(&params) else { return };
                told.remove("progressToken");
                told.into()
            }
        };
        self.tell("progress", told.to_string().as_bytes());
    }

    fn log(&self, params: Bytes) {
        self.tell("log", &params);
    }
}

/// All events of a call.
pub(super) fn answer(running: BoxFuture<'static, Invoked>, heard: Heard) -> Answer {
    let pieces =
        stream::unfold((Some(running), heard, None), |(mut running, mut heard, mut end)| async move {
            if let Some(call) = &mut running {
                tokio::select! {
                    biased;
                    Some(event) = heard.next() => return Some((event, (running, heard, end))),
                    invoked = call => {
                        end = Some(event("result", None, &invoked.text()));
                        // With it, nobody tells anything any more.
                        running = None;
                    }
                }
            }
            // What was told in the same turn comes before the end.
            let event = heard.waiting().or_else(|| end.take())?;
            Some((event, (running, heard, end)))
        });
    answer::events(events(pieces, QUIET_MAX))
}

/// One event, with a number if it has one. Its data is JSON, which may stand on several lines.
pub(super) fn event(name: &str, number: Option<u64>, data: &[u8]) -> Bytes {
    let id = number.map(|number| format!("id: {number}\n")).unwrap_or_default();
    let mut out = format!("{id}event: {name}\n").into_bytes();
    for line in data.split(|byte| matches!(byte, b'\n' | b'\r')) {
        out.extend_from_slice(b"data: ");
        out.extend_from_slice(line);
        out.push(b'\n');
    }
    out.push(b'\n');
    out.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_stands_on_lines_of_its_own() {
        assert_eq!(event("result", None, b"{\r\n}"), "event: result\ndata: {\ndata: \ndata: }\n\n");
        assert_eq!(event("log", Some(7), b"{}"), "id: 7\nevent: log\ndata: {}\n\n");
    }

    #[test]
    fn what_a_slow_reader_leaves_is_dropped() {
        let (told, mut heard) = channel();
        for done in 0..WAITING_MAX + 10 {
            told.progress(Progress::Step { done: done as f64, total: None, message: None });
        }
        told.progress(Progress::Relayed(Bytes::from_static(b"not JSON")));
        let (relays, mut relayed) = channel();
        relays.progress(Progress::Relayed(Bytes::from_static(br#"{"progressToken":"t","progress":1}"#)));
        assert_eq!(relayed.waiting().unwrap(), "event: progress\ndata: {\"progress\":1}\n\n");
        let mut events = Vec::new();
        while let Some(event) = heard.waiting() {
            events.push(event);
        }
        assert_eq!(events.len(), WAITING_MAX);
        assert_eq!(
            events[0],
            "event: progress\ndata: {\"message\":null,\"progress\":0.0,\"total\":null}\n\n"
        );
    }

    #[test]
    fn what_waits_is_bounded_in_bytes_as_well() {
        let (told, mut heard) = channel();
        let half = Bytes::from(vec![b'x'; WAITING_BYTES_MAX / 2 + 1]);
        told.log(half.clone());
        told.log(half.clone());
        told.log(Bytes::from_static(b"{}"));
        let lengths = std::iter::from_fn(|| heard.waiting()).map(|event| event.len()).collect::<Vec<_>>();
        assert_eq!(lengths, [half.len() + 19, 21]);
        told.log(half);
        assert!(heard.waiting().is_some(), "what was taken makes room");
        let large = Bytes::from(vec![b'x'; WAITING_BYTES_MAX + 1]);
        told.log(large.clone());
        told.log(Bytes::from_static(b"{}"));
        let lengths = std::iter::from_fn(|| heard.waiting()).map(|event| event.len()).collect::<Vec<_>>();
        assert_eq!(lengths, [large.len() + 19]);
    }
}
