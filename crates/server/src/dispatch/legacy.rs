//! What only the revisions with sessions have: watching single resources, and how grave log messages must be.

use gate::Failure;
use wire::{Code, LogLevel, WireError, resources};

use super::{Now, Reply, Request};
use crate::reply::{self, Asked};
use crate::session::WATCHED_MAX;
use crate::watch::Watch;

/// Answers `resources/subscribe`.
pub(super) fn subscribe(request: Request<'_>) -> Now {
    let params = match resources::uri_params("resources/subscribe", request.params.as_ref()) {
        Ok(params) => params,
        Err(error) => return request.refuse(&error),
    };
    if request.session.is_watching(&params.uri) {
        return request.answer(b"{}");
    }
    if !request.session.may_watch() {
        let why = format!("Invalid params: at most {WATCHED_MAX} resources can be subscribed to");
        return request.refuse(&WireError::new(Code::InvalidParams, why));
    }
    let in_flight = match request.begin() {
        Ok(in_flight) => in_flight,
        Err(error) => return request.refuse(&error),
    };
    let (client, _) = request.client();
    let asked = Asked::resource(request.revision(), &params.uri);
    let (server, session, id) = (request.server.clone(), request.session.clone(), request.id);
    Now::Later(Box::pin(async move {
        let cancel = in_flight.cancel.clone();
        match Watch::begin(&server, &session.caller, client, &params.uri, cancel).await {
            Ok(watch) => {
                session.watch(watch);
                Some(Reply::result(&id, |out| out.extend_from_slice(b"{}")))
            }
            Err(failure) => failed(&asked, &id, &failure),
        }
    }))
}

/// Answers `resources/unsubscribe`.
pub(super) fn unsubscribe(request: Request<'_>) -> Now {
    let params = match resources::uri_params("resources/unsubscribe", request.params.as_ref()) {
        Ok(params) => params,
        Err(error) => return request.refuse(&error),
    };
    // Not to be told of it any more is all that is asked for.
    let Some(watch) = request.session.unwatch(&params.uri) else { return request.answer(b"{}") };
    let in_flight = match request.begin() {
        Ok(in_flight) => in_flight,
        Err(error) => return request.refuse(&error),
    };
    let (client, _) = request.client();
    let asked = Asked::resource(request.revision(), &params.uri);
    let id = request.id;
    Now::Later(Box::pin(async move {
        let ended = watch.end(client).await;
        drop(in_flight);
        match ended {
            Ok(()) => Some(Reply::result(&id, |out| out.extend_from_slice(b"{}"))),
            Err(failure) => failed(&asked, &id, &failure),
        }
    }))
}

fn failed(asked: &Asked, id: &wire::Id, failure: &Failure) -> Option<Reply> {
    (!failure.is_cancelled()).then(|| Reply::error(id, &reply::protocol_error(asked, failure)))
}

/// Answers `logging/setLevel`.
pub(super) fn set_level(request: Request<'_>) -> Now {
    let params = request.params.as_ref().and_then(wire::message::Text::object);
    let level = params.and_then(|params| params.string("level")).and_then(|name| LogLevel::parse(&name));
    match level {
        Some(level) => {
            request.session.set_log_level(level);
            request.answer(b"{}")
        }
        None => {
            let names = LogLevel::ALL.map(LogLevel::name).join(", ");
            let why = format!("Invalid params: \"level\" must be one of {names}");
            request.refuse(&WireError::new(Code::InvalidParams, why))
        }
    }
}
