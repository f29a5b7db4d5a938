//! What only the revisions with sessions have: watching single resources, and how grave log messages must be.

use gate::Action;
use wire::{Code, LogLevel, WireError, resources};

use super::request::Request;
use crate::outgoing::{Now, Reply};
use crate::reply::{self, About, RequestFacts};
use crate::session::SUBSCRIBED_MAX;
use crate::subscription::ResourceSubscription;

/// Answers `resources/subscribe`.
pub(super) fn subscribe(request: &mut Request<'_>) -> Result<Now, WireError> {
    let uri = resources::uri_params("resources/subscribe", request.params.as_ref())?.0;
    if request.session.is_subscribed(&uri) {
        return request.answer(b"{}", None);
    }
    if !request.session.may_subscribe() {
        let why = format!("Invalid params: at most {SUBSCRIBED_MAX} resources can be subscribed to");
        return Err(WireError::new(Code::InvalidParams, why));
    }
    let in_flight = request.begin()?;
    let (server, session) = (request.server.clone(), request.session.clone());
    let (client, _) = request.client();
    let about = About::Resource(Action::Subscribe, uri.clone());
    let facts = RequestFacts { revision: request.revision(), about, has_state: false };
    let id = request.id.clone();
    Ok(Now::Later(Box::pin(async move {
        let cancel = in_flight.cancel.clone();
        let begun = ResourceSubscription::begin(&server, &session.caller, client, &uri, cancel).await;
        drop(in_flight);
        match begun {
            Ok(begun) => {
                session.keep_subscription(begun);
                Some(Reply::result(&id, b"{}"))
            }
            Err(failure) if failure.is_cancelled() => None,
            Err(failure) => Some(Reply::error(&id, &reply::protocol_error(&facts, &failure))),
        }
    })))
}

/// Answers `resources/unsubscribe`.
pub(super) fn unsubscribe(request: &mut Request<'_>) -> Result<Now, WireError> {
    let uri = resources::uri_params("resources/unsubscribe", request.params.as_ref())?.0;
    // Not to be told of it any more is all that is asked for. That its source watches no more follows.
    request.session.end_subscription(&uri);
    request.answer(b"{}", None)
}

/// Answers `logging/setLevel`.
pub(super) fn set_level(request: &mut Request<'_>) -> Result<Now, WireError> {
    let level = request.object().and_then(|params| LogLevel::parse(&params.string("level")?));
    let Some(level) = level else {
        let names = wire::log_level::NAMES.join(", ");
        let why = format!("Invalid params: \"level\" must be one of {names}");
        return Err(WireError::new(Code::InvalidParams, why));
    };
    request.session.set_log_level(level);
    request.answer(b"{}", None)
}
