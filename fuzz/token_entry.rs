//! What is done with one input of the target `token`: it is read as an issuer's keys and, behind the first line end, a
//! token. A token that those keys have not signed is refused, however it is put together.
//!
//! The sources are the server's own, built here by themselves, since it shows them to nobody.

#![allow(dead_code, reason = "the server uses more of them")]

#[path = "../crates/server/src/identity/algorithm.rs"]
mod algorithm;
#[path = "../crates/server/src/identity/jwks.rs"]
mod jwks;
#[path = "../crates/server/src/identity/jwt.rs"]
mod jwt;

use jwks::KeySet;
use jwt::Token;

/// A token, and nothing of it may be believed: who makes the input has no key.
pub(crate) fn token(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let (keys, token) = text.split_once('\n').unwrap_or(("", text));
    let keys = KeySet::parse(keys.as_bytes());
    let Ok(token) = Token::parse(token) else { return };
    // Whoever has run out of time does not get it back later.
    let end_s = token.claims.expires_s();
    assert!(token.claims.has_expired(end_s) && !token.claims.has_expired(end_s.saturating_sub(1)) || end_s == i64::MIN);
    let Ok(keys) = keys else { return };
    if let Some(key) = keys.find(token.kid.as_deref(), token.algorithm) {
        assert!(token.check_signature(key).is_err(), "signed by nobody");
    }
}
