//! Finds out who issues tokens for a protected server, and where (RFC 9728, RFC 8414, OpenID Connect Discovery,
//! with the rules that MCP adds and those of its revision 2025-03-26).

mod fields;
mod resource;
mod search;
mod server;

use http::Uri;

use crate::challenge::Challenge;
use crate::error::{Failure, Reason};
use crate::fetch::Fetch;
use crate::location;

pub(crate) use resource::ResourceMetadata;
use search::Found;
pub(crate) use server::ServerMetadata;
use server::Spelling;

/// A server that names more issuers than these is asked about the first of them.
const ISSUERS_MAX: usize = 4;

/// Who issues tokens for a protected server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Discovered {
    /// What the protected server says of itself; nothing from a server of revision 2025-03-26.
    pub(crate) resource: Option<ResourceMetadata>,
    /// The authorisation server.
    pub(crate) server: ServerMetadata,
}

/// Finds the authorisation server of the protected server at `resource`, which has sent `challenge`; `issuer` is
/// the one that a person has configured, which wins over those that the server names.
///
/// # Errors
/// Says of each document that was looked for what was wrong with it.
pub(crate) async fn discover(
    fetch: &Fetch,
    resource: &Uri,
    challenge: Option<&Challenge>,
    issuer: Option<&Uri>,
) -> Result<Discovered, Failure> {
    let (resource_metadata, answers, is_absent) = match resource::find(fetch, resource, challenge).await? {
        Found::It(metadata) => (Some(*metadata), String::new(), false),
        Found::Nothing { answers, is_absent } => (None, answers.said, is_absent),
    };
    let server = match (&resource_metadata, issuer) {
        (_, Some(issuer)) => configured(fetch, issuer).await?,
        (Some(metadata), None) => named(fetch, resource, metadata).await?,
        (None, None) => own(fetch, resource, answers, is_absent).await?,
    };
    Ok(Discovered { resource: resource_metadata, server })
}

/// The issuer that a person has settled on.
async fn configured(fetch: &Fetch, issuer: &Uri) -> Result<ServerMetadata, Failure> {
    // A parsed address has a slash where a person may have written none.
    match server::find(fetch, issuer.to_string().trim_end_matches('/'), Spelling::Ours).await? {
        Found::It(server) => Ok(*server),
        Found::Nothing { answers, .. } => {
            Err(answers.within(|answers| format!("the configured issuer has no metadata: {answers}")))
        }
    }
}

/// The first of the issuers that the protected server names which can be used.
async fn named(
    fetch: &Fetch,
    resource: &Uri,
    metadata: &ResourceMetadata,
) -> Result<ServerMetadata, Failure> {
    let mut failures = Vec::new();
    for issuer in metadata.authorization_servers.iter().take(ISSUERS_MAX) {
        match server::find(fetch, issuer, Spelling::Exact).await {
            Ok(Found::It(server)) => return Ok(*server),
            Ok(Found::Nothing { answers, .. }) => failures.push(answers),
            Err(failure) => failures.push(failure),
        }
    }
    let host = location::origin(resource);
    Err(match failures.iter().map(|failure| failure.reason).min() {
        None => Failure::new(
            Reason::NoSignIn,
            format!(
                "{host} names no authorisation server (authorization_servers); set its issuer under [mcp.NAME.oauth]"
            ),
        ),
        Some(gravest) => {
            let said: Vec<String> = failures.into_iter().map(|failure| failure.said).collect();
            let said = said.join("; ");
            Failure::new(gravest, format!("no authorisation server of {host} can be used: {said}"))
        }
    })
}

/// The protected server itself, as in revision 2025-03-26: by its metadata, or by the paths that revision gives it.
async fn own(
    fetch: &Fetch,
    resource: &Uri,
    answers_of_resource: String,
    is_absent: bool,
) -> Result<ServerMetadata, Failure> {
    let origin = location::origin(resource);
    let nothing = |answers: &str| {
        Failure::new(
            Reason::NoSignIn,
            format!(
                "{origin} does not say where to sign in: {answers}; if it wants a key instead, set it under \
                 [mcp.NAME.headers]"
            ),
        )
    };
    if !is_absent {
        return Err(nothing(&answers_of_resource));
    }
    match server::find(fetch, &origin, Spelling::Ours).await? {
        Found::It(server) => Ok(*server),
        Found::Nothing { is_absent: true, .. } => ServerMetadata::assumed(resource),
        Found::Nothing { answers, is_absent: false } => {
            Err(nothing(&format!("{answers_of_resource}, {answers}")))
        }
    }
}

#[cfg(test)]
mod tests;
