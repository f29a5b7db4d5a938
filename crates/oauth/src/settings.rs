//! What a person settles about a session. All of it is optional: a server that supports registration needs none.

use http::Uri;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::secret::Secret;

/// How to sign in to one server.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Settings {
    /// The client that was registered by hand.
    pub client: Option<RegisteredClient>,
    /// The https address of a client id metadata document, which is the client id where the server supports that.
    pub metadata_url: Option<String>,
    /// How tokens are got.
    pub grant: Grant,
    /// The scopes to ask for, separated by blanks, instead of those that the server names.
    pub scope: Option<String>,
    /// Where the browser comes back to.
    pub redirect: Redirect,
    /// The issuer to use, where the server names none or several.
    pub issuer: Option<Uri>,
}

/// A client that the authorisation server knows already.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegisteredClient {
    /// Its `client_id`.
    pub id: String,
    /// How it proves to be it.
    pub authentication: Authentication,
}

/// How a client proves to be it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Authentication {
    /// A public client: PKCE alone.
    Public,
    /// A client secret, sent as the server's metadata says: in the header if it may be, else in the body.
    Secret(Secret),
    /// A signed assertion (RFC 7523, `private_key_jwt`).
    Key {
        /// The private key: PKCS#8 as PEM.
        pem: Secret,
        /// With what it signs.
        algorithm: Algorithm,
        /// The key's name at the server, if it has one.
        key_id: Option<String>,
    },
}

/// With what a private key signs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[schemars(rename = "SigningAlgorithm")]
pub enum Algorithm {
    /// ECDSA on P-256.
    #[default]
    #[serde(rename = "ES256")]
    Es256,
    /// RSA with PKCS#1 v1.5.
    #[serde(rename = "RS256")]
    Rs256,
    /// Ed25519.
    #[serde(rename = "EdDSA")]
    EdDsa,
}

/// How tokens are got.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Grant {
    /// A person signs in with a browser.
    #[default]
    AuthorizationCode,
    /// The client is the one that is signed in; needs `Settings::client` with a secret or a key.
    ClientCredentials,
    /// A person is signed in at an identity provider, whose token is exchanged for one of this server
    /// (enterprise-managed authorisation).
    Enterprise(IdentityProvider),
}

/// The identity provider of an enterprise.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdentityProvider {
    /// Its token endpoint.
    pub token_url: Uri,
    /// What it issued about the person: an ID token (OpenID Connect).
    pub id_token: Secret,
    /// The client that it knows us as.
    pub client: RegisteredClient,
}

/// Where the browser comes back to after a sign-in.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Redirect {
    /// To any free loopback port (RFC 8252, 7.3); the same one again next time, if it is free then.
    #[default]
    AnyPort,
    /// To this loopback port.
    Port(u16),
    /// To this address, which leads to a loopback port of this machine or is read from the browser by hand.
    Uri(String),
}
