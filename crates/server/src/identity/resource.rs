//! What clients are told so that they sign in by themselves: who issues tokens for us (RFC 9728), and the challenges
//! that lead there (RFC 6750).

use std::net::{IpAddr, SocketAddr};

use http::Uri;
use http::header::{HOST, HeaderMap};
use serde_json::json;

use super::unknown::Unknown;
use crate::config::MCP_PATH;
use crate::workspaces::check_workspace_name;

/// Where the metadata of a protected resource is, before the path of the resource.
pub const METADATA_PATH: &str = "/.well-known/oauth-protected-resource";

/// What we are to those who issue tokens for us.
pub(super) enum Resource {
    /// At the address that was configured.
    Configured(String),
    /// At a loopback address, which clients spell in several ways.
    Local {
        /// `http` or `https`.
        scheme: &'static str,
        address: SocketAddr,
    },
}

/// What is told to clients.
pub(super) struct Notice {
    /// Who issues tokens for us.
    pub(super) issuers: Vec<String>,
    /// What to ask for.
    pub(super) scopes: Vec<String>,
}

/// True for a name or address that leads to this machine only.
pub(crate) fn is_loopback(host: &str) -> bool {
    let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    host.eq_ignore_ascii_case("localhost")
        || bare.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// The address or path of the default workspace and the name, of those of one that has a name.
fn split_named(address: &str) -> Option<(&str, &str)> {
    let (default, name) = address.rsplit_once('/')?;
    (default.ends_with(MCP_PATH) && check_workspace_name(name).is_ok()).then_some((default, name))
}

/// The origin of an address, and the rest.
pub(super) fn split_origin(url: &str) -> (&str, &str) {
    let path_at = url.find("://").and_then(|at| Some(at + 3 + url[at + 3..].find('/')?));
    url.split_at(path_at.unwrap_or(url.len()))
}

impl Resource {
    /// Whether a token for this audience is for us. We are one resource: a token for one of our workspaces is for all,
    /// as anybody whom we know may use each of them.
    pub(super) fn is_audience(&self, audience: &str) -> bool {
        self.is_default(audience) || split_named(audience).is_some_and(|(url, _)| self.is_default(url))
    }

    /// Whether this is the address of the default workspace.
    fn is_default(&self, audience: &str) -> bool {
        match self {
            Resource::Configured(url) => audience == url,
            Resource::Local { scheme, address } => audience.parse::<Uri>().is_ok_and(|uri| {
                let is_here = uri.host().is_some_and(is_loopback) && uri.port_u16() == Some(address.port());
                uri.scheme_str() == Some(scheme) && is_here && uri.path() == MCP_PATH && uri.query().is_none()
            }),
        }
    }

    /// Our address, in the spelling of a client that sent these headers: that of the workspace of the name `named`, since
    /// clients hold the metadata to the very address that they use (RFC 9728, section 3.3).
    fn url(&self, named: Option<&str>, headers: &HeaderMap) -> String {
        let url = self.default_url(headers);
        match named {
            // Where a proxy has us elsewhere nobody knows their addresses but by ours, which contains them.
            Some(name) if url.ends_with(MCP_PATH) => format!("{url}/{name}"),
            _ => url,
        }
    }

    fn default_url(&self, headers: &HeaderMap) -> String {
        match self {
            Resource::Configured(url) => url.clone(),
            Resource::Local { scheme, address } => {
                let host = headers.get(HOST).and_then(|host| host.to_str().ok());
                let spelt = host.map(|host| format!("{scheme}://{host}{MCP_PATH}"));
                let spelt = spelt.filter(|url| self.is_default(url));
                spelt.unwrap_or_else(|| format!("{scheme}://{address}{MCP_PATH}"))
            }
        }
    }

    /// Where our metadata is.
    fn metadata_url(&self, named: Option<&str>, headers: &HeaderMap) -> String {
        let url = self.url(named, headers);
        let (origin, path) = split_origin(&url);
        let path = path.split('?').next().unwrap_or_default();
        format!("{origin}{METADATA_PATH}{}", if path == "/" { "" } else { path })
    }

    /// Of which named workspace, or of none that has a name, the metadata is at this path; nothing if none is there.
    /// Whether there is a workspace of this name is nobody's business who only asks where to sign in.
    pub(super) fn described_at<'p>(&self, path: &'p str) -> Option<Option<&'p str>> {
        let behind = path.strip_prefix(METADATA_PATH)?;
        if self.is_default_path(behind) {
            return Some(None);
        }
        split_named(behind).filter(|(path, _)| self.is_default_path(path)).map(|(_, name)| Some(name))
    }

    /// Whether this is our path, or the whole origin.
    fn is_default_path(&self, behind: &str) -> bool {
        let own = match self {
            Resource::Configured(url) => {
                url.parse::<Uri>().map(|uri| uri.path().to_owned()).unwrap_or_default()
            }
            Resource::Local { .. } => String::new(),
        };
        behind.is_empty() || behind == MCP_PATH || behind == own
    }

    /// The metadata as JSON text.
    pub(super) fn metadata(&self, notice: &Notice, named: Option<&str>, headers: &HeaderMap) -> Vec<u8> {
        let mut document = json!({
            "resource": self.url(named, headers),
            "authorization_servers": notice.issuers,
            "bearer_methods_supported": ["header"],
            "resource_name": "Toolcrib",
        });
        if !notice.scopes.is_empty() {
            document["scopes_supported"] = json!(notice.scopes);
        }
        document.to_string().into_bytes()
    }
}

