//! The GET stream of a session: what we tell a client without being asked.

use std::sync::Arc;

use hyper::StatusCode;
use hyper::header::{ACCEPT, HeaderMap};
use tokio::sync::mpsc;
use wire::http::EVENT_STREAM;

use super::Door;
use super::answer::{self, Answer};
use super::sessions::{self, Named, Open};
use crate::dispatch;

/// Messages that may wait for a slow reader of its stream.
const MESSAGES_WAITING_MAX: usize = 4;

/// Opens the stream.
pub(super) fn open(door: &Arc<Door>, headers: &HeaderMap) -> Answer {
    let accepts = headers
        .get_all(ACCEPT)
        .iter()
        .any(|kinds| kinds.to_str().is_ok_and(|kinds| kinds.contains(EVENT_STREAM) || kinds.contains("*/*")));
    if !accepts {
        return answer::text(StatusCode::NOT_ACCEPTABLE, "accept text/event-stream to open a stream\n");
    }
    match door.sessions.named(headers) {
        Named::None => {
            answer::text(StatusCode::BAD_REQUEST, "a stream belongs to a session: initialize first\n")
        }
        Named::Unknown => sessions::unknown(),
        Named::Open(open) => {
            let (sender, messages) = mpsc::channel(MESSAGES_WAITING_MAX);
            tokio::spawn(tell(door.clone(), open, sender));
            answer::events(messages)
        }
    }
}

/// Tells the client of changes until it hangs up or its session ends.
async fn tell(door: Arc<Door>, open: Arc<Open>, sender: mpsc::Sender<Vec<u8>>) {
    let mut changes = door.server.gate().catalog().changes();
    // What changed while no stream was open is told now, if the client has not seen it.
    changes.mark_changed();
    let mut ended = open.ended.subscribe();
    if *ended.borrow() {
        return;
    }
    loop {
        tokio::select! {
            biased;
            // Changed means ended, and so does a sender that is gone.
            _ = ended.changed() => return,
            () = sender.closed() => return,
            Ok(()) = changes.changed() => {
                let version = *changes.borrow_and_update();
                if open.session.should_hear_of(version) && sender.send(dispatch::list_changed()).await.is_err() {
                    return;
                }
            }
        }
    }
}
