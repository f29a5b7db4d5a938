//! Lists are bytes: the answer to `tools/list` is written once for every state of the catalogue, revision
//! and set of scopes, and handed out from then on.

use std::sync::{Mutex, PoisonError};

use bytes::Bytes;
use gate::{Caller, Gate, Offer, Offered};
use gate::{Definition, Effect, Listing};
use wire::tools::{Hints, ToolEntry};
use wire::{Code, Revision, WireError, cursor, tools};

/// Most tools in one page. Many clients never ask for a second one, so a page holds what real servers have.
const PAGE_TOOLS_MAX: usize = 1_000;

/// Most written pages kept; each is a state, a revision and a set of scopes.
const PAGES_KEPT_MAX: usize = 32;

/// The written first pages.
#[derive(Default)]
pub(crate) struct Lists {
    kept: Mutex<Vec<(Key, Bytes)>>,
}

#[derive(Clone, PartialEq)]
struct Key {
    version: u64,
    revision: Revision,
    scopes: gate::Scopes,
}

impl Lists {
    /// The result of `tools/list` as JSON text.
    ///
    /// # Errors
    /// `InvalidParams` for a cursor that we never made.
    pub(crate) fn page(
        &self,
        gate: &Gate,
        offer: &Offer,
        caller: &Caller,
        revision: Revision,
        cursor: Option<&str>,
    ) -> Result<Bytes, WireError> {
        if let Some(cursor) = cursor {
            let Some(after) = cursor::parse(cursor) else {
                let why = "Invalid params: this cursor was not made here; ask again without one";
                return Err(WireError::new(Code::InvalidParams, why));
            };
            return Ok(write_page(gate, offer, caller, revision, &after));
        }
        let key = Key { version: offer.version, revision, scopes: caller.scopes().clone() };
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, page)) = kept.iter().find(|(known, _)| *known == key) {
            return Ok(page.clone());
        }
        let page = write_page(gate, offer, caller, revision, "");
        kept.retain(|(known, _)| known.version == offer.version);
        kept.truncate(PAGES_KEPT_MAX - 1);
        kept.push((key, page.clone()));
        Ok(page)
    }
}

/// Writes the page of tools whose names come after `after`.
fn write_page(gate: &Gate, offer: &Offer, caller: &Caller, revision: Revision, after: &str) -> Bytes {
    let start = offer.tools().partition_point(|tool| tool.definition().name.as_str() <= after);
    let mut seen = offer.tools()[start..].iter().filter(|tool| gate.may_see(caller, tool));
    let page: Vec<_> = seen.by_ref().take(PAGE_TOOLS_MAX).collect();
    let next = page.last().filter(|_| seen.next().is_some());
    let next = next.map(|last| cursor::after(last.definition().name.as_str()));
    let written: Vec<Bytes> = page.into_iter().map(|tool| entry(tool, revision)).collect();
    tools::write_list_result(written.iter().map(|tool| &tool[..]), next.as_deref()).into()
}

fn entry(tool: &Offered, revision: Revision) -> Bytes {
    let definition = tool.definition();
    match &definition.listing {
        Listing::Relayed(text) => text.clone(),
        Listing::Ours(about) => {
            let schema = |text: &Bytes| String::from_utf8_lossy(text).into_owned();
            let output_schema = definition.output_schema.as_ref().map(schema);
            let entry = ToolEntry {
                name: about.name,
                title: about.title,
                description: about.summary,
                input_schema: &schema(&definition.input_schema),
                output_schema: output_schema.as_deref(),
                hints: hints(definition, about.idempotent),
            };
            let mut out = Vec::with_capacity(512);
            entry.write(revision, &mut out);
            out.into()
        }
    }
}

/// The annotations follow from the effect; nobody writes them by hand.
fn hints(definition: &Definition, idempotent: bool) -> Hints {
    Hints {
        read_only: Some(definition.effect == Effect::Reads),
        destructive: Some(definition.effect >= Effect::Destroys),
        idempotent: Some(idempotent),
        open_world: Some(definition.open_world),
    }
}
