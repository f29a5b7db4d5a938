//! Grants that need no person.

use super::*;
use crate::Secret;
use crate::settings::{Algorithm, Authentication, Grant, IdentityProvider, RegisteredClient};

const KEY: &str = include_str!("../../assertion/tests/rsa.pem");

fn client(authentication: Authentication) -> RegisteredClient {
    RegisteredClient { id: "machine".to_owned(), authentication }
}

fn settings(grant: Grant, authentication: Authentication) -> Settings {
    Settings { client: Some(client(authentication)), grant, ..Settings::default() }
}

fn secret() -> Authentication {
    Authentication::Secret(Secret::new("top secret"))
}

#[tokio::test]
async fn a_client_gets_its_token_when_it_is_first_asked_for_one_and_renews_it() {
    let world = World::new().await;
    world.authority.state().methods = vec!["client_secret_basic"];
    world.authority.state().lifetime = Some(3600);
    let session = world.session(settings(Grant::ClientCredentials, secret()));
    assert_eq!(token(&session).await, "none");
    let access_token = world.refuse(&session, None, ", scope=\"a b\"").await.unwrap();
    assert_eq!(access_token.secret(), "access-1");
    assert_eq!(token(&session).await, "access-1");
    world.pass(3590);
    assert_eq!(token(&session).await, "access-2");
    // Another process has it already.
    assert_eq!(token(&world.session(settings(Grant::ClientCredentials, secret()))).await, "access-2");
    let request = "token client_credentials machine by header scope=a b";
    assert_eq!(world.authority.log(), ["metadata", request, request]);
    assert!(matches!(session.status().await.unwrap(), Status::SignedIn { renews: true, .. }));
}

#[tokio::test]
async fn a_client_with_a_key_signs() {
    let world = World::new().await;
    world.authority.state().methods = vec!["private_key_jwt"];
    let key = Authentication::Key { pem: Secret::new(KEY), algorithm: Algorithm::Rs256, key_id: None };
    let session = world.session(settings(Grant::ClientCredentials, key.clone()));
    assert_eq!(world.refuse(&session, None, "").await.unwrap().secret(), "access-1");
    assert_eq!(world.authority.log(), ["metadata", "token client_credentials machine by assertion"]);
    world.authority.state().methods = vec!["client_secret_basic"];
    let session = World { authority: Authority::start().await, ..world };
    session.authority.state().methods = vec!["client_secret_basic"];
    let machine = session.session(settings(Grant::ClientCredentials, key));
    assert_eq!(
        session.shown(session.refuse(&machine, None, "").await),
        "Settings: the authorisation server HOST takes no signed assertions (private_key_jwt)"
    );
}

#[tokio::test]
async fn an_enterprise_s_token_is_exchanged_twice() {
    let world = World::new().await;
    world.authority.state().methods = vec!["client_secret_post"];
    let provider = IdentityProvider {
        token_url: format!("{}/token", world.authority.origin).parse().unwrap(),
        id_token: Secret::new("the id token"),
        client: RegisteredClient { id: "at-the-idp".to_owned(), authentication: Authentication::Public },
    };
    let session = world.session(settings(Grant::Enterprise(provider), secret()));
    assert_eq!(world.refuse(&session, None, "").await.unwrap().secret(), "access-2");
    assert_eq!(
        world.authority.log(),
        ["metadata", "token token-exchange at-the-idp by nothing", "token jwt-bearer machine by body"]
    );
    assert_eq!(
        world.shown(session.begin().await),
        "Settings: nobody has to sign in: it is configured to sign in by itself (enterprise)"
    );
}

#[tokio::test]
async fn a_refusal_is_not_repeated_by_a_busy_gateway_and_shows_no_secret() {
    let world = World::new().await;
    world.authority.state().methods = vec!["client_secret_basic"];
    let said = r#"{"error":"invalid_client","error_description":"top secret is wrong"}"#;
    world.authority.state().instead = vec![(401, said.to_owned()); 9];
    let session = world.session(settings(Grant::ClientCredentials, secret()));
    let why = "ClientRefused: HOST/token refuses to issue a token (invalid_client: *** is wrong)";
    let mut requests = Vec::new();
    for _ in 0..60 {
        for _ in 0..10 {
            assert_eq!(world.shown(world.refuse(&session, None, "").await), why);
        }
        requests.push(world.authority.log().iter().filter(|line| line.starts_with("token")).count());
        world.pass(1);
    }
    let at: Vec<_> = (0..60).filter(|&second| requests[second] > 0).collect();
    assert_eq!((at, requests.iter().sum::<usize>()), (vec![0, 5, 15, 35], 4));
}

#[tokio::test]
async fn a_secret_is_shown_to_the_issuer_that_was_shown_it_first_and_to_no_other() {
    let world = World::new().await;
    world.authority.state().methods = vec!["client_secret_basic"];
    let session = world.session(settings(Grant::ClientCredentials, secret()));
    let access_token = world.refuse(&session, None, "").await.unwrap();
    world.pass(60);
    world.authority.state().issuer_path = "/other";
    world.authority.log();
    let why = "IssuerChanged: it wants the client that is configured for HOST to be used at HOST/other, which is not \
               shown its secret";
    assert_eq!(world.shown(world.refuse(&session, Some(&access_token), "").await), why);
    // Another process, and another grant of the same client, are no way around it.
    let person = Settings { client: Some(client(secret())), ..Settings::default() };
    for settings in [settings(Grant::ClientCredentials, secret()), person.clone()] {
        let other = world.session(settings.clone());
        let outcome = match settings.grant {
            Grant::AuthorizationCode => other.begin().await.map(|_| ()),
            _ => world.refuse(&other, None, "").await.map(|_| ()),
        };
        assert_eq!(world.shown(outcome), why);
    }
    assert!(!world.authority.log().iter().any(|line| line.starts_with("token")));
    // A person decides otherwise, by naming it or by beginning anew.
    let issuer = format!("{}/other", world.authority.origin).parse().ok();
    let named = Settings { issuer, ..settings(Grant::ClientCredentials, secret()) };
    assert!(world.refuse(&world.session(named), None, "").await.is_ok());
    session.sign_out().await.unwrap();
    assert!(world.refuse(&session, None, "").await.is_ok());
}

#[tokio::test]
async fn a_clock_that_is_put_back_ends_every_pause() {
    let world = World::new().await;
    world.authority.state().methods = vec!["client_secret_basic"];
    world.authority.state().instead = vec![(503, "<p>Sorry</p>".to_owned())];
    let session = world.session(settings(Grant::ClientCredentials, secret()));
    assert_eq!(token(&session).await, "none");
    assert!(world.refuse(&session, None, "").await.is_err());
    assert!(session.access_token().await.is_ok());
    world.now.fetch_sub(86_400, Ordering::Relaxed);
    let access_token = world.refuse(&session, None, "").await.unwrap();
    // That this one was issued a moment ago is no reason to keep it once the clock is behind it.
    world.now.fetch_sub(86_400, Ordering::Relaxed);
    assert_ne!(
        world.refuse(&session, Some(&access_token), "").await.unwrap().secret(),
        access_token.secret()
    );
}

#[tokio::test]
async fn a_machine_without_a_client_is_told_so() {
    let world = World::new().await;
    let session = world.session(Settings { grant: Grant::ClientCredentials, ..Settings::default() });
    assert_eq!(
        world.shown(world.refuse(&session, None, "").await),
        "Settings: signing in by client_credentials needs a client (\"client_id\")"
    );
}
