//! An issuer on loopback: metadata, keys that can be exchanged, and tokens of any kind, good or bad.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair as _};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

const KEYS: &str = "/keys";
const METADATA: &str = "/.well-known/openid-configuration";

/// What it answers at which path, and how often it was asked.
#[derive(Default)]
struct Desk {
    documents: HashMap<String, String>,
    asked: Vec<String>,
}

/// Listens until the test ends.
pub(super) struct SampleIssuer {
    pub(super) id: String,
    desk: Arc<Mutex<Desk>>,
}

impl SampleIssuer {
    pub(super) async fn new(keys: &[&Signer]) -> SampleIssuer {
        let listener = TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], 0))).await.expect("a free port");
        let id = format!("http://{}", listener.local_addr().expect("bound"));
        let desk: Arc<Mutex<Desk>> = Arc::default();
        tokio::spawn(serve(listener, desk.clone()));
        let issuer = SampleIssuer { id, desk };
        let metadata = json!({ "issuer": issuer.id, "jwks_uri": format!("{}{KEYS}", issuer.id) });
        issuer.answer(METADATA, &metadata.to_string());
        issuer.have(keys);
        issuer
    }

    /// Answers with other keys from now on.
    pub(super) fn have(&self, keys: &[&Signer]) {
        let keys: Vec<Value> = keys.iter().map(|key| key.jwk()).collect();
        self.answer(KEYS, &json!({ "keys": keys }).to_string());
    }

    fn answer(&self, path: &str, document: &str) {
        self.desk.lock().expect("sound").documents.insert(path.to_owned(), document.to_owned());
    }

    /// Answers everything with an error from now on.
    pub(super) fn fail(&self) {
        self.desk.lock().expect("sound").documents.clear();
    }

    /// How often it was asked for its keys.
    pub(super) fn asked(&self) -> usize {
        self.desk.lock().expect("sound").asked.iter().filter(|path| *path == KEYS).count()
    }
}

async fn serve(listener: TcpListener, desk: Arc<Mutex<Desk>>) {
    while let Ok((mut socket, _)) = listener.accept().await {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            match socket.read_u8().await {
                Ok(byte) => head.push(byte),
                Err(_) => break,
            }
        }
        let head = String::from_utf8_lossy(&head).into_owned();
        let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
        let document = {
            let mut desk = desk.lock().expect("sound");
            desk.asked.push(path.clone());
            desk.documents.get(&path).cloned()
        };
        let (status, body) = document.map_or(("500 Trouble", String::new()), |document| ("200 OK", document));
        let length = body.len();
        let answer =
            format!("HTTP/1.1 {status}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}");
        // A client that went away has its answer.
        let _ = socket.write_all(answer.as_bytes()).await;
    }
}

/// A key that signs, with the name under which its issuer has it.
pub(super) struct Signer {
    kid: &'static str,
    key: Kind,
}

enum Kind {
    Ed25519(Ed25519KeyPair),
    P256(EcdsaKeyPair),
}

impl Signer {
    pub(super) fn ed25519(kid: &'static str) -> Signer {
        let document = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).expect("randomness");
        Signer { kid, key: Kind::Ed25519(Ed25519KeyPair::from_pkcs8(document.as_ref()).expect("a key")) }
    }

    pub(super) fn p256(kid: &'static str) -> Signer {
        let (kind, random) = (&ECDSA_P256_SHA256_FIXED_SIGNING, SystemRandom::new());
        let document = EcdsaKeyPair::generate_pkcs8(kind, &random).expect("randomness");
        Signer {
            kid,
            key: Kind::P256(EcdsaKeyPair::from_pkcs8(kind, document.as_ref(), &random).expect("a key")),
        }
    }

    fn alg(&self) -> &'static str {
        match self.key {
            Kind::Ed25519(_) => "EdDSA",
            Kind::P256(_) => "ES256",
        }
    }

    /// The public key as bytes.
    pub(super) fn public(&self) -> Vec<u8> {
        match &self.key {
            Kind::Ed25519(key) => key.public_key().as_ref().to_vec(),
            Kind::P256(key) => key.public_key().as_ref().to_vec(),
        }
    }

    fn jwk(&self) -> Value {
        let (public, text) = (self.public(), |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes));
        match self.key {
            Kind::Ed25519(_) => {
                json!({ "kty": "OKP", "crv": "Ed25519", "kid": self.kid, "x": text(&public) })
            }
            Kind::P256(_) => json!({
                "kty": "EC", "crv": "P-256", "kid": self.kid, "use": "sig", "x": text(&public[1..33]), "y": text(&public[33..]),
            }),
        }
    }

    /// A token with this header in place of the usual one, if there is one.
    pub(super) fn token(&self, header: Option<Value>, claims: &Value) -> String {
        let header = header.unwrap_or_else(|| json!({ "alg": self.alg(), "kid": self.kid, "typ": "at+jwt" }));
        let parts = [header.to_string(), claims.to_string()].map(|part| URL_SAFE_NO_PAD.encode(part));
        let signed = parts.join(".");
        let signature = match &self.key {
            Kind::Ed25519(key) => key.sign(signed.as_bytes()).as_ref().to_vec(),
            Kind::P256(key) => {
                key.sign(&SystemRandom::new(), signed.as_bytes()).expect("signed").as_ref().to_vec()
            }
        };
        format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature))
    }
}
