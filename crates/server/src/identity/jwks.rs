//! The public keys of an issuer (RFC 7517): those that can check a signature of a kind we know. Others in the set are
//! not for us and passed over.

use std::collections::HashSet;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::signature::{
    self, RsaParameters, RsaPublicKeyComponents, UnparsedPublicKey, VerificationAlgorithm,
};
use serde::Deserialize;

use super::algorithm::Algorithm;

/// Keys that are kept of one issuer; they have a handful.
const KEYS_MAX: usize = 64;

/// The keys of an issuer at a moment.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct KeySet {
    keys: Vec<Key>,
}

#[derive(Debug, PartialEq, Eq)]
struct Key {
    kid: Option<String>,
    algorithm: Option<String>,
    key: PublicKey,
}

/// A public key.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum PublicKey {
    /// Modulus and exponent, big end first.
    Rsa { n: Vec<u8>, e: Vec<u8> },
    /// A point on P-256, uncompressed.
    P256(Vec<u8>),
    /// A point on P-384, uncompressed.
    P384(Vec<u8>),
    /// A key for Ed25519.
    Ed25519(Vec<u8>),
}

#[derive(Deserialize)]
struct Document {
    keys: Vec<serde_json::Value>,
}

#[derive(Deserialize)]
struct Jwk {
    kty: String,
    kid: Option<String>,
    #[serde(rename = "use")]
    usage: Option<String>,
    key_ops: Option<HashSet<String>>,
    alg: Option<String>,
    crv: Option<String>,
    n: Option<String>,
    e: Option<String>,
    x: Option<String>,
    y: Option<String>,
}

impl KeySet {
    /// Reads a document.
    ///
    /// # Errors
    /// It is no key set, or one without a key that is of use here.
    pub(super) fn parse(document: &[u8]) -> Result<KeySet, &'static str> {
        let document: Document = serde_json::from_slice(document).map_err(|_| "answered with no key set")?;
        let read = document.keys.into_iter().filter_map(|key| Key::of(serde_json::from_value(key).ok()?));
        let keys: Vec<Key> = read.take(KEYS_MAX).collect();
        if keys.is_empty() { Err("has no key that can check a signature") } else { Ok(KeySet { keys }) }
    }

    /// The key of this name for this kind of signature. Without a name it is the only one of its kind.
    pub(super) fn find(&self, kid: Option<&str>, algorithm: Algorithm) -> Option<&PublicKey> {
        let fits = |key: &&Key| {
            let is_named = kid.is_none_or(|kid| key.kid.as_deref() == Some(kid));
            let is_for = key.algorithm.as_ref().is_none_or(|own| *own == format!("{algorithm:?}"));
            is_named && is_for && key.key.fits(algorithm)
        };
        let mut fitting = self.keys.iter().filter(fits);
        match (fitting.next(), fitting.next()) {
            (Some(one), None) => Some(&one.key),
            // Two of one name are told apart by nobody.
            _ => None,
        }
    }
}

impl Key {
    fn of(jwk: Jwk) -> Option<Key> {
        let checks = jwk.usage.as_ref().is_none_or(|usage| usage == "sig")
            && jwk.key_ops.as_ref().is_none_or(|ops| ops.contains("verify"));
        let number = |text: &Option<String>| URL_SAFE_NO_PAD.decode(text.as_ref()?).ok();
        let point = |bytes: usize| {
            let (x, y) = (number(&jwk.x)?, number(&jwk.y)?);
            (x.len() == bytes && y.len() == bytes).then(|| [&[4][..], &x, &y].concat())
        };
        let key = match (jwk.kty.as_str(), jwk.crv.as_deref()) {
            ("RSA", _) => {
                PublicKey::Rsa { n: without_zeros(number(&jwk.n)?), e: without_zeros(number(&jwk.e)?) }
            }
            ("EC", Some("P-256")) => PublicKey::P256(point(32)?),
            ("EC", Some("P-384")) => PublicKey::P384(point(48)?),
            ("OKP", Some("Ed25519")) => PublicKey::Ed25519(number(&jwk.x).filter(|x| x.len() == 32)?),
            _ => return None,
        };
        checks.then_some(Key { kid: jwk.kid, algorithm: jwk.alg, key })
    }
}

/// Some issuers put zeros before their numbers, which the library refuses.
fn without_zeros(number: Vec<u8>) -> Vec<u8> {
    let zeros = number.iter().take_while(|byte| **byte == 0).count();
    number[zeros..].to_vec()
}

impl PublicKey {
    fn fits(&self, algorithm: Algorithm) -> bool {
        match self {
            PublicKey::Rsa { .. } => rsa(algorithm).is_some(),
            PublicKey::P256(_) => algorithm == Algorithm::ES256,
            PublicKey::P384(_) => algorithm == Algorithm::ES384,
            PublicKey::Ed25519(_) => algorithm == Algorithm::EdDSA,
        }
    }

    /// Whether the signature of a message is by this key. RSA keys below 2,048 bits sign nothing.
    pub(super) fn verify(&self, algorithm: Algorithm, message: &[u8], signature: &[u8]) -> bool {
        let by = |kind: &'static dyn VerificationAlgorithm, key: &[u8]| {
            UnparsedPublicKey::new(kind, key).verify(message, signature).is_ok()
        };
        self.fits(algorithm)
            && match self {
                PublicKey::Rsa { n, e } => rsa(algorithm).is_some_and(|kind| {
                    RsaPublicKeyComponents { n, e }.verify(kind, message, signature).is_ok()
                }),
                PublicKey::P256(point) => by(&signature::ECDSA_P256_SHA256_FIXED, point),
                PublicKey::P384(point) => by(&signature::ECDSA_P384_SHA384_FIXED, point),
                PublicKey::Ed25519(key) => by(&signature::ED25519, key),
            }
    }
}

