//! A JSON Web Token (RFC 7519) as a caller brings it: taken apart within bounds, its signature checked, and the times
//! and audience it is good for. Whose keys are asked is for `issuer` to say.
//!
//! Only signatures with a public key are known here. There is no `none`, and nothing with a shared secret, so a public
//! key can never be taken for one.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::algorithm::Algorithm;
use super::jwks::PublicKey;

/// Longest token, in bytes. Those of providers that put groups into them have a few thousand.
pub(super) const TOKEN_BYTES_MAX: usize = 16 * 1024;

/// How far a token's beginning may lie in the future, in seconds: the issuer's clock may be ahead of ours. Its end is
/// taken as it is.
pub(super) const LEEWAY_S: i64 = 30;

/// Why a token is not good, for the one who sent it.
pub(super) type Fault = &'static str;

/// A token that has been taken apart, and not been believed yet.
pub(super) struct Token<'t> {
    /// How it says it is signed.
    pub(super) algorithm: Algorithm,
    /// The name of the key, if it says one.
    pub(super) kid: Option<String>,
    /// What it says.
    pub(super) claims: Claims,
    signed: &'t str,
    signature: Vec<u8>,
}

#[derive(Deserialize)]
struct Header {
    alg: String,
    kid: Option<String>,
    typ: Option<String>,
    crit: Option<Value>,
}

/// What a token says.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Claims {
    /// Who has issued it.
    #[serde(rename = "iss")]
    pub(super) issuer: String,
    #[serde(rename = "aud")]
    audience: Audience,
    /// Seconds since 1970, perhaps with a fraction.
    #[serde(rename = "exp")]
    expires_s: f64,
    #[serde(rename = "nbf")]
    not_before_s: Option<f64>,
    /// Everything else.
    #[serde(flatten)]
    pub(super) rest: Map<String, Value>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
enum Audience {
    One(String),
    Several(Vec<String>),
}

impl<'t> Token<'t> {
    /// Takes a token apart.
    ///
    /// # Errors
    /// It is none, or signed in a way that is never accepted.
    pub(super) fn parse(text: &'t str) -> Result<Token<'t>, Fault> {
        if text.len() > TOKEN_BYTES_MAX {
            return Err("the token is longer than 16 KiB");
        }
        let no_token = "this is neither a key of toolcrib nor a JSON Web Token";
        let (signed, signature) = text.rsplit_once('.').ok_or(no_token)?;
        let (header, claims) = signed.split_once('.').ok_or(no_token)?;
        let broken = "the token cannot be read";
        let bytes = |part: &str| URL_SAFE_NO_PAD.decode(part).map_err(|_| broken);
        let header: Header = serde_json::from_slice(&bytes(header)?).map_err(|_| broken)?;
        let algorithm = Algorithm::parse(&header.alg).ok_or(
            "the token is not signed in a way that is accepted: `none` and shared secrets never are",
        )?;
        if header.crit.is_some() {
            return Err("the token demands something of its readers that toolcrib does not know");
        }
        let typ = header.typ.as_deref().unwrap_or("JWT");
        let typ = typ
            .get(.."application/".len())
            .filter(|kind| kind.eq_ignore_ascii_case("application/"))
            .map_or(typ, |kind| &typ[kind.len()..]);
        if !["JWT", "at+jwt"].iter().any(|known| known.eq_ignore_ascii_case(typ)) {
            return Err("the token is of a kind that is no access token");
        }
        let claims = serde_json::from_slice(&bytes(claims)?)
            .map_err(|_| "the token does not say who issued it (iss), for whom (aud) and until when (exp)")?;
        Ok(Token { algorithm, kid: header.kid, claims, signed, signature: bytes(signature)? })
    }

    /// Checks the signature.
    ///
    /// # Errors
    /// It is not by this key.
    pub(super) fn check_signature(&self, key: &PublicKey) -> Result<(), Fault> {
        let is_good = key.verify(self.algorithm, self.signed.as_bytes(), &self.signature);
        if is_good { Ok(()) } else { Err("the signature of the token is wrong") }
    }
}

impl Claims {
    /// Until when it is good, in seconds since 1970.
    pub(super) fn expires_s(&self) -> i64 {
        // A number beyond all times becomes the last of them.
        self.expires_s as i64
    }

    /// Whether it has run out.
    pub(super) fn has_expired(&self, now_s: i64) -> bool {
        self.expires_s() <= now_s
    }

