//! Tokens of an issuer, good and bad.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::hmac;
use serde_json::{Value, json};

use super::sample_issuer::{SampleIssuer, Signer};
use super::{NOW_S, Sample, attempts, holds, pass};
use crate::identity::jwt::{LEEWAY_S, TOKEN_BYTES_MAX};
use gate::Proof;

/// Longer than an issuer is left in peace.
const LATER: Duration = Duration::from_secs(6);

fn trusting(issuer: &SampleIssuer) -> Sample {
    Sample::new(&format!("[[issuers]]\nissuer = '{}'\nname = 'login'", issuer.id), None)
}

pub(super) fn claims(issuer: &SampleIssuer) -> Value {
    json!({ "iss": issuer.id, "aud": "http://127.0.0.1:3000/mcp", "exp": NOW_S + 60, "sub": "ada" })
}

/// The claims with other values; `null` takes one out.
fn with(claims: &Value, changes: Value) -> Value {
    let mut claims = claims.clone();
    let (all, changes) = (claims.as_object_mut().expect("claims"), changes);
    for (name, value) in changes.as_object().expect("changes") {
        match value {
            Value::Null => drop(all.remove(name)),
            value => drop(all.insert(name.clone(), value.clone())),
        }
    }
    claims
}

#[tokio::test]
async fn only_good_tokens_speak_for_somebody() {
    let (signer, other) = (Signer::ed25519("one"), Signer::p256("two"));
    let issuer = SampleIssuer::new(&[&signer, &other]).await;
    let sample = trusting(&issuer);
    let good = claims(&issuer);
    let changed = |changes: Value| signer.token(None, &with(&good, changes));
    let headed = |header: Value| signer.token(Some(header), &good);
    let unsigned = headed(json!({ "alg": "none" }));
    let unsigned = format!("{}.", unsigned.rsplit_once('.').expect("three parts").0);
    let shared = headed(json!({ "alg": "HS256", "kid": "one" }));
    let signed = shared.rsplit_once('.').expect("three parts").0;
    let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, &signer.public()), signed.as_bytes());
    let shared = format!("{signed}.{}", URL_SAFE_NO_PAD.encode(tag));
    let forged = {
        let (token, richer) = (signer.token(None, &good), changed(json!({ "sub": "root" })));
        let parts: Vec<&str> = token.split('.').collect();
        let claims = richer.split('.').nth(1).expect("three parts");
        format!("{}.{claims}.{}", parts[0], parts[2])
    };
    let known = "login:ada Token {Agent}";
    for (nth, (token, expected)) in [
        (signer.token(None, &good), known),
        (other.token(None, &good), known),
        (headed(json!({ "alg": "EdDSA" })), known),
        (changed(json!({ "aud": ["https://other.example", "http://localhost:3000/mcp"] })), known),
        (changed(json!({ "nbf": NOW_S + LEEWAY_S })), known),
        (changed(json!({ "nbf": NOW_S + LEEWAY_S + 1 })), "not good yet"),
        (changed(json!({ "exp": NOW_S + 1 })), known),
        (changed(json!({ "exp": NOW_S })), "expired"),
        (changed(json!({ "exp": NOW_S - 1 })), "expired"),
        (changed(json!({ "cnf": { "jkt": "x" } })), "bound to a key"),
        (changed(json!({ "exp": null })), "until when"),
        (changed(json!({ "aud": "https://other.example" })), "another server"),
        (changed(json!({ "aud": "client-id-of-a-page" })), "another server"),
        (changed(json!({ "aud": null })), "for whom"),
        (changed(json!({ "iss": "https://evil.example" })), "not trusted"),
        (changed(json!({ "iss": format!("{}/", issuer.id) })), "not trusted"),
        (changed(json!({ "sub": null })), "whose it is"),
        (headed(json!({ "alg": "EdDSA", "kid": "three" })), "does not have"),
        (headed(json!({ "alg": "EdDSA", "kid": "two" })), "does not have"),
        (headed(json!({ "alg": "ES256", "kid": "two" })), "signature"),
        (headed(json!({ "alg": "RS256", "kid": "one" })), "does not have"),
        (Signer::ed25519("one").token(None, &good), "signature"),
        (unsigned, "not signed in a way"),
        (shared, "not signed in a way"),
        (forged, "signature"),
        (changed(json!({ "pad": "x".repeat(TOKEN_BYTES_MAX) })), "longer than"),
        ("nonsense".to_owned(), "neither a key"),
    ]
    .into_iter()
    .enumerate()
    {
        // From an address of its own, since wrong ones are counted.
        let peer = std::net::Ipv4Addr::from_bits(0xc000_0200 + u32::try_from(nth).expect("few")).into();
        let said = sample.ask_from(peer, &[("authorization", &format!("Bearer {token}"))]).await;
        holds(&said, expected);
    }
    assert_eq!(issuer.asked(), 1, "unknown names of keys do not make us ask again and again");
}

