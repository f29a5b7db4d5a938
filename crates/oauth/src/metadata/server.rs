//! Metadata of an authorisation server (RFC 8414, OpenID Connect Discovery).

use http::Uri;
use serde_json::{Map, Value};

use super::fields::Fields;
use super::search::{self, Found};
use crate::error::{Failure, Reason};
use crate::fetch::Fetch;
use crate::{clean_text, location};

/// What an authorisation server says of itself. Its issuer is the one that was asked for, and its addresses obey
/// the rules of `place`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ServerMetadata {
    /// Its name, exactly as it spells it.
    pub(crate) issuer: String,
    /// Where a person signs in.
    pub(crate) authorization_endpoint: Option<Uri>,
    /// Where tokens are got.
    pub(crate) token_endpoint: Uri,
    /// Where clients register themselves.
    pub(crate) registration_endpoint: Option<Uri>,
    /// Where tokens are given back.
    pub(crate) revocation_endpoint: Option<Uri>,
    /// The scopes it knows.
    pub(crate) scopes_supported: Vec<String>,
    /// How clients may prove themselves at the token endpoint; empty if it does not say.
    pub(crate) token_auth_methods: Vec<String>,
    /// With what client assertions may be signed; empty if it does not say.
    pub(crate) token_auth_algorithms: Vec<String>,
    /// The grants it knows; empty if it does not say.
    pub(crate) grant_types: Vec<String>,
    /// The methods of PKCE; nothing if it does not say.
    pub(crate) challenge_methods: Option<Vec<String>>,
    /// Whether its authorisation responses name their issuer (RFC 9207).
    pub(crate) names_issuer_in_response: bool,
    /// Whether the address of a client id metadata document is a client id to it.
    pub(crate) takes_client_documents: bool,
    /// Whether nothing of this was said: the endpoints of revision 2025-03-26 for servers without metadata.
    pub(crate) is_assumed: bool,
}

impl ServerMetadata {
    /// Where a person signs in, if the server can be used for the authorisation code grant as MCP wants it.
    ///
    /// # Errors
    /// It has no such address, or does not support PKCE with S256.
    pub(crate) fn sign_in_page(&self) -> Result<&Uri, Failure> {
        let issuer = &self.issuer;
        let Some(page) = &self.authorization_endpoint else {
            let said = format!(
                "the authorisation server {issuer} has no page to sign in at (authorization_endpoint)"
            );
            return Err(Failure::new(Reason::Other, said));
        };
        match &self.challenge_methods {
            Some(methods) if methods.iter().any(|method| method == "S256") => Ok(page),
            _ => Err(Failure::new(
                Reason::NoPkce,
                format!(
                    "the authorisation server {issuer} does not say that it supports PKCE with S256 \
                     (code_challenge_methods_supported), without which signing in is not safe"
                ),
            )),
        }
    }
}

/// Which spellings of an issuer a document may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Spelling {
    /// The one that was asked for, to the letter (RFC 8414, 3.3).
    Exact,
    /// With or without a slash at the end: nobody has spelt this issuer, so it is not known how it spells itself.
    Ours,
}

/// Looks for the metadata of `issuer` at the places that RFC 8414 and OpenID Connect Discovery give it.
///
/// # Errors
/// The issuer's address is refused, it cannot be reached, or its document is not sound or is another issuer's.
pub(super) async fn find(
    fetch: &Fetch,
    issuer: &str,
    spelling: Spelling,
) -> Result<Found<ServerMetadata>, Failure> {
    let uri = location::endpoint("the issuer's address", issuer)?;
    search::first(fetch, &addresses(&uri), |of, object| parse(of, object, issuer, spelling)).await
}

fn addresses(issuer: &Uri) -> Vec<Uri> {
    let path = issuer.path().trim_end_matches('/');
    let mut paths = vec![
        format!("/.well-known/oauth-authorization-server{path}"),
        format!("/.well-known/openid-configuration{path}"),
    ];
    if !path.is_empty() {
        paths.push(format!("{path}/.well-known/openid-configuration"));
    }
    paths.iter().map(|path| location::at_origin(issuer, path)).collect()
}

