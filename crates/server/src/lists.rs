//! Lists are bytes: the answer to a list request is written once for every state of the list, revision and set of
//! scopes, and handed out from then on.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use gate::{Action, Caller, Definition, Effect, Gate, Item, Listing, Offer, Offered, Shown, Source};
use wire::message::Text;
use wire::paging::{Cache, Scope};
use wire::tools::{self, Hints, ToolEntry};
use wire::{Code, Object, Revision, WireError, cursor, meta, paging, reduce};

use crate::list_kind::ListKind;
use crate::ourselves::OUR_INFO;

/// Most entries in one page. Many clients never ask for a second one, so a page holds what real servers have.
const PAGE_ENTRIES_MAX: usize = 1_000;

/// Most written pages kept; each is a list in one state, a revision and a set of scopes.
const PAGES_KEPT_MAX: usize = 64;

/// How long a list stays good if nobody tells of a change, and its servers do not say less.
const GOOD_FOR: Duration = Duration::from_secs(60);

/// Longest name that a cursor holds, in bytes; a longer one is named by its hash.
const CURSOR_NAME_BYTES_MAX: usize = 200;

/// The written first pages.
#[derive(Default)]
pub(crate) struct Lists {
    kept: Mutex<Vec<(Key, Bytes)>>,
}

#[derive(Clone, PartialEq)]
struct Key {
    kind: ListKind,
    version: u64,
    revision: Revision,
    scopes: gate::Scopes,
    class: u64,
    /// Which secrets were known.
    redactor: u64,
    good_for: Duration,
}

/// Whose list, and for whom.
struct View<'a> {
    gate: &'a Gate,
    offer: &'a Offer,
    caller: &'a Caller,
    revision: Revision,
    kind: ListKind,
    /// How long what is told stays good.
    good_for: Duration,
}

/// One entry.
enum Row<'o> {
    Tool(&'o Offered),
    Item(&'o Item),
}

impl Row<'_> {
    fn name(&self) -> &str {
        match self {
            Row::Tool(tool) => tool.definition().name.as_str(),
            Row::Item(item) => &item.key,
        }
    }

    /// True if all that is shown of it is part of the program.
    fn is_ours(&self) -> bool {
        matches!(self, Row::Tool(tool) if matches!(tool.definition().listing, Listing::Ours(_)))
    }
}

impl Lists {
    /// The result of a list request as JSON text.
    ///
    /// # Errors
    /// `InvalidParams` for a cursor that we never made, or whose place in the list is gone.
    pub(crate) fn page(
        &self,
        gate: &Gate,
        offer: &Offer,
        caller: &Caller,
        revision: Revision,
        kind: ListKind,
        cursor: Option<&str>,
    ) -> Result<Bytes, WireError> {
        let good_for = match offer.good_for() {
            // It is not told.
            _ if !revision.is_modern() => GOOD_FOR,
            _ if !offer.is_settled => Duration::ZERO,
            // In whole seconds, so that a page is written once a second at most.
            Some(good_for) if good_for < GOOD_FOR => Duration::from_secs(good_for.as_secs()),
            Some(_) | None => GOOD_FOR,
        };
        let view = View { gate, offer, caller, revision, kind, good_for };
        if let Some(cursor) = cursor {
            return view.page_after(cursor);
        }
        // Whether a source can do anything with what it lists is no part of the list's own version.
        let version = offer.versions.all;
        let (class, redactor) = (gate.class(caller), gate.redactor().version());
        let key = Key { kind, version, revision, scopes: caller.scopes().clone(), class, redactor, good_for };
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, page)) = kept.iter().find(|(known, _)| *known == key) {
            return Ok(page.clone());
        }
        let page = view.write(&view.rows());
        // Each of these is another one after a moment.
        let passes = |known: &Key| !known.good_for.is_zero() && known.good_for < GOOD_FOR;
        kept.retain(|(known, _)| known.version == version && known.redactor == redactor && !passes(known));
        kept.truncate(PAGES_KEPT_MAX - 1);
        kept.push((key, page.clone()));
        Ok(page)
    }
}

impl<'a> View<'a> {
    fn page_after(&self, cursor: &str) -> Result<Bytes, WireError> {
        let invalid = |why: &str| WireError::new(Code::InvalidParams, format!("Invalid params: {why}"));
        let Some(after) = cursor::parse(cursor) else {
            return Err(invalid("this cursor was not made here; ask again without one"));
        };
        let rows = self.rows();
        let place = rows.iter().position(|row| mark(row.name()) == after);
        let changed = || invalid("the list has changed since this cursor was made; ask again without one");
        Ok(self.write(&rows[place.ok_or_else(changed)? + 1..]))
    }

