//! A GET: the standing stream of a session, on which we say what nobody asked for; or, for a client that names the
//! last event it has, the rest of a stream whose connection broke.

use std::sync::Arc;

use futures_util::stream;
use gate::Caller;
use hyper::StatusCode;
use hyper::header::HeaderMap;
use wire::http::LAST_EVENT_ID;
use wire::param_headers::HeaderText;
use wire::{Code, WireError};

use super::answer::{self, Answer, Answered};
use super::endpoint::Endpoint;
use super::event_log::EventId;
use super::events::{QUIET_MAX, events};
use super::sessions::Open;
use super::streams::{NothingKept, Reader, STANDING};
use super::{head, legacy};
use crate::Server;

/// Opens the stream.
pub(super) fn open(endpoint: &Arc<Endpoint>, caller: &Caller, headers: &HeaderMap) -> Answered {
    head::takes_stream(headers)?;
    head::legacy_revision(headers)?;
    let open = endpoint.sessions.named(headers, caller)?.ok_or_else(|| {
        answer::refusal(StatusCode::BAD_REQUEST, "a stream belongs to a session: initialize first")
    })?;
    let last = match head::said(headers, LAST_EVENT_ID) {
        HeaderText::Absent => None,
        HeaderText::Once(id) => Some(EventId::parse(id).ok_or(NothingKept)?),
        HeaderText::Repeated | HeaderText::Unreadable => return Err(NothingKept.into()),
    };
    match last {
        Some(last) if last.stream != STANDING => Ok(legacy::following(open.streams.resume(last)?)),
        last => {
            let reader = open.streams.stand(last.map(|last| last.sequence))?;
            Ok(standing(endpoint.server.clone(), open, reader))
        }
    }
}

impl From<NothingKept> for Box<Answer> {
    /// The answer to a client that asks for what there is no trace of. Not 404, which would mean that the session is
    /// gone.
    fn from(NothingKept: NothingKept) -> Box<Answer> {
        let why = "Bad Request: nothing is kept of what followed this Last-Event-ID; ask again without it";
        answer::bad_request(None, &WireError::new(Code::InvalidRequest, why))
    }
}

/// Tells what happens until the client hangs up, opens another, or its session ends.
fn standing(server: Arc<Server>, open: Arc<Open>, reader: Reader) -> Answer {
    let pieces = stream::unfold((server, open, reader), |(server, open, mut reader)| async move {
        loop {
            tokio::select! {
                biased;
                event = reader.next() => return event.map(|event| (event, (server, open, reader))),
                message = open.announced(&server) => open.streams.tell(&message),
            }
        }
    });
    answer::events(events(pieces, QUIET_MAX))
}
