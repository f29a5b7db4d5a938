//! The header that names the negotiated revision, on every request after the handshake.

use hyper::StatusCode;
use hyper::header::HeaderMap;
use wire::http::PROTOCOL_VERSION;
use wire::{Code, Revision, WireError};

use super::answer::{self, Answer};

/// The revision that the request names.
///
/// # Errors
/// The answer to a request that names one we do not speak (2025-06-18, "Protocol Version Header").
pub(super) fn named(headers: &HeaderMap) -> Result<Option<Revision>, Box<Answer>> {
    let Some(said) = headers.get(PROTOCOL_VERSION) else { return Ok(None) };
    match said.to_str().ok().and_then(Revision::parse) {
        Some(revision) => Ok(Some(revision)),
        None => {
            let known: Vec<_> = Revision::ALL.iter().map(|revision| revision.name()).collect();
            let why =
                format!("Bad Request: unsupported MCP-Protocol-Version; supported: {}", known.join(", "));
            let error = WireError::new(Code::InvalidRequest, why);
            Err(answer::error(StatusCode::BAD_REQUEST, None, &error).into())
        }
    }
}
