//! What only the revisions with sessions have: watching single resources, and how grave log messages must be.

use gate::Failure;
use wire::{Code, LogLevel, WireError, resources};

use super::request::Request;
use crate::outgoing::{Now, Reply};
use crate::reply::{self, RequestFacts};
use crate::session::SUBSCRIBED_MAX;
use crate::subscription::ResourceSubscription;

/// Answers `resources/subscribe`.
pub(super) fn subscribe(request: Request<'_>) -> Now {
    let params = match resources::uri_params("resources/subscribe", request.params.as_ref()) {
        Ok(params) => params,
        Err(error) => return request.refuse(&error),
    };
    if request.session.is_subscribed(&params.uri) {
        return request.answer(b"{}");
    }
    if !request.session.may_subscribe() {
        let why = format!("Invalid params: at most {SUBSCRIBED_MAX} resources can be subscribed to");
        return request.refuse(&WireError::new(Code::InvalidParams, why));
    }
    let in_flight = match request.begin() {
        Ok(in_flight) => in_flight,
        Err(error) => return request.refuse(&error),
    };
    let (client, _) = request.client();
    let facts = RequestFacts::resource(request.revision(), &params.uri);
    let (server, session, id) = (request.server.clone(), request.session.clone(), request.id);
    Now::Later(Box::pin(async move {
        let cancel = in_flight.cancel.clone();
        match ResourceSubscription::begin(&server, &session.caller, client, &params.uri, cancel).await {
            Ok(subscription) => {
                session.keep_subscription(subscription);
                Some(Reply::result(&id, |out| out.extend_from_slice(b"{}")))
            }
            Err(failure) => failed(&facts, &id, &failure),
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
    let Some(subscription) = request.session.end_subscription(&params.uri) else {
        return request.answer(b"{}");
    };
    let in_flight = match request.begin() {
        Ok(in_flight) => in_flight,
        Err(error) => return request.refuse(&error),
    };
    let (client, _) = request.client();
    let facts = RequestFacts::resource(request.revision(), &params.uri);
    let id = request.id;
    Now::Later(Box::pin(async move {
        let ended = subscription.end(client).await;
        drop(in_flight);
        match ended {
            Ok(()) => Some(Reply::result(&id, |out| out.extend_from_slice(b"{}"))),
            Err(failure) => failed(&facts, &id, &failure),
        }
    }))
}

fn failed(facts: &RequestFacts, id: &wire::Id, failure: &Failure) -> Option<Reply> {
    (!failure.is_cancelled()).then(|| Reply::error(id, &reply::protocol_error(facts, failure)))
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
