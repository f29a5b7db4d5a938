//! A call as events (server-sent): `progress` and `log` while it runs, and `result` at its end.
//!
//! A slow reader never holds the call up: what it does not take is dropped, but for the end.

use std::time::Duration;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use futures_util::stream;
use gate::{Listener, Progress};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::super::answer::{self, Answer};
use super::super::events::events;
use super::invoked::Invoked;

/// Events that may wait for a slow reader.
const WAITING_MAX: usize = 64;

/// How long a stream may say nothing before a comment goes out.
const QUIET_MAX: Duration = Duration::from_secs(15);

/// Hears a call that runs.
pub(super) struct Told(mpsc::Sender<Bytes>);

/// What was heard.
pub(super) struct Heard(mpsc::Receiver<Bytes>);

/// Both ends of the way.
pub(super) fn channel() -> (Told, Heard) {
    let (sender, receiver) = mpsc::channel(WAITING_MAX);
    (Told(sender), Heard(receiver))
}

impl Told {
    fn tell(&self, name: &str, data: &[u8]) {
        // A full way drops the event.
        let _ = self.0.try_send(event(name, None, data));
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
        stream::unfold((Some(running), heard.0, None), |(mut running, mut heard, mut end)| async move {
            if let Some(call) = &mut running {
                tokio::select! {
                    biased;
                    Some(event) = heard.recv() => return Some((event, (running, heard, end))),
                    invoked = call => {
                        end = Some(event("result", None, &invoked.text()));
                        // With it, nobody tells anything any more.
                        running = None;
                    }
                }
            }
            // What was told in the same turn comes before the end.
            let event = heard.try_recv().ok().or_else(|| end.take())?;
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
        assert_eq!(relayed.0.try_recv().unwrap(), "event: progress\ndata: {\"progress\":1}\n\n");
        let mut events = Vec::new();
        while let Ok(event) = heard.0.try_recv() {
            events.push(event);
        }
        assert_eq!(events.len(), WAITING_MAX);
        assert_eq!(
            events[0],
            "event: progress\ndata: {\"message\":null,\"progress\":0.0,\"total\":null}\n\n"
        );
    }
}
