//! Assertions, verified as a server would, and keys that are none.

use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256};
use ring::signature::{EcdsaKeyPair, Ed25519KeyPair, KeyPair, UnparsedPublicKey, VerificationAlgorithm};
use serde_json::Value;

use super::*;

/// Made for this test by `openssl genpkey`; good for nothing else.
const RSA_PEM: &str = include_str!("tests/rsa.pem");

fn pem(der: &[u8]) -> String {
    format!("{PEM_BEGIN}\n{}\n{PEM_END}\n", STANDARD.encode(der))
}

fn claims() -> Claims<'static> {
    Claims { client_id: "the client", audience: "https://as.example", now: 1_000_000, key_id: None }
}

/// Verifies an assertion with the public key, and returns its header and its claims.
fn verified(jwt: &str, how: &'static dyn VerificationAlgorithm, public: &[u8]) -> (Value, Value) {
    let (signed, signature) = jwt.rsplit_once('.').unwrap();
    let signature = URL_SAFE_NO_PAD.decode(signature).unwrap();
    UnparsedPublicKey::new(how, public).verify(signed.as_bytes(), &signature).unwrap();
    let (header, claims) = signed.split_once('.').unwrap();
    let read = |part| serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part).unwrap()).unwrap();
    (read(header), read(claims))
}

#[test]
fn every_algorithm_signs_what_its_verifier_takes() {
    let random = SystemRandom::new();
    let ec = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).unwrap();
    let ed = Ed25519KeyPair::generate_pkcs8(&random).unwrap();
    let rsa = RsaKeyPair::from_pkcs8(&read_pem(RSA_PEM).unwrap()).unwrap();
    let ec_public = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, ec.as_ref(), &random).unwrap();
    let ed_public = Ed25519KeyPair::from_pkcs8(ed.as_ref()).unwrap();
    let cases: [(Algorithm, String, &'static dyn VerificationAlgorithm, &[u8]); 3] = [
        (
            Algorithm::Es256,
            pem(ec.as_ref()),
            &ECDSA_P256_SHA256_FIXED,
            KeyPair::public_key(&ec_public).as_ref(),
        ),
        (Algorithm::EdDsa, pem(ed.as_ref()), &ED25519, KeyPair::public_key(&ed_public).as_ref()),
        (
            Algorithm::Rs256,
            RSA_PEM.to_owned(),
            &RSA_PKCS1_2048_8192_SHA256,
            KeyPair::public_key(&rsa).as_ref(),
        ),
    ];
    for (algorithm, pem, how, public) in cases {
        let jwt = assert(&pem, algorithm, &claims()).unwrap();
        let (header, said) = verified(&jwt, how, public);
        assert_eq!(header, serde_json::json!({ "alg": algorithm.name(), "typ": "JWT" }));
        let jti = said["jti"].as_str().unwrap();
        assert_eq!(jti.len(), 43);
        let expected = serde_json::json!({
            "iss": "the client", "sub": "the client", "aud": "https://as.example",
            "jti": jti, "iat": 1_000_000, "exp": 1_000_300,
        });
        assert_eq!(said, expected);
    }
}

#[test]
fn no_two_assertions_are_the_same_and_the_key_is_named() {
    let pair = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).unwrap();
    let pem = pem(pair.as_ref());
    let named = Claims { key_id: Some("key 1"), ..claims() };
    let one = assert(&pem, Algorithm::EdDsa, &named).unwrap();
    assert_ne!(one, assert(&pem, Algorithm::EdDsa, &named).unwrap());
    let header = URL_SAFE_NO_PAD.decode(one.split('.').next().unwrap()).unwrap();
    assert_eq!(header, br#"{"alg":"EdDSA","kid":"key 1","typ":"JWT"}"#);
}

#[test]
fn what_is_no_key_is_refused_without_showing_it() {
    let begin = PEM_BEGIN;
    for (pem, why) in [
        (String::new(), "it does not begin and end as PKCS#8 in PEM does (\"BEGIN PRIVATE KEY\")"),
        (
            "-----BEGIN RSA PRIVATE KEY-----\nAAAA\n-----END RSA PRIVATE KEY-----".to_owned(),
            "it does not begin and end as PKCS#8 in PEM does (\"BEGIN PRIVATE KEY\")",
        ),
        (
            format!("{begin}\nhunter2!\n{PEM_END}"),
            "what stands between its first and last line is not base64",
        ),
        (format!("{begin}\nAAAA\n{PEM_END}"), "it is no key for ES256 (InvalidEncoding)"),
        (RSA_PEM.to_owned(), "it is no key for ES256 (WrongAlgorithm)"),
        (" ".repeat(PEM_BYTES_MAX + 1), "it is too long"),
    ] {
        let error = assert(&pem, Algorithm::Es256, &claims()).err().unwrap();
        assert_eq!(error.to_string(), format!("the private key cannot be used: {why}"));
    }
}
