//! Signed assertions: how a client with a private key proves to be it (RFC 7523, 2.2 and 3; `private_key_jwt`).

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use ring::error::KeyRejected;
use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, RSA_PKCS1_SHA256, RsaKeyPair,
};

use crate::error::{Failure, Reason};
use crate::settings::Algorithm;

/// How long an assertion is good. It is used at once; the rest is for clocks that differ.
const LIFETIME_SECONDS: u64 = 300;

/// PKCS#8 of an RSA key with 16 384 bits as PEM has 13 KB; more is no key.
const PEM_BYTES_MAX: usize = 16 * 1024;

const PEM_BEGIN: &str = "-----BEGIN PRIVATE KEY-----";
const PEM_END: &str = "-----END PRIVATE KEY-----";

/// Who says what to whom.
pub(crate) struct Claims<'a> {
    pub(crate) client_id: &'a str,
    /// The issuer of the authorisation server, which every server must accept, while token endpoints are ambiguous
    /// (OpenID Connect's draft "JWT client authentication audience", after an attack by a second server).
    pub(crate) audience: &'a str,
    /// Now, in seconds since 1970.
    pub(crate) now: u64,
    pub(crate) key_id: Option<&'a str>,
}

/// A signed assertion that its client is who it says, by its key: PKCS#8, unencrypted, as PEM, of the kind that
/// `algorithm` signs with.
pub(crate) fn assert(pem: &str, algorithm: Algorithm, claims: &Claims<'_>) -> Result<String, Failure> {
    let key = read_pem(pem)?;
    let mut header = serde_json::json!({ "alg": algorithm.name(), "typ": "JWT" });
    if let Some(key_id) = claims.key_id {
        header["kid"] = key_id.into();
    }
    let claims = serde_json::json!({
        "iss": claims.client_id,
        "sub": claims.client_id,
        "aud": claims.audience,
        "jti": random_name()?,
        "iat": claims.now,
        "exp": claims.now.saturating_add(LIFETIME_SECONDS),
    });
    let encode = |part: &serde_json::Value| URL_SAFE_NO_PAD.encode(part.to_string());
    let text = format!("{}.{}", encode(&header), encode(&claims));
    let signature = signature(&key, algorithm, text.as_bytes())?;
    Ok(format!("{text}.{}", URL_SAFE_NO_PAD.encode(signature)))
}

fn signature(key: &[u8], algorithm: Algorithm, text: &[u8]) -> Result<Vec<u8>, Failure> {
    let random = SystemRandom::new();
    let rejected = |why: KeyRejected| unusable(&format!("it is no key for {} ({why})", algorithm.name()));
    match algorithm {
        Algorithm::Es256 => {
            let key = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, key, &random);
            key.map_err(rejected)?.sign(&random, text).map(|signature| signature.as_ref().to_vec())
        }
        Algorithm::Rs256 => {
            let key = RsaKeyPair::from_pkcs8(key).map_err(rejected)?;
            let mut signature = vec![0; key.public().modulus_len()];
            key.sign(&RSA_PKCS1_SHA256, &random, text, &mut signature).map(|()| signature)
        }
        Algorithm::EdDsa => {
            let key = Ed25519KeyPair::from_pkcs8_maybe_unchecked(key).map_err(rejected)?;
            Ok(key.sign(text).as_ref().to_vec())
        }
    }
    .map_err(|_| Failure::new(Reason::Settings, "the private key could not sign"))
}

impl Algorithm {
    /// Its name in JWTs and in metadata.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Algorithm::Es256 => "ES256",
            Algorithm::Rs256 => "RS256",
            Algorithm::EdDsa => "EdDSA",
        }
    }
}

/// A name that nobody guesses and that was never used before, as a state and a verifier have to be too (RFC 7636, 4.1).
pub(crate) fn random_name() -> Result<String, Failure> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(|error| {
        Failure::new(Reason::Other, format!("the system gives no random numbers: {error}"))
    })?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

/// The one block of a PEM text: nothing before it, nothing after it, no headers in it.
fn read_pem(pem: &str) -> Result<Vec<u8>, Failure> {
    if pem.len() > PEM_BYTES_MAX {
        return Err(unusable("it is too long"));
    }
    let body = pem.trim().strip_prefix(PEM_BEGIN).and_then(|rest| rest.strip_suffix(PEM_END));
    let Some(body) = body else {
        return Err(unusable("it does not begin and end as PKCS#8 in PEM does (\"BEGIN PRIVATE KEY\")"));
    };
    let base64: String = body.lines().map(str::trim).collect();
    STANDARD.decode(base64).map_err(|_| unusable("what stands between its first and last line is not base64"))
}

fn unusable(why: &str) -> Failure {
    Failure::new(Reason::Settings, format!("the private key cannot be used: {why}"))
}

#[cfg(test)]
mod tests;
