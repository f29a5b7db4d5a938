//! What a client hears of us first: `initialize` in the legacy revisions, `server/discover` in the modern one.

use gate::Offer;
use serde_json::json;
use wire::message::Text;
use wire::{Revision, WireError, initialize as handshake, meta};

use super::request::Request;
use crate::ourselves::OURSELVES;
use crate::outgoing::Now;
use crate::{Server, abilities};

/// How long our answer to `server/discover` stays good, in milliseconds, once every source has reported.
const DISCOVERED_MS: u64 = 60_000;

/// Longest instructions of one source that are passed on, in bytes. They are in front of every conversation of a
/// model.
const SOURCE_INSTRUCTIONS_BYTES_MAX: usize = 8 * 1024;

/// Longest instructions altogether, in bytes.
const INSTRUCTIONS_BYTES_MAX: usize = 32 * 1024;

/// Answers `initialize`.
pub(super) fn initialize(request: &mut Request<'_>) -> Result<Now, WireError> {
    let hello = handshake::hello(request.params.as_ref())?;
    let session = request.session;
    session.settle(hello.revision);
    session.introduce(
        abilities::usable(hello.capabilities.as_ref(), hello.revision),
        hello.info.as_ref().map(Text::bytes),
    );
    // Not at a level that is written by default: the first line that is costs a millisecond, for the patterns that it is
    // searched with.
    tracing::debug!(
        target: "mcp",
        client = hello.client.name,
        version = hello.client.version,
        revision = hello.revision.name(),
        "a client connected"
    );
    let offer = request.server.gate.catalog().offer();
    let capabilities = abilities::declared(&offer, hello.revision).to_string();
    let instructions = instructions(request.server, &offer);
    let welcome = handshake::welcome(hello.revision, OURSELVES, &capabilities, instructions.as_deref());
    request.answer(&welcome)
}

/// Answers `server/discover`.
pub(super) fn discover(request: &mut Request<'_>) -> Result<Now, WireError> {
    let offer = request.server.gate.catalog().offer();
    // What is declared before every source has reported is a guess.
    let ttl_ms = if offer.is_settled { DISCOVERED_MS } else { 0 };
    let mut result = json!({
        "resultType": "complete",
        "supportedVersions": [Revision::MODERN.name()],
        "capabilities": abilities::declared(&offer, Revision::MODERN),
        "ttlMs": ttl_ms,
        "cacheScope": "private",
        "_meta": { (meta::SERVER_INFO): { "name": OURSELVES.name, "version": OURSELVES.version } },
    });
    if let Some(instructions) = instructions(request.server, &offer) {
        result["instructions"] = instructions.into();
    }
    request.answer(result.to_string().as_bytes())
}

/// What models read: our own words, and those of each source under its name.
fn instructions(server: &Server, offer: &Offer) -> Option<String> {
    let mut all = server.instructions.load_full().map(|ours| ours.to_string()).unwrap_or_default();
    for source in &offer.sources {
        let Some(text) = source.features.instructions.as_deref() else { continue };
        // Redact before cutting, or half of a secret could stay.
        let text = server.gate.redactor().text(text);
        let cut = text.floor_char_boundary(SOURCE_INSTRUCTIONS_BYTES_MAX);
        let part = format!("## {}\n\n{}", source.name, &text[..cut]);
        if all.len() + part.len() > INSTRUCTIONS_BYTES_MAX {
            break;
        }
        if !all.is_empty() {
            all.push_str("\n\n");
        }
        all.push_str(&part);
    }
    (!all.is_empty()).then_some(all)
}
