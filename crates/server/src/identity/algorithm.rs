//! How tokens may be signed: with a public key, never with a shared secret.

use schemars::JsonSchema;
use serde::Deserialize;

/// How a token is signed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
pub enum Algorithm {
    /// RSA with PKCS #1 1.5 and SHA-256.
    RS256,
    /// RSA with PKCS #1 1.5 and SHA-384.
    RS384,
    /// RSA with PKCS #1 1.5 and SHA-512.
    RS512,
    /// RSA with PSS and SHA-256.
    PS256,
    /// RSA with PSS and SHA-384.
    PS384,
    /// RSA with PSS and SHA-512.
    PS512,
    /// ECDSA on P-256 with SHA-256.
    ES256,
    /// ECDSA on P-384 with SHA-384.
    ES384,
    /// Ed25519.
    EdDSA,
}

impl Algorithm {
    /// All of them.
    pub const ALL: [Algorithm; 9] = [
        Self::RS256,
        Self::RS384,
        Self::RS512,
        Self::PS256,
        Self::PS384,
        Self::PS512,
        Self::ES256,
        Self::ES384,
        Self::EdDSA,
    ];

    pub(super) fn parse(name: &str) -> Option<Algorithm> {
        Self::ALL.into_iter().find(|algorithm| format!("{algorithm:?}") == name)
    }
}
