//! The four lists. One that can be given at once is; else it waits for sources that have not reported.

use wire::paging;

use super::request::Request;
use crate::list_kind::ListKind;
use crate::outgoing::{Now, Reply};

/// Answers a list request.
pub(super) fn list(request: Request<'_>, kind: ListKind) -> Now {
    let cursor = match paging::list_cursor(request.params.as_ref()) {
        Ok(cursor) => cursor,
        Err(error) => return request.refuse(&error),
    };
    let revision = request.revision();
    let (server, session) = (request.server.clone(), request.session.clone());
    let page = move |offer: &gate::Offer| {
        let page = server.lists.page(&server.gate, offer, &session.caller, revision, kind, cursor.as_deref());
        // A modern client hears of changes only where it has asked to.
        if !revision.is_modern() && page.is_ok() {
            session.seen.saw(kind, &offer.versions);
        }
        page
    };
    let offer = request.server.gate.catalog().offer();
    if offer.is_settled() {
        return match page(&offer) {
            Ok(page) => request.answer(&page),
            Err(error) => request.refuse(&error),
        };
    }
    let in_flight = match request.begin() {
        Ok(in_flight) => in_flight,
        Err(error) => return request.refuse(&error),
    };
    let (server, id) = (request.server.clone(), request.id);
    Now::Later(Box::pin(async move {
        let offer = tokio::select! {
            biased;
            () = in_flight.cancel.cancelled() => return None,
            offer = server.gate.catalog().settled() => offer,
        };
        let page = page(&offer);
        tracing::debug!(target: "mcp", %id, "sending response");
        Some(match page {
            Ok(page) => Reply::result(&id, |out| out.extend_from_slice(&page)),
            Err(error) => Reply::error(&id, &error),
        })
    }))
}