    /// Checks that it is good already, for whoever brings it, and for us.
    ///
    /// # Errors
    /// It is too early; or it is good only with a key that its holder has to show (`cnf`, RFC 7800), as with DPoP: whoever
    /// brings it alone may have taken it; or it was issued for others.
    pub(super) fn check(&self, now_s: i64, is_ours: impl Fn(&str) -> bool) -> Result<(), Fault> {
        if self.not_before_s.is_some_and(|begins_s| begins_s as i64 > now_s.saturating_add(LEEWAY_S)) {
            return Err("the token is not good yet");
        }
        if self.rest.contains_key("cnf") {
            return Err(
                "the token is bound to a key of its holder (cnf), which cannot be checked here; ask for a bearer token",
            );
        }
        let is_for_us = match &self.audience {
            Audience::One(one) => is_ours(one),
            Audience::Several(several) => several.iter().any(|one| is_ours(one)),
        };
        if is_for_us { Ok(()) } else { Err("the token was issued for another server (aud)") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(header: &str, claims: &str) -> String {
        [header, claims, "sig"].map(|part| URL_SAFE_NO_PAD.encode(part)).join(".")
    }

    const CLAIMS: &str = r#"{"iss":"i","aud":"a","exp":100,"sub":"ada"}"#;

    #[test]
    fn what_is_read_and_what_is_not() {
        let good = r#"{"alg":"RS256","kid":"k"}"#;
        let cases = [
            (token(good, CLAIMS), None),
            (token(r#"{"alg":"EdDSA","typ":"at+jwt"}"#, CLAIMS), None),
            (token(r#"{"alg":"ES256","typ":"application/AT+JWT"}"#, CLAIMS), None),
            (token(r#"{"alg":"none"}"#, CLAIMS), Some("not signed in a way")),
            (token(r#"{"alg":"None"}"#, CLAIMS), Some("not signed in a way")),
            (token(r#"{"alg":"HS256"}"#, CLAIMS), Some("not signed in a way")),
            (token(r#"{"alg":"rs256"}"#, CLAIMS), Some("not signed in a way")),
            (token(r#"{"alg":"RS256","alg":"none"}"#, CLAIMS), Some("cannot be read")),
            (token(r#"{"alg":"RS256","crit":["b64"],"b64":false}"#, CLAIMS), Some("demands")),
            (token(r#"{"alg":"RS256","typ":"oauth-id-jag+jwt"}"#, CLAIMS), Some("no access token")),
            (token(r#"{"alg":"RS256","typ":"logout+jwt"}"#, CLAIMS), Some("no access token")),
            (token(r#"{}"#, CLAIMS), Some("cannot be read")),
            (token("no json", CLAIMS), Some("cannot be read")),
            (token(good, "[]"), Some("does not say")),
            (token(good, r#"{"iss":"i","aud":"a"}"#), Some("does not say")),
            (token(good, r#"{"iss":"i","exp":1}"#), Some("does not say")),
            (token(good, r#"{"aud":"a","exp":1}"#), Some("does not say")),
            (token(good, r#"{"iss":"i","aud":"a","exp":"1"}"#), Some("does not say")),
            (token(good, r#"{"iss":"i","aud":"a","exp":1,"exp":2}"#), Some("does not say")),
            (token(good, r#"{"iss":"i","aud":"a","exp":1,"nbf":"soon"}"#), Some("does not say")),
            (token(good, CLAIMS) + "=", Some("cannot be read")),
            (token(good, CLAIMS) + ".x", Some("cannot be read")),
            (format!("{}+", token(good, CLAIMS)), Some("cannot be read")),
            (String::new(), Some("neither")),
            ("a.b".into(), Some("neither")),
            ("..".into(), Some("cannot be read")),
            ("x".repeat(TOKEN_BYTES_MAX + 1), Some("longer")),
        ];
        for (text, expected) in cases {
            let said = Token::parse(&text).err();
            match (said, expected) {
                (None, None) => {}
                (Some(said), Some(expected)) if said.contains(expected) => {}
                _ => panic!("{text}: {said:?}, not {expected:?}"),
            }
        }
    }

    #[test]
    fn times_to_the_second() {
        let claims = |text: &str| serde_json::from_str::<Claims>(text).expect("claims");
        let plain = claims(CLAIMS);
        let later = claims(r#"{"iss":"i","aud":"a","exp":1000,"nbf":100}"#);
        let broken = claims(r#"{"iss":"i","aud":"a","exp":100.9}"#);
        let endless = claims(r#"{"iss":"i","aud":"a","exp":1e300}"#);
        for (claims, now_s, good) in [
            (&plain, 99, true),
            (&plain, 100, false),
            (&plain, 101, false),
            (&later, 100 - LEEWAY_S, true),
            (&later, 99 - LEEWAY_S, false),
            (&broken, 99, true),
            (&broken, 100, false),
            (&endless, i64::MAX - 1, true),
            (&plain, i64::MAX, false),
        ] {
            let is_good = !claims.has_expired(now_s) && claims.check(now_s, |_| true).is_ok();
            assert_eq!(is_good, good, "{claims:?} at {now_s}");
        }
    }

    #[test]
    fn audiences() {
        for (audience, good) in [
            (r#""us""#, true),
            (r#"["them","us"]"#, true),
            (r#""them""#, false),
            (r#""us ""#, false),
            ("[]", false),
        ] {
            let claims: Claims =
                serde_json::from_str(&format!(r#"{{"iss":"i","aud":{audience},"exp":1}}"#)).expect("claims");
            assert_eq!(claims.check(0, |one| one == "us").is_ok(), good, "{audience}");
        }
    }
}