pub(super) fn parse(
    of: &str,
    object: &Map<String, Value>,
    asked: &str,
    spelling: Spelling,
) -> Result<ServerMetadata, Failure> {
    let fields = Fields { of, object };
    let Some(issuer) = fields.text("issuer")? else {
        return Err(fields.lacks("issuer"));
    };
    let is_asked = match spelling {
        Spelling::Exact => issuer == asked,
        Spelling::Ours => issuer.trim_end_matches('/') == asked.trim_end_matches('/'),
    };
    if !is_asked {
        // Only what is the same server by another spelling may be settled by a person who reads this.
        let (reason, hint) = match issuer.trim_end_matches('/') == asked.trim_end_matches('/') {
            true => {
                (Reason::IssuerSpelling, "; to accept this spelling, set it as issuer under [mcp.NAME.oauth]")
            }
            false => (Reason::IssuerDiffers, ""),
        };
        let issuer = clean_text::cleaned(&issuer);
        let said = format!("{of} is refused: it is that of the issuer {issuer}, not of {asked}{hint}");
        return Err(Failure::new(reason, said));
    }
    let list = |key| fields.texts(key).map(Option::unwrap_or_default);
    let Some(token_endpoint) = fields.endpoint("token_endpoint")? else {
        return Err(fields.lacks("token_endpoint"));
    };
    let server = ServerMetadata {
        authorization_endpoint: fields.endpoint("authorization_endpoint")?,
        token_endpoint,
        registration_endpoint: fields.endpoint("registration_endpoint")?,
        revocation_endpoint: fields.endpoint("revocation_endpoint")?,
        scopes_supported: list("scopes_supported")?,
        token_auth_methods: list("token_endpoint_auth_methods_supported")?,
        token_auth_algorithms: list("token_endpoint_auth_signing_alg_values_supported")?,
        grant_types: list("grant_types_supported")?,
        challenge_methods: fields.texts("code_challenge_methods_supported")?,
        names_issuer_in_response: fields.flag("authorization_response_iss_parameter_supported")?,
        takes_client_documents: fields.flag("client_id_metadata_document_supported")?,
        is_assumed: false,
        issuer,
    };
    server.leads_home_only_from_home(of)?;
    Ok(server)
}

impl ServerMetadata {
    /// The endpoints that revision 2025-03-26 gives a server without metadata, at its own origin.
    ///
    /// # Errors
    /// The origin is neither https nor this machine.
    pub(crate) fn assumed(resource: &Uri) -> Result<ServerMetadata, Failure> {
        let issuer = location::origin(resource);
        let endpoint = |path: &str| {
            let address = format!("{issuer}{path}");
            location::endpoint(&format!("{address} (no metadata names another address)"), &address)
        };
        Ok(ServerMetadata {
            authorization_endpoint: Some(endpoint("/authorize")?),
            token_endpoint: endpoint("/token")?,
            registration_endpoint: Some(endpoint("/register")?),
            // That revision requires PKCE of every client and server, and S256 is what OAuth 2.1 requires.
            challenge_methods: Some(vec!["S256".to_owned()]),
            is_assumed: true,
            issuer,
            ..ServerMetadata::default()
        })
    }

    /// A server elsewhere has no endpoint on this machine: its page would be opened by the user's browser, which
    /// reaches what no guarded client does.
    fn leads_home_only_from_home(&self, of: &str) -> Result<(), Failure> {
        let is_home = |uri: &Uri| uri.host().is_some_and(location::is_loopback);
        if self.issuer.parse().is_ok_and(|issuer| is_home(&issuer)) {
            return Ok(());
        }
        let endpoints = [
            ("authorization_endpoint", self.authorization_endpoint.as_ref()),
            ("token_endpoint", Some(&self.token_endpoint)),
            ("registration_endpoint", self.registration_endpoint.as_ref()),
            ("revocation_endpoint", self.revocation_endpoint.as_ref()),
        ];
        match endpoints.into_iter().find(|(_, uri)| uri.is_some_and(is_home)) {
            Some((key, _)) => Err(Failure::new(
                Reason::EndpointPrivate,
                format!("{key} in {of} is refused: it leads to this machine, where the issuer is not"),
            )),
            None => Ok(()),
        }
    }
}
