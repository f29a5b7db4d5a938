//! What is kept of a session, as JSON. It holds tokens and secrets in the clear: the token store encrypts it.
//!
//! No type here has a `Debug`, so that nothing of it gets into a log line by mistake.

use data_encoding::HEXLOWER;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::challenge::Challenge;
use crate::error::AuthError;
use crate::token_store::TokenStoreError;

/// The name of the grant that needs a person.
pub(crate) const AUTHORIZATION_CODE: &str = "authorization_code";

/// What is kept of a session.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Record {
    /// The client that was registered for this session, of which there is one at a time.
    pub(crate) registration: Option<Registration>,
    pub(crate) tokens: Option<Tokens>,
    /// What the server said when it last refused a request. It is kept because the sign-in that follows may be the
    /// work of another process.
    pub(crate) wanted: Option<Challenge>,
    /// Who has been shown the secret of the configured client.
    pub(crate) trusted: Option<Trusted>,
    /// The server wants more scopes than the token has.
    pub(crate) step_up: Option<StepUp>,
}

/// A client as an authorisation server knows it.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Client {
    pub(crate) id: String,
    /// Of a client that was registered by us; that of a configured client is never kept.
    pub(crate) secret: Option<String>,
    /// The `token_endpoint_auth_method` that the server settled on.
    pub(crate) method: Option<String>,
}

/// A client that was registered by us.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Registration {
    pub(crate) issuer: String,
    pub(crate) client: Client,
    /// Where its browser comes back to.
    pub(crate) redirect_uri: String,
    /// The scopes that it may ask for; any, if it was registered without.
    pub(crate) scope: Option<String>,
    /// When its secret ends, in seconds since 1970.
    pub(crate) expires_at: Option<u64>,
}

/// A token, with what is needed to renew it.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Tokens {
    pub(crate) issuer: String,
    pub(crate) client: Client,
    /// By which grant it was got, so that a token that a person signed in for is not used for a machine.
    pub(crate) grant: String,
    pub(crate) access: String,
    pub(crate) refresh: Option<String>,
    /// In seconds since 1970; nothing if the server did not say.
    pub(crate) expires_at: Option<u64>,
    /// When it was issued, in seconds since 1970.
    pub(crate) issued_at: u64,
    /// The scopes that were asked for.
    pub(crate) asked: Option<String>,
    /// The scopes that were given.
    pub(crate) scope: Option<String>,
}

/// The one authorisation server that gets to see a client's secret, or what its key signs.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Trusted {
    pub(crate) client_id: String,
    pub(crate) issuer: String,
}

/// How often a server has refused tokens that were got with the very scopes it names.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StepUp {
    /// All scopes to ask for, separated by blanks.
    pub(crate) scope: String,
    pub(crate) refusals: u32,
    /// The fingerprint of the token that was refused last, so that many calls with one token count once.
    pub(crate) token: String,
    /// When the first of them was, in seconds since 1970.
    pub(crate) since: u64,
}

impl Record {
    /// Reads what is kept. What this program cannot read is as if nothing were kept: signing in again replaces it.
    pub(crate) fn read(bytes: &[u8]) -> Record {
        serde_json::from_slice(bytes).unwrap_or_default()
    }

    pub(crate) fn write(&self) -> Result<Vec<u8>, AuthError> {
        serde_json::to_vec(self)
            .map_err(|_| TokenStoreError("they cannot be written as JSON".to_owned()).into())
    }

    pub(crate) fn is_empty(&self) -> bool {
        *self == Record::default()
    }
}

impl Tokens {
    /// Whether both came from one request. Some servers issue the same access token more than once.
    pub(crate) fn is(&self, other: &Tokens) -> bool {
        self.access == other.access && self.refresh == other.refresh && self.issued_at == other.issued_at
    }

    /// Its name where the token itself must not be: half of a hash of it and of when it was issued.
    pub(crate) fn fingerprint(&self) -> String {
        let named = format!("{} {}", self.issued_at, self.access);
        HEXLOWER.encode(&Sha256::digest(named.as_bytes())[..16])
    }

    /// Whether another one can be got without a person.
    pub(crate) fn renews(&self) -> bool {
        self.refresh.is_some() || self.grant != AUTHORIZATION_CODE
    }
}
