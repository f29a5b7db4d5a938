//! The four lists. One that can be given at once is; else it waits a moment for sources that have not reported, or whose
//! lists are not good any more.

use std::time::Duration;

use wire::{WireError, paging};

use super::request::Request;
use crate::list_kind::ListKind;
use crate::outgoing::{Now, Reply};

/// Answers a list request.
pub(super) fn list(request: &mut Request<'_>, kind: ListKind) -> Result<Now, WireError> {
    let cursor = paging::list_cursor(request.params.as_ref())?;
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
    let catalog = request.server.gate.catalog();
    let offer = catalog.offer();
    if offer.is_settled && offer.good_for() != Some(Duration::ZERO) {
        return request.answer(&page(&offer)?);
    }
    let (in_flight, catalog, id) = (request.begin()?, catalog.clone(), request.id.clone());
    Ok(Now::Later(Box::pin(async move {
        let offer = tokio::select! {
            biased;
            () = in_flight.cancel.cancelled() => return None,
            offer = catalog.soon() => offer,
        };
        let page = page(&offer);
        tracing::debug!(target: "mcp", %id, "sending response");
        Some(match page {
            Ok(page) => Reply::result(&id, &page),
            Err(error) => Reply::error(&id, &error),
        })
    })))
}