#[tokio::test]
async fn a_token_that_has_run_out_is_not_held_against_its_address() {
    let signer = Signer::ed25519("one");
    let issuer = SampleIssuer::new(&[&signer]).await;
    let sample = trusting(&issuer);
    let expired = signer.token(None, &with(&claims(&issuer), json!({ "exp": NOW_S })));
    for _ in 0..=attempts::FAILED_MAX {
        sample.ask("nonsense").await;
    }
    holds(&sample.ask("nonsense").await, "TooMany");
    holds(&sample.ask(&expired).await, "Expired");
    let caller = sample
        .identity
        .identify(
            &super::headers(&[(
                "authorization",
                &format!("Bearer {}", signer.token(None, &claims(&issuer))),
            )]),
            super::HERE,
        )
        .await
        .expect("good");
    let (end_s, now) = (NOW_S + 60, std::time::Instant::now());
    assert_eq!(*caller.proof(), Proof::Until(end_s));
    for (good_until_s, is_known) in [(end_s, true), (NOW_S + 1, true), (NOW_S, false)] {
        assert_eq!(sample.identity.still_knows(&caller, good_until_s, now).await, is_known, "{good_until_s}");
    }
}

#[tokio::test]
async fn keys_that_change_are_taken_up() {
    let (old, new) = (Signer::ed25519("old"), Signer::p256("new"));
    let issuer = SampleIssuer::new(&[&old]).await;
    let sample = trusting(&issuer);
    let (by_old, by_new) = (old.token(None, &claims(&issuer)), new.token(None, &claims(&issuer)));
    holds(&sample.ask(&by_old).await, "login:ada");
    holds(&sample.ask(&by_old).await, "login:ada");
    assert_eq!(issuer.asked(), 1);
    issuer.have(&[&new]);
    holds(&sample.ask(&by_new).await, "does not have");
    pass(LATER).await;
    holds(&sample.ask(&by_new).await, "login:ada");
    assert_eq!(issuer.asked(), 2);
    // It was checked before, but by a key that is gone.
    holds(&sample.ask(&by_old).await, "does not have");
}

#[tokio::test]
async fn keys_that_are_old_are_fetched_again_and_a_token_by_a_withdrawn_one_ends() {
    let (one, other) = (Signer::ed25519("one"), Signer::ed25519("other"));
    let issuer = SampleIssuer::new(&[&one]).await;
    let sample = trusting(&issuer);
    let token = one.token(None, &claims(&issuer));
    holds(&sample.ask(&token).await, "login:ada");
    issuer.have(&[&other]);
    holds(&sample.ask(&token).await, "login:ada");
    pass(crate::identity::key_source::FRESH).await;
    holds(&sample.ask(&token).await, "does not have");
}

#[tokio::test]
async fn an_issuer_out_of_reach_refuses_new_tokens_only() {
    let signer = Signer::ed25519("one");
    let issuer = SampleIssuer::new(&[&signer]).await;
    let sample = trusting(&issuer);
    let [first, second] = [1, 2].map(|id| signer.token(None, &with(&claims(&issuer), json!({ "jti": id }))));
    issuer.fail();
    holds(&sample.ask(&first).await, "Unavailable");
    issuer.have(&[&signer]);
    holds(&sample.ask(&first).await, "Unavailable");
    assert_eq!(issuer.asked(), 0, "it is left in peace for a while");
    pass(LATER).await;
    // Its metadata is gone still.
    holds(&sample.ask(&first).await, "Unavailable");
    let configured = format!("[[issuers]]\nissuer = '{0}'\nname = 'login'\njwks_uri = '{0}/keys'", issuer.id);
    let sample = Sample::new(&configured, None);
    holds(&sample.ask(&first).await, "login:ada");
    issuer.fail();
    holds(&sample.ask(&second).await, "login:ada");
    pass(crate::identity::key_source::FRESH).await;
    holds(&sample.ask(&first).await, "login:ada");
    pass(Duration::from_secs(24 * 60 * 60)).await;
    holds(&sample.ask(&first).await, "Unavailable");
}

#[tokio::test]
async fn a_token_is_for_its_issuer_only_where_two_are_trusted() {
    let (ours, theirs) = (Signer::ed25519("one"), Signer::ed25519("one"));
    let (first, second) = (SampleIssuer::new(&[&ours]).await, SampleIssuer::new(&[&theirs]).await);
    let section = format!(
        "[[issuers]]\nissuer = '{}'\nname = 'a'\n[[issuers]]\nissuer = '{}'\nname = 'b'\nalgorithms = ['ES256']",
        first.id, second.id
    );
    let sample = Sample::new(&section, None);
    holds(&sample.ask(&ours.token(None, &claims(&first))).await, "a:ada");
    holds(
        &sample.ask(&ours.token(None, &claims(&second))).await,
        "not signed in a way that is accepted from its issuer",
    );
    holds(&sample.ask(&theirs.token(None, &claims(&first))).await, "signature");
}
