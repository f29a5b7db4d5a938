//! Why there is no token: in sentences for people, and in a word for what decides what to try.

use sandbox::NetError;

use crate::token_store::TokenStoreError;

/// There is no token. Holds no secret, and nothing of what a server says beyond one short cleaned sentence.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AuthError {
    /// A person has to sign in, or to sign in again.
    #[error("{why}")]
    NeedsSignIn {
        /// Why, as "it wants you to sign in" or "the sign-in has expired".
        why: String,
    },
    /// The authorisation server registers no clients by itself: a person has to do it and configure the result.
    #[error("{0}")]
    NeedsRegistration(String),
    /// Discovery, a token request or a sign-in failed.
    #[error(transparent)]
    Failed(#[from] Failure),
    /// What is kept cannot be read or written.
    #[error(transparent)]
    Keep(#[from] TokenStoreError),
}

impl AuthError {
    /// True if a person has to do something before there can be a token.
    pub fn needs_a_person(&self) -> bool {
        matches!(self, AuthError::NeedsSignIn { .. } | AuthError::NeedsRegistration(_))
    }
}

/// What failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{said}")]
pub struct Failure {
    /// What kind of failure it is, for whoever says what to try.
    pub reason: Reason,
    /// What happened, as a sentence for people.
    pub said: String,
}

/// Kinds of failures, told apart where a person can do something different about them. The gravest come first: of
/// several failures of one attempt, the least counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// Somebody else than the server that was asked has answered the sign-in, or does not say who (RFC 9207).
    Impostor,
    /// The metadata of an issuer is that of another one.
    IssuerDiffers,
    /// The protected server names another issuer than the one that knows the configured client.
    IssuerChanged,
    /// An address leads into a private network, or to this machine, from outside.
    EndpointPrivate,
    /// An address is not one that a server should name.
    EndpointRefused,
    /// The metadata of the protected server is for another address.
    ResourceDiffers,
    /// The issuer is the right one, but spells itself otherwise than it is named.
    IssuerSpelling,
    /// The authorisation server does not say that it supports PKCE with S256.
    NoPkce,
    /// The protected server does not say where to sign in.
    NoSignIn,
    /// An answer is not a JSON object.
    NotJson,
    /// An answer is a redirect, which is not followed.
    Redirects,
    /// What came back from the browser, or was pasted, does not finish this sign-in; or nothing came.
    NotFinished,
    /// The scopes are not ones that the server gives (`invalid_scope`).
    ScopeRefused,
    /// The server does not know us, or not with what we prove ourselves by (`invalid_client`,
    /// `unauthorized_client`).
    ClientRefused,
    /// What a token was asked for with is not, or no longer, good (`invalid_grant`): a code, a refresh token, an
    /// assertion.
    GrantRefused,
    /// The person said no, or somebody for them (`access_denied`).
    Denied,
    /// Tokens with the scopes that the server wants do not suffice either.
    ScopesNeverEnough,
    /// What a person has settled in [`Settings`](crate::Settings) cannot be used.
    Settings,
    /// There was no answer, or not a whole one.
    Unreachable,
    /// Anything else.
    Other,
}

impl AuthError {
    /// A person has to sign in, for this reason.
    pub(crate) fn needs_sign_in(why: impl Into<String>) -> AuthError {
        AuthError::NeedsSignIn { why: why.into() }
    }

    /// A failure.
    pub fn failed(reason: Reason, said: impl Into<String>) -> AuthError {
        AuthError::Failed(Failure::new(reason, said))
    }
}

impl Failure {
    /// A failure.
    pub fn new(reason: Reason, said: impl Into<String>) -> Failure {
        Failure { reason, said: said.into() }
    }

    /// The same, said in a longer sentence.
    pub(crate) fn within(self, sentence: impl FnOnce(&str) -> String) -> Failure {
        Failure { said: sentence(&self.said), ..self }
    }
}

impl From<NetError> for Failure {
    fn from(error: NetError) -> Failure {
        let reason = match &error {
            NetError::Private { .. } => Reason::EndpointPrivate,
            NetError::Refused { .. }
            | NetError::Dns { .. }
            | NetError::Tls { .. }
            | NetError::Timeout { .. }
            | NetError::Company { .. }
            | NetError::Closed { .. } => Reason::Unreachable,
            NetError::Address | NetError::Other { .. } => Reason::Other,
        };
        Failure::new(reason, error.to_string())
    }
}

impl Reason {
    /// The reason of an `error` that an authorisation server names (RFC 6749, 4.1.2.1 and 5.2).
    pub(crate) fn of(error: &str) -> Reason {
        match error {
            "access_denied" => Reason::Denied,
            "invalid_scope" => Reason::ScopeRefused,
            "invalid_grant" => Reason::GrantRefused,
            "invalid_client" | "unauthorized_client" => Reason::ClientRefused,
            _ => Reason::Other,
        }
    }
}