    /// All that the caller may see.
    fn rows(&self) -> Vec<Row<'a>> {
        match self.kind {
            ListKind::Tools => {
                let seen = self.offer.tools.iter().filter(|tool| self.gate.is_listed(self.caller, tool));
                seen.map(|tool| Row::Tool(tool)).collect()
            }
            ListKind::Prompts => self.items(&self.offer.prompts, Action::GetPrompt),
            ListKind::Resources => self.items(&self.offer.resources, Action::ReadResource),
            ListKind::Templates => self.items(&self.offer.templates, Action::ReadResource),
        }
    }

    fn items(&self, all: &'a [Shown], action: Action) -> Vec<Row<'a>> {
        let may_use = |source: &&Source| self.gate.may_use(self.caller, source, action);
        let sources: Vec<&Source> =
            self.offer.sources.iter().map(|source| &**source).filter(may_use).collect();
        let seen = all.iter().filter(|shown| sources.iter().any(|source| source.name == shown.source));
        seen.map(|shown| Row::Item(&shown.item)).collect()
    }

    /// Writes the page that begins with `rows`.
    fn write(&self, rows: &[Row<'_>]) -> Bytes {
        let page = &rows[..rows.len().min(PAGE_ENTRIES_MAX)];
        let next =
            page.last().filter(|_| page.len() < rows.len()).map(|last| cursor::after(&mark(last.name())));
        let member = match self.kind {
            ListKind::Tools => "tools",
            ListKind::Prompts => "prompts",
            ListKind::Resources => "resources",
            ListKind::Templates => "resourceTemplates",
        };
        let ttl_ms = u64::try_from(self.good_for.as_millis()).unwrap_or(u64::MAX);
        let cache = Cache { ttl_ms, scope: Scope::Private };
        let list = paging::write_list_result(
            member,
            page.iter().map(|row| self.entry(row)),
            next.as_deref(),
            self.revision.is_modern().then_some(cache),
        );
        let whole = std::str::from_utf8(&list).ok().filter(|_| self.revision.is_modern());
        let mut page = match whole.and_then(Object::parse) {
            Some(whole) => meta::complete(whole, &OUR_INFO).into_bytes(),
            None => list,
        };
        // It is kept.
        page.shrink_to_fit();
        let page = Bytes::from(page);
        // What the program was built with is no secret, and what searches for them is built when first needed.
        if rows.iter().all(Row::is_ours) {
            return page;
        }
        self.gate.redactor().json(&page).map_or(page, |struck| struck.bytes)
    }

    fn entry(&self, row: &Row<'_>) -> Bytes {
        match row {
            Row::Tool(tool) => self.tool(tool.definition()),
            Row::Item(item) => reduced(self.revision, &item.listing, reduce::listed),
        }
    }

    fn tool(&self, definition: &Definition) -> Bytes {
        let runs_as_task = self.gate.may_be_job(definition);
        let (title, idempotent) = match &definition.listing {
            Listing::Relayed(listing) => {
                let tool = reduced(self.revision, listing, reduce::tool);
                return if runs_as_task && self.revision.has_execution() { as_task(tool) } else { tool };
            }
            Listing::Ours(about) => (about.title, about.idempotent),
            Listing::Declared(described) => (&*described.title, described.idempotent),
        };
        let output_schema = definition.output_schema.as_deref().map(|text| String::from_utf8_lossy(text));
        let entry = ToolEntry {
            name: definition.name.as_str(),
            title,
            description: &definition.description,
            input_schema: &String::from_utf8_lossy(&definition.input_schema),
            output_schema: output_schema.as_deref(),
            hints: hints(definition, idempotent),
            runs_as_task,
        };
        let mut out = Vec::with_capacity(512);
        entry.write(self.revision, &mut out);
        out.into()
    }
}

/// An entry of somebody else's as the revision knows it.
fn reduced(revision: Revision, listing: &Bytes, reduce: fn(Revision, &Text) -> Text) -> Bytes {
    match Text::known(listing.clone()) {
        Some(text) => reduce(revision, &text).bytes(),
        // It was checked when it came; if it is no text after all, it is no entry either.
        None => Bytes::from_static(b"{}"),
    }
}

/// The entry of a tool, saying that its calls may be tasks, whatever its server says of tasks of its own: those are followed
/// to their end.
fn as_task(entry: Bytes) -> Bytes {
    let text = Text::known(entry.clone());
    text.as_ref().and_then(Text::object).map_or(entry, |tool| tools::running_as_task(tool).into())
}

/// What a cursor says of an entry.
fn mark(name: &str) -> String {
    if name.len() <= CURSOR_NAME_BYTES_MAX {
        return name.to_owned();
    }
    let mut hasher = DefaultHasher::new();
    name.hash(&mut hasher);
    format!("#{:016x}", hasher.finish())
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
