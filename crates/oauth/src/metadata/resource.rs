//! Metadata of a protected resource (RFC 9728).

use http::Uri;
use serde_json::{Map, Value};

use super::fields::Fields;
use super::search::{self, Found};
use crate::challenge::Challenge;
use crate::error::{Failure, Reason};
use crate::fetch::Fetch;
use crate::{clean_text, location};

const WELL_KNOWN: &str = "/.well-known/oauth-protected-resource";

/// What a protected server says of itself. Its `resource` has been checked against the server's address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ResourceMetadata {
    /// What tokens are asked for, as the server spells it.
    pub(crate) resource: String,
    /// The issuers whose tokens it takes; unchecked.
    pub(crate) authorization_servers: Vec<String>,
    /// The scopes it knows.
    pub(crate) scopes_supported: Vec<String>,
}

/// Looks for the metadata of the server at `resource`: where its challenge says, then where it lies for this path,
/// then where it lies for the whole host.
///
/// # Errors
/// The server cannot be reached, its challenge names an address that is refused, or the document is not sound or is
/// another server's.
pub(super) async fn find(
    fetch: &Fetch,
    resource: &Uri,
    challenge: Option<&Challenge>,
) -> Result<Found<ResourceMetadata>, Failure> {
    let named = challenge.and_then(|challenge| challenge.resource_metadata.as_deref());
    let mut addresses = Vec::new();
    if let Some(named) = named {
        let what = "the resource_metadata address in the server's challenge";
        addresses.push(location::endpoint(what, named)?);
    }
    let path = resource.path().trim_end_matches('/');
    if !path.is_empty() {
        addresses.push(location::at_origin(resource, &format!("{WELL_KNOWN}{path}")));
    }
    addresses.push(location::at_origin(resource, WELL_KNOWN));
    addresses.dedup();
    Ok(match search::first(fetch, &addresses, |of, object| parse(of, object, resource)).await? {
        Found::It(metadata) => Found::It(metadata),
        // A server that says where its metadata is knows of it, so it is none of revision 2025-03-26.
        Found::Nothing { answers, is_absent } => {
            Found::Nothing { answers, is_absent: is_absent && named.is_none() }
        }
    })
}

fn parse(of: &str, object: &Map<String, Value>, server: &Uri) -> Result<ResourceMetadata, Failure> {
    let fields = Fields { of, object };
    let Some(resource) = fields.text("resource")? else {
        return Err(fields.lacks("resource"));
    };
    if !covers(&resource, server) {
        let (resource, server) = (clean_text::cleaned(&resource), location::shown(server));
        let said = format!("{of} is refused: it is for the resource {resource}, not for {server}");
        return Err(Failure::new(Reason::ResourceDiffers, said));
    }
    Ok(ResourceMetadata {
        resource,
        authorization_servers: fields.texts("authorization_servers")?.unwrap_or_default(),
        scopes_supported: fields.texts("scopes_supported")?.unwrap_or_default(),
    })
}

/// Whether `resource` is the server's own address or lies above it: the same origin, and a path that the server's
/// begins with, in whole segments. A token for `https://a/b` is thus asked for at `https://a/b/c`, never for another
/// host or a neighbour.
fn covers(resource: &str, server: &Uri) -> bool {
    if resource.contains(['#', '\\']) || resource.chars().any(|character| !character.is_ascii_graphic()) {
        return false;
    }
    let Ok(uri) = resource.parse::<Uri>() else {
        return false;
    };
    if uri.authority().is_none_or(|authority| authority.as_str().contains('@')) {
        return false;
    }
    let above = uri.path().trim_end_matches('/');
    let path = server.path();
    location::origin(&uri) == location::origin(server)
        && uri.query().is_none_or(|query| Some(query) == server.query())
        && path.strip_prefix(above).is_some_and(|below| below.is_empty() || below.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::covers;

    #[test]
    fn a_resource_covers_what_lies_below_it() {
        for (resource, server, expected) in [
            ("https://a.example/mcp", "https://a.example/mcp", true),
            ("https://a.example/mcp/", "https://a.example/mcp", true),
            ("https://a.example/mcp", "https://a.example/mcp/", true),
            ("https://A.example:443/mcp", "https://a.example/mcp?key=1", true),
            ("https://a.example", "https://a.example/mcp", true),
            ("https://a.example/", "https://a.example/mcp/deep", true),
            ("https://a.example/mcp?t=1", "https://a.example/mcp?t=1", true),
            ("https://a.example/mcp?t=2", "https://a.example/mcp?t=1", false),
            ("https://a.example/mc", "https://a.example/mcp", false),
            ("https://a.example/mcp/deep", "https://a.example/mcp", false),
            ("https://a.example/MCP", "https://a.example/mcp", false),
            ("https://b.example/mcp", "https://a.example/mcp", false),
            ("https://a.example.b.example/mcp", "https://a.example/mcp", false),
            ("http://a.example/mcp", "https://a.example/mcp", false),
            ("https://a.example:8443/mcp", "https://a.example/mcp", false),
            ("https://a.example@b.example/mcp", "https://a.example/mcp", false),
            ("https://u@a.example/mcp", "https://a.example/mcp", false),
            ("https://a.example/mcp#x", "https://a.example/mcp", false),
            ("https://a.example\\@b.example/", "https://a.example/mcp", false),
            ("/mcp", "https://a.example/mcp", false),
            ("urn:mcp", "https://a.example/mcp", false),
            ("", "https://a.example/mcp", false),
        ] {
            assert_eq!(covers(resource, &server.parse().unwrap()), expected, "{resource} over {server}");
        }
    }
}
