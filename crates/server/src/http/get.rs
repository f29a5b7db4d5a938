//! A GET: the standing stream of a session, on which we say what nobody asked for; or, for a client that names the
//! last event it has, the rest of a stream whose connection broke.

use std::sync::Arc;

use futures_util::stream;
use gate::Caller;
use hyper::StatusCode;
use hyper::header::HeaderMap;
use wire::http::{EVENT_STREAM, LAST_EVENT_ID};
use wire::param_headers::HeaderText;
use wire::{Code, WireError};

use super::answer::{self, Answer};
use super::endpoint::Endpoint;
use super::event_log::EventId;
use super::events::{Events, QUIET_MAX};
use super::sessions::{self, Named, Open};
use super::streams::{NothingKept, Reader, STANDING};
use super::{head, legacy};
use crate::Server;

/// Opens the stream.
pub(super) fn open(endpoint: &Arc<Endpoint>, caller: &Caller, headers: &HeaderMap) -> Answer {
    if !head::accepts(headers, EVENT_STREAM) && !head::accepts(headers, "*/*") {
        return answer::text(StatusCode::NOT_ACCEPTABLE, "accept text/event-stream to open a stream\n");
    }
    if let Err(refusal) = head::legacy_revision(headers) {
        return *refusal;
    }
    let open = match endpoint.sessions.named(headers, caller) {
        Named::Open(open) => open,
        Named::Unknown => return sessions::unknown(),
        Named::None => {
            return answer::text(
                StatusCode::BAD_REQUEST,
                "a stream belongs to a session: initialize first\n",
            );
        }
    };
    let last = match head::said(headers, LAST_EVENT_ID) {
        HeaderText::Absent => None,
        HeaderText::Once(id) => match EventId::parse(id) {
            Some(id) => Some(id),
            None => return nothing_kept(),
        },
        HeaderText::Repeated | HeaderText::Unreadable => return nothing_kept(),
    };
    match last {
        Some(last) if last.stream != STANDING => match open.resume(last) {
            Ok(reader) => legacy::following(reader),
            Err(NothingKept) => nothing_kept(),
        },
        last => match open.stand(last.map(|last| last.sequence)) {
            Ok(reader) => standing(endpoint.server.clone(), open, reader),
            Err(NothingKept) => nothing_kept(),
        },
    }
}

/// The answer to a client that asks for what there is no trace of. Not 404, which would mean that the session is
/// gone.
fn nothing_kept() -> Answer {
    let why = "Bad Request: nothing is kept of what followed this Last-Event-ID; ask again without it";
    answer::error(StatusCode::BAD_REQUEST, None, &WireError::new(Code::InvalidRequest, why))
}

/// Tells what happens until the client hangs up, opens another, or its session ends.
fn standing(server: Arc<Server>, open: Arc<Open>, reader: Reader) -> Answer {
    let events = stream::unfold((server, open, reader), |(server, open, mut reader)| async move {
        loop {
            tokio::select! {
                biased;
                event = reader.next() => return event.map(|event| (event, (server, open, reader))),
                message = open.announced(&server) => open.streams.tell(&message),
            }
        }
    });
    answer::events(Events::new(events, QUIET_MAX))
}