/// The challenge to somebody unknown, as the value of `WWW-Authenticate`; nothing if credentials are not what is
/// missing. `resource` is there if there are issuers to sign in at.
pub(super) fn challenge(
    unknown: &Unknown,
    resource: Option<(&Resource, Option<&str>, &Notice)>,
    headers: &HeaderMap,
) -> Option<String> {
    let (error, needed) = match unknown {
        Unknown::Nobody(_) => (None, None),
        Unknown::Invalid(_) | Unknown::Expired(_) => (Some("invalid_token"), None),
        Unknown::TooLittle { needed } => (Some("insufficient_scope"), Some(needed)),
        Unknown::Malformed(_) => (Some("invalid_request"), None),
        Unknown::Unavailable(_) | Unknown::TooMany { .. } => return None,
    };
    let mut parts = Vec::new();
    parts.extend(error.map(|error| format!("error=\"{error}\"")));
    match resource {
        None => parts.push("realm=\"toolcrib\"".to_owned()),
        Some((resource, named, notice)) => {
            let scopes = needed.unwrap_or(&notice.scopes);
            if !scopes.is_empty() {
                parts.push(format!("scope=\"{}\"", scopes.join(" ")));
            }
            parts.push(format!("resource_metadata=\"{}\"", resource.metadata_url(named, headers)));
        }
    }
    Some(format!("Bearer {}", parts.join(", ")))
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn local() -> Resource {
        local_by("http")
    }

    fn local_by(scheme: &'static str) -> Resource {
        Resource::Local { scheme, address: SocketAddr::from(([127, 0, 0, 1], 3000)) }
    }

    fn configured(url: &str) -> Resource {
        Resource::Configured(url.to_owned())
    }

    fn host(host: &'static str) -> HeaderMap {
        HeaderMap::from_iter([(HOST, HeaderValue::from_static(host))])
    }

    #[test]
    fn audiences_are_ours_in_every_local_spelling_and_no_other() {
        let public = configured("https://crib.example/mcp");
        for (resource, audience, ours) in [
            (&local(), "http://127.0.0.1:3000/mcp", true),
            (&local(), "http://localhost:3000/mcp", true),
            (&local(), "http://[::1]:3000/mcp", true),
            (&local(), "http://127.0.0.1:3001/mcp", false),
            (&local(), "http://127.0.0.1/mcp", false),
            (&local(), "https://127.0.0.1:3000/mcp", false),
            (&local(), "http://127.0.0.1:3000/", false),
            (&local(), "http://127.0.0.1:3000/mcp?x", false),
            (&local(), "http://crib.example:3000/mcp", false),
            (&local(), "http://127.0.0.1:3000/mcp/review", true),
            (&local(), "http://127.0.0.1:3001/mcp/review", false),
            (&local(), "http://127.0.0.1:3000/mcp/", false),
            (&local(), "http://127.0.0.1:3000/mcp/a/b", false),
            (&local(), "http://127.0.0.1:3000/x/review", false),
            (&public, "https://crib.example/mcp/review", true),
            (&public, "https://evil.example/mcp/review", false),
            (&public, "https://crib.example/mcp/review?x", false),
            (&local(), "", false),
            (&local_by("https"), "https://localhost:3000/mcp", true),
            (&local_by("https"), "http://localhost:3000/mcp", false),
            (&public, "https://crib.example/mcp", true),
            (&public, "https://crib.example/mcp/", false),
            (&public, "https://crib.example", false),
            (&public, "http://127.0.0.1:3000/mcp", false),
        ] {
            assert_eq!(resource.is_audience(audience), ours, "{audience}");
        }
    }

    #[test]
    fn the_metadata_is_where_clients_look() {
        for (resource, host_said, expected) in [
            (local(), "localhost:3000", "http://localhost:3000/.well-known/oauth-protected-resource/mcp"),
            (local(), "127.0.0.1:3000", "http://127.0.0.1:3000/.well-known/oauth-protected-resource/mcp"),
            (local(), "crib.example", "http://127.0.0.1:3000/.well-known/oauth-protected-resource/mcp"),
            (
                local_by("https"),
                "localhost:3000",
                "https://localhost:3000/.well-known/oauth-protected-resource/mcp",
            ),
            (
                configured("https://crib.example/mcp"),
                "x",
                "https://crib.example/.well-known/oauth-protected-resource/mcp",
            ),
            (
                configured("https://crib.example/a/mcp"),
                "x",
                "https://crib.example/.well-known/oauth-protected-resource/a/mcp",
            ),
            (
                configured("https://crib.example"),
                "x",
                "https://crib.example/.well-known/oauth-protected-resource",
            ),
            (
                configured("https://crib.example/"),
                "x",
                "https://crib.example/.well-known/oauth-protected-resource",
            ),
        ] {
            let url = resource.metadata_url(None, &host(host_said));
            assert_eq!(url, expected);
            let at = |url: &str| url.parse::<Uri>().expect("an address").path().to_owned();
            assert_eq!(resource.described_at(&at(&url)), Some(None), "{url}");
            let named = resource.metadata_url(Some("review"), &host(host_said));
            let (url, own) =
                (resource.url(Some("review"), &host(host_said)), resource.url(None, &host(host_said)));
            let is_mcp = own.ends_with("/mcp");
            assert_eq!(url, if is_mcp { format!("{own}/review") } else { own });
            assert_eq!(resource.described_at(&at(&named)), Some(is_mcp.then_some("review")), "{named}");
            assert!(resource.is_audience(&url), "{url}");
        }
        for path in [
            "/",
            "/mcp",
            "/mcp/review",
            "/.well-known/oauth-protected-resources",
            "/.well-known/oauth-protected-resource/x",
            "/.well-known/oauth-protected-resource/x/review",
            "/.well-known/oauth-protected-resource/mcp/",
            "/.well-known/oauth-protected-resource/mcp/a/b",
            "/.well-known/oauth-protected-resource/mcp/approvals",
        ] {
            assert_eq!(local().described_at(path), None, "{path}");
        }
    }

    #[test]
    fn challenges_say_what_is_wrong_and_where_to_go() {
        let notice = Notice {
            issuers: vec!["https://i.example".into()],
            scopes: vec!["network".into(), "run_tests".into()],
        };
        let resource = configured("https://crib.example/mcp");
        let there = "resource_metadata=\"https://crib.example/.well-known/oauth-protected-resource/mcp\"";
        for (unknown, expected) in [
            (Unknown::Nobody("".into()), Some(format!("Bearer scope=\"network run_tests\", {there}"))),
            (
                Unknown::invalid("x"),
                Some(format!("Bearer error=\"invalid_token\", scope=\"network run_tests\", {there}")),
            ),
            (
                Unknown::TooLittle { needed: vec!["network".into()] },
                Some(format!("Bearer error=\"insufficient_scope\", scope=\"network\", {there}")),
            ),
            (Unknown::unavailable("x"), None),
        ] {
            let said = challenge(&unknown, Some((&resource, None, &notice)), &HeaderMap::new());
            assert_eq!(said, expected, "{unknown:?}");
        }
        let alone = challenge(&Unknown::invalid("x"), None, &HeaderMap::new());
        assert_eq!(alone.as_deref(), Some("Bearer error=\"invalid_token\", realm=\"toolcrib\""));
    }
}
