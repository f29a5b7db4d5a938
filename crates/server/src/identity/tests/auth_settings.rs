//! Other settings while requests come: they are in force for the next one, and what they do not touch goes on.

use std::time::Instant;

use super::sample_issuer::{SampleIssuer, Signer};
use super::tokens::claims;
use super::*;

impl Sample {
    fn govern(&self, section: &str, open_on_loopback: Option<bool>) {
        let config: Config = toml::from_str(section).expect("a sample reads");
        self.identity.check(&config).expect("a good section");
        self.identity.govern(&config, open_on_loopback);
    }

    /// The caller of a good token.
    async fn caller(&self, token: &str) -> Caller {
        let headers = headers(&[("authorization", &format!("Bearer {token}"))]);
        self.identity.identify(&headers, HERE).await.expect("good")
    }
}

fn section(issuer: &SampleIssuer, name: &str, more: &str) -> String {
    format!("[[issuers]]\nissuer = '{}'\nname = '{name}'\n{more}\n", issuer.id)
}

#[tokio::test]
async fn the_next_request_goes_by_the_terms_that_are_in_force_then() {
    let signer = Signer::ed25519("one");
    let issuer = SampleIssuer::new(&[&signer]).await;
    let token = signer.token(None, &claims(&issuer));
    let of = |more: &str| section(&issuer, "login", more);
    let sample = Sample::new(&of(""), None);
    holds(&sample.ask(&token).await, "login:ada Token {Agent}");
    for (next, expected) in [
        (of("default_role = 'owner'"), "login:ada Token {Owner}"),
        (of("default_role = 'none'"), "no role here"),
        (of("required_scopes = ['network']"), "TooLittle"),
        (of("audience = 'another'"), "another server"),
        (format!("resource = 'https://crib.example/mcp'\n{}", of("")), "another server"),
        (of("algorithms = ['RS256']"), "not signed in a way"),
        (section(&issuer, "other", ""), "other:ada Token {Agent}"),
    ] {
        sample.govern(&next, None);
        holds(&sample.ask(&token).await, expected);
    }
    assert_eq!(issuer.asked(), 1, "whatever its tokens mean, its keys are the same");
    sample.govern("", None);
    holds(&sample.ask(&token).await, "no issuer of tokens is trusted here");
    sample.govern(&of(""), None);
    holds(&sample.ask(&token).await, "login:ada Token {Agent}");
    assert_eq!(issuer.asked(), 2, "nobody has kept the keys of somebody who was not trusted");
}

#[tokio::test]
async fn whoever_says_nothing_is_let_in_and_out_by_the_same_terms() {
    let issuer = "[[issuers]]\nissuer = 'https://login.example'";
    let (local, nobody) = ("local LocalUser", "Nobody");
    let sample = Sample::new("", None);
    for (section, open_on_loopback, expected) in [
        ("", None, local),
        ("", Some(false), nobody),
        ("", Some(true), local),
        (issuer, Some(true), local),
        (issuer, None, nobody),
        ("", None, local),
    ] {
        sample.govern(section, open_on_loopback);
        holds(&sample.ask_from(HERE, &[]).await, expected);
        let is_told = sample.identity.metadata(METADATA_PATH, &HeaderMap::new()).is_some();
        assert_eq!(is_told, !section.is_empty(), "where to sign in");
    }
}

#[tokio::test]
async fn who_was_let_in_stays_as_long_as_nothing_changes_for_them() {
    let (signer, other) = (Signer::ed25519("one"), Signer::ed25519("two"));
    let (first, second) = (SampleIssuer::new(&[&signer]).await, SampleIssuer::new(&[&other]).await);
    let both = |more: &str| section(&first, "a", more) + &section(&second, "b", "");
    let sample = Sample::new(&both(""), None);
    let (ada, bob) = (signer.token(None, &claims(&first)), other.token(None, &claims(&second)));
    let callers = [sample.caller(&ada).await, sample.caller(&bob).await];
    let known_at = Instant::now();
    let known = async |known_at: Instant| {
        let [ada, bob] = &callers;
        let still = |caller| sample.identity.still_knows(caller, NOW_S + 60, known_at);
        [still(ada).await, still(bob).await]
    };
    let mut changes = sample.identity.changes();
    sample.govern(&both(""), None);
    assert!(!changes.has_changed().expect("it is there"), "the same again is no change");
    assert_eq!(known(known_at).await, [true, true]);
    sample.govern(&both("default_role = 'developer'"), None);
    assert!(changes.has_changed().expect("it is there"));
    changes.mark_unchanged();
    assert_eq!(known(known_at).await, [false, true], "what those tokens mean is another matter now");
    assert_eq!(known(Instant::now()).await, [true, true], "whoever comes after that is known");
    sample.govern(&section(&second, "b", ""), None);
    assert_eq!(known(Instant::now()).await, [false, true]);
    // Its tokens are for the address that was configured.
    sample.govern(&format!("resource = 'https://crib.example/mcp'\n{}", section(&second, "b", "")), None);
    assert_eq!(known(known_at).await, [false, false]);
}

#[tokio::test]
async fn a_section_is_checked_against_where_the_server_listens() {
    let identity = Sample::new("", None).identity;
    let config: Config = toml::from_str("[[issuers]]\nissuer = 'https://login.example'").expect("a section");
    assert_eq!(identity.check(&config), Ok(()));
    let store = Arc::new(SqliteStore::at(std::path::Path::new("nothing is kept here")));
    let identity = Identity::new(&Config::default(), None, store, Client::new(), now_ms);
    identity.served_at("http", SocketAddr::from(([192, 0, 2, 1], 3000)));
    let problems = identity.check(&config).expect_err("its tokens would be for nobody knows whom");
    holds(&problems[0].to_string(), "identity.resource: must be set");
}
