//! The four lists. One that can be given at once is; else it waits a moment for sources that have not reported, or whose
//! lists are not good any more.

use std::time::Duration;

use futures_util::FutureExt;
use wire::{WireError, paging};

use super::request::Request;
use crate::list_kind::ListKind;
use crate::outgoing::Now;

/// Answers a list request.
pub(super) fn list(request: &mut Request<'_>, kind: ListKind) -> Result<Now, WireError> {
    let cursor = paging::list_cursor(request.params.as_ref())?;
    let (revision, goes_on) = (request.revision(), cursor.is_some());
    let (server, session) = (request.server.clone(), request.session.clone());
    let page = move |offer: &gate::Offer| {
        let page = server.lists.page(&server.gate, offer, &session.caller, revision, kind, cursor.as_deref());
        // A modern client hears of changes only where it has asked to.
        if !revision.is_modern() && page.is_ok() {
            session.seen.saw(kind, &offer.versions);
        }
        page
    };
    let lists_tools = matches!(kind, ListKind::Tools);
    let catalog = request.server.gate.catalog().clone();
    let offer = catalog.offer();
    // Whoever goes on has been waited for, and goes on in the list as it was.
    if goes_on || (offer.is_settled && offer.good_for() != Some(Duration::ZERO)) {
        return request.answer(&page(&offer)?, lists_tools.then_some(offer.tools.len()));
    }
    request.answer_by(async move { catalog.listed().await }.boxed(), page, lists_tools)
}
