//! What only the revisions with sessions have: watching single resources, and how grave log messages must be.

use gate::{Action, Failure};
use wire::{Code, LogLevel, WireError, resources};

use super::request::Request;
use crate::outgoing::{Now, Reply};
use crate::reply::{self, About, RequestFacts};
use crate::session::{InFlight, SUBSCRIBED_MAX};
use crate::subscription::ResourceSubscription;

/// Answers `resources/subscribe`.
pub(super) fn subscribe(request: &mut Request<'_>) -> Result<Now, WireError> {
    let uri = resources::uri_params("resources/subscribe", request.params.as_ref())?.0;
    if request.session.is_subscribed(&uri) {
        return request.answer(b"{}");
    }
    if !request.session.may_subscribe() {
        let why = format!("Invalid params: at most {SUBSCRIBED_MAX} resources can be subscribed to");
        return Err(WireError::new(Code::InvalidParams, why));
    }
    let in_flight = request.begin()?;
    let (server, session, cancel) =
        (request.server.clone(), request.session.clone(), in_flight.cancel.clone());
    let (client, _) = request.client();
    Ok(finish(request, uri.clone(), in_flight, async move {
        let begun = ResourceSubscription::begin(&server, &session.caller, client, &uri, cancel).await?;
        session.keep_subscription(begun);
        Ok(())
    }))
}

/// Answers `resources/unsubscribe`.
pub(super) fn unsubscribe(request: &mut Request<'_>) -> Result<Now, WireError> {
    let uri = resources::uri_params("resources/unsubscribe", request.params.as_ref())?.0;
    // Not to be told of it any more is all that is asked for.
    let Some(subscription) = request.session.end_subscription(&uri) else {
        return request.answer(b"{}");
    };
    let (client, _) = request.client();
    Ok(finish(request, uri, request.begin()?, subscription.end(client)))
}

/// Answers with nothing but that it is done, once it is.
fn finish(
    request: &Request<'_>,
    uri: String,
    in_flight: InFlight,
    work: impl Future<Output = Result<(), Failure>> + Send + 'static,
) -> Now {
    let about = About::Resource(Action::Subscribe, uri);
    let facts = RequestFacts { revision: request.revision(), about, has_state: false };
    let id = request.id.clone();
    Now::Later(Box::pin(async move {
        let done = work.await;
        drop(in_flight);
        match done {
            Ok(()) => Some(Reply::result(&id, b"{}")),
            Err(failure) if failure.is_cancelled() => None,
            Err(failure) => Some(Reply::error(&id, &reply::protocol_error(&facts, &failure))),
        }
    }))
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
    request.answer(b"{}")
}