fn rsa(algorithm: Algorithm) -> Option<&'static RsaParameters> {
    match algorithm {
        Algorithm::RS256 => Some(&signature::RSA_PKCS1_2048_8192_SHA256),
        Algorithm::RS384 => Some(&signature::RSA_PKCS1_2048_8192_SHA384),
        Algorithm::RS512 => Some(&signature::RSA_PKCS1_2048_8192_SHA512),
        Algorithm::PS256 => Some(&signature::RSA_PSS_2048_8192_SHA256),
        Algorithm::PS384 => Some(&signature::RSA_PSS_2048_8192_SHA384),
        Algorithm::PS512 => Some(&signature::RSA_PSS_2048_8192_SHA512),
        Algorithm::ES256 | Algorithm::ES384 | Algorithm::EdDSA => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn x(bytes: usize) -> String {
        URL_SAFE_NO_PAD.encode(vec![1; bytes])
    }

    #[test]
    fn keys_that_are_of_use_are_kept() {
        let okp = |more: &str| format!(r#"{{"kty":"OKP","crv":"Ed25519","x":"{}"{more}}}"#, x(32));
        let cases = [
            (okp(""), true),
            (okp(r#","use":"sig","key_ops":["verify"],"alg":"EdDSA""#), true),
            (okp(r#","use":"enc""#), false),
            (okp(r#","key_ops":["encrypt"]"#), false),
            (okp("").replace("Ed25519", "X25519"), false),
            (format!(r#"{{"kty":"OKP","crv":"Ed25519","x":"{}"}}"#, x(31)), false),
            (format!(r#"{{"kty":"EC","crv":"P-256","x":"{}","y":"{}"}}"#, x(32), x(32)), true),
            (format!(r#"{{"kty":"EC","crv":"P-256","x":"{}","y":"{}"}}"#, x(32), x(31)), false),
            (format!(r#"{{"kty":"EC","crv":"P-384","x":"{}","y":"{}"}}"#, x(48), x(48)), true),
            (format!(r#"{{"kty":"EC","crv":"P-521","x":"{}","y":"{}"}}"#, x(66), x(66)), false),
            (format!(r#"{{"kty":"RSA","n":"{}","e":"AQAB"}}"#, x(256)), true),
            (r#"{"kty":"RSA","e":"AQAB"}"#.into(), false),
            (format!(r#"{{"kty":"oct","k":"{}"}}"#, x(32)), false),
            ("7".into(), false),
        ];
        for (key, good) in cases {
            let document = format!(r#"{{"keys":[{key}]}}"#);
            assert_eq!(KeySet::parse(document.as_bytes()).is_ok(), good, "{key}");
        }
        for bad in ["", "[]", "{}", r#"{"keys":{}}"#, r#"{"keys":[]}"#] {
            assert!(KeySet::parse(bad.as_bytes()).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_key_is_found_by_its_name_and_kind() {
        let ed = |kid: &str| format!(r#"{{"kty":"OKP","crv":"Ed25519","x":"{}"{kid}}}"#, x(32));
        let rsa = format!(r#"{{"kty":"RSA","n":"{}","e":"AQAB","kid":"r","alg":"RS256"}}"#, x(256));
        let set = |keys: &[&str]| {
            KeySet::parse(format!(r#"{{"keys":[{}]}}"#, keys.join(",")).as_bytes()).expect("a set")
        };
        let (a, b) = (ed(r#","kid":"a""#), ed(r#","kid":"b""#));
        let both = set(&[&a, &b, &rsa]);
        for (kid, algorithm, found) in [
            (Some("a"), Algorithm::EdDSA, true),
            (Some("c"), Algorithm::EdDSA, false),
            (Some("a"), Algorithm::RS256, false),
            (None, Algorithm::EdDSA, false),
            (None, Algorithm::RS256, true),
            (Some("r"), Algorithm::RS256, true),
            (Some("r"), Algorithm::PS256, false),
        ] {
            assert_eq!(both.find(kid, algorithm).is_some(), found, "{kid:?} {algorithm:?}");
        }
        assert!(set(&[&a, &a]).find(Some("a"), Algorithm::EdDSA).is_none(), "two of one name");
        assert!(set(&[&ed("")]).find(None, Algorithm::EdDSA).is_some());
        assert!(set(&[&ed("")]).find(Some("a"), Algorithm::EdDSA).is_none());
    }

    #[test]
    fn a_key_checks_its_own_kind_of_signature_only() {
        use ring::signature::KeyPair as _;
        let document = signature::Ed25519KeyPair::generate_pkcs8(&ring::rand::SystemRandom::new());
        let pair =
            signature::Ed25519KeyPair::from_pkcs8(document.expect("randomness").as_ref()).expect("a key");
        let (key, signed) = (PublicKey::Ed25519(pair.public_key().as_ref().to_vec()), pair.sign(b"said"));
        for algorithm in Algorithm::ALL {
            let good = key.verify(algorithm, b"said", signed.as_ref());
            assert_eq!(good, algorithm == Algorithm::EdDSA, "{algorithm:?}");
        }
        assert!(!key.verify(Algorithm::EdDSA, b"unsaid", signed.as_ref()));
    }
}
