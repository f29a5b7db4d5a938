//! The `oauth` key, as people write it: a switch, or a table.

use oauth::Algorithm;
use schemars::JsonSchema;
use serde::Deserialize;

use super::Value;

/// Signing in: a switch, or the details.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "must be true, false or a table")]
#[schemars(inline)]
pub enum Oauth {
    /// `oauth = true` or `false`.
    Switch(bool),
    /// `[mcp.NAME.oauth]`.
    Table(Box<OauthTable>),
}

/// How to sign in to one server.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct OauthTable {
    /// The client that was registered by hand.
    pub client_id: Option<String>,
    /// Its secret, best as a reference: `{ env = "MY_SECRET" }`.
    pub client_secret: Option<Value>,
    /// Its private key instead of a secret: PKCS#8 as PEM, best as `{ file = "PATH" }`.
    pub private_key: Option<Value>,
    /// With what the key signs.
    pub signing_algorithm: Algorithm,
    /// The key's name at the server, if it has one.
    pub key_id: Option<String>,
    /// The https address of a client id metadata document, to be used as client id where the server supports that.
    pub client_metadata_url: Option<String>,
    /// The scopes to ask for, separated by blanks, instead of those that the server names.
    pub scope: Option<String>,
    /// The loopback port that the browser comes back to; by default any free one.
    pub callback_port: Option<u16>,
    /// The whole address that the browser comes back to, for a client that was registered with it.
    pub redirect_uri: Option<String>,
    /// The issuer to use, where the server names none or several.
    pub issuer: Option<String>,
    /// How tokens are got.
    pub grant: GrantKind,
    /// The identity provider, for `grant = "enterprise"`.
    pub identity_provider: Option<ProviderTable>,
}

/// How tokens are got.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum GrantKind {
    /// A person signs in with a browser.
    #[default]
    AuthorizationCode,
    /// The client itself is signed in, by its secret or key.
    ClientCredentials,
    /// A token of the enterprise's identity provider is exchanged.
    Enterprise,
}

/// The identity provider of an enterprise.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ProviderTable {
    /// Its token endpoint.
    pub token_url: String,
    /// The ID token that it issued about the user, as a reference.
    pub id_token: Option<Value>,
    /// The client that it knows us as.
    pub client_id: String,
    /// That client's secret, if it has one.
    pub client_secret: Option<Value>,
}
