//! How a client proves to be it, as the authorisation server wants it.

use http::Uri;

use crate::assertion::{Claims, assert};
use crate::error::{Failure, Reason};
use crate::metadata::ServerMetadata;
use crate::secret::Secret;
use crate::settings::{Algorithm, Authentication, RegisteredClient};

/// A proof, ready to be sent. Shows no secret.
#[derive(Debug)]
pub(crate) enum Proof {
    /// None; the client is named in the body (`none`).
    Public,
    /// A secret in the header (`client_secret_basic`).
    Header(Secret),
    /// A secret in the body (`client_secret_post`).
    Body(Secret),
    /// An assertion signed by the client's key (`private_key_jwt`).
    Assertion(Secret),
}

impl Proof {
    /// The proof of a client with `authentication` to `server`, which settled on `method` when it registered the
    /// client; at `now`, in seconds since 1970.
    pub(crate) fn to_server(
        server: &ServerMetadata,
        client_id: &str,
        authentication: &Authentication,
        method: Option<&str>,
        now: u64,
    ) -> Result<Proof, Failure> {
        let takes = |name: &str| server.token_auth_methods.iter().any(|method| method == name);
        match authentication {
            Authentication::Public => Ok(Proof::Public),
            Authentication::Secret(secret) => Ok(match method {
                Some("client_secret_post") => Proof::Body(secret.clone()),
                Some("client_secret_basic") => Proof::Header(secret.clone()),
                Some("none") => Proof::Public,
                // A server that lists nothing takes the header (RFC 8414, 2).
                _ if takes("client_secret_basic") || server.token_auth_methods.is_empty() => {
                    Proof::Header(secret.clone())
                }
                _ if takes("client_secret_post") => Proof::Body(secret.clone()),
                _ if takes("none") => Proof::Public,
                _ => return Err(untaken(server, "client secrets (client_secret_basic, client_secret_post)")),
            }),
            Authentication::Key { pem, algorithm, key_id } => {
                if !server.token_auth_methods.is_empty() && !takes("private_key_jwt") {
                    return Err(untaken(server, "signed assertions (private_key_jwt)"));
                }
                let algorithms = &server.token_auth_algorithms;
                if !algorithms.is_empty() && !algorithms.iter().any(|name| name == algorithm.name()) {
                    return Err(untaken(
                        server,
                        &format!("assertions signed with {} (\"signing_algorithm\")", algorithm.name()),
                    ));
                }
                let claims = Claims { client_id, audience: &server.issuer, now, key_id: key_id.as_deref() };
                signed(pem, *algorithm, &claims)
            }
        }
    }

    /// The proof of `client` to an identity provider, of which nothing but its token endpoint is known.
    pub(crate) fn to_provider(
        client: &RegisteredClient,
        token_endpoint: &Uri,
        now: u64,
    ) -> Result<Proof, Failure> {
        match &client.authentication {
            Authentication::Public => Ok(Proof::Public),
            Authentication::Secret(secret) => Ok(Proof::Header(secret.clone())),
            Authentication::Key { pem, algorithm, key_id } => {
                let audience = token_endpoint.to_string();
                let claims =
                    Claims { client_id: &client.id, audience: &audience, now, key_id: key_id.as_deref() };
                signed(pem, *algorithm, &claims)
            }
        }
    }

    pub(super) fn secret(&self) -> Option<&Secret> {
        match self {
            Proof::Public => None,
            Proof::Header(secret) | Proof::Body(secret) | Proof::Assertion(secret) => Some(secret),
        }
    }
}

fn signed(pem: &Secret, algorithm: Algorithm, claims: &Claims<'_>) -> Result<Proof, Failure> {
    Ok(Proof::Assertion(Secret::new(assert(pem.expose(), algorithm, claims)?)))
}

fn untaken(server: &ServerMetadata, what: &str) -> Failure {
    Failure::new(Reason::Settings, format!("the authorisation server {} takes no {what}", server.issuer))
}
