//! What a client hears of us first: `initialize` in the legacy revisions, `server/discover` in the modern one.

use futures_util::FutureExt;
use gate::{BUILT_IN, Definition, Offer};
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

/// Of every call.
const CALLS: &str = "A call may need a person's word: where one is refused since nobody has answered yet, go on without it, and \
                     make it again, with the same arguments, when the person says so.";

/// Of what is struck out.
const PLACEHOLDERS: &str = "`[REDACTED:NAME]` stands in place of a secret; do not write it anywhere.";

/// Of servers.
const SERVERS: &str = "Tools of other servers begin with the server's name, as in `NAME_tool`.";

/// Of our own tools.
const FILES: &str =
    "Paths of the `workspace_` tools are relative to the workspace, the folder that they work in.";

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
    let (server, revision) = (request.server.clone(), hello.revision);
    answer(request, move |offer| {
        let capabilities = abilities::declared(offer, revision, server.has_jobs()).to_string();
        handshake::welcome(revision, OURSELVES, &capabilities, Some(&instructions(&server, offer)))
    })
}

/// Answers `server/discover`.
pub(super) fn discover(request: &mut Request<'_>) -> Result<Now, WireError> {
    let server = request.server.clone();
    answer(request, move |offer| {
        // What is declared before every source has reported is a guess.
        let ttl_ms = if offer.is_settled { DISCOVERED_MS } else { 0 };
        let result = json!({
            "resultType": "complete",
            "supportedVersions": [Revision::MODERN.name()],
            "capabilities": abilities::declared(offer, Revision::MODERN, server.has_jobs()),
            "ttlMs": ttl_ms,
            "cacheScope": "private",
            "_meta": { (meta::SERVER_INFO): { "name": OURSELVES.name, "version": OURSELVES.version } },
            "instructions": instructions(&server, offer),
        });
        result.to_string().into_bytes()
    })
}

/// Answers with what follows from the offer, once what is remembered of servers has been read. A client asks for instructions
/// once, so those of a server that was never listed before reach it at its next start.
fn answer(
    request: &mut Request<'_>,
    write: impl FnOnce(&Offer) -> Vec<u8> + Send + 'static,
) -> Result<Now, WireError> {
    let catalog = request.server.gate.catalog().clone();
    let offer = catalog.offer();
    if offer.is_settled {
        return request.answer(&write(&offer), None);
    }
    request.answer_by(
        async move { catalog.remembered().await }.boxed(),
        |offer| Ok(write(offer).into()),
        false,
    )
}

/// What models read: our own words, and those of each source under its name.
fn instructions(server: &Server, offer: &Offer) -> String {
    let has_servers = offer.sources.iter().any(|source| &*source.name != BUILT_IN);
    let is_file_tool = |definition: &Definition| {
        definition.upstream().is_none() && definition.name.as_str().starts_with("workspace_")
    };
    let has_files = offer.tools.iter().any(|tool| is_file_tool(tool.definition()));
    let sentences = [(true, CALLS), (true, PLACEHOLDERS), (has_servers, SERVERS), (has_files, FILES)];
    let ours = sentences.into_iter().filter(|(is_so, _)| *is_so).map(|(_, sentence)| sentence);
    let mut all = ours.collect::<Vec<_>>().join(" ");
    if let Some(more) = server.instructions.load_full() {
        all.push_str("\n\n");
        all.push_str(&more);
    }
    for source in &offer.sources {
        let Some(text) = source.features.instructions.as_deref() else { continue };
        // Redact before cutting, or half of a secret could stay.
        let text = server.gate.redactor().text(text);
        let cut = text.floor_char_boundary(SOURCE_INSTRUCTIONS_BYTES_MAX);
        let part = format!("## {}\n\n{}", source.name, &text[..cut]);
        if all.len() + part.len() > INSTRUCTIONS_BYTES_MAX {
            break;
        }
        all.push_str("\n\n");
        all.push_str(&part);
    }
    all
}
