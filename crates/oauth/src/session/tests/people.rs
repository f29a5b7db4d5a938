//! Sign-ins by a person.

use futures_util::FutureExt;

use super::*;
use crate::Secret;
use crate::settings::{Authentication, Redirect, RegisteredClient};

#[tokio::test]
async fn a_person_signs_in_and_every_process_has_the_token() {
    let world = World::new().await;
    let (one, other) = (world.session(Settings::default()), world.session(Settings::default()));
    assert_eq!(token(&other).await, "none");
    let scope = ", scope=\"read write\"";
    assert_eq!(world.shown(world.refuse(&one, None, scope).await), "sign in: it wants you to sign in");
    world.sign_in(&other).await;
    assert_eq!(
        world.authority.log(),
        [
            "metadata",
            "metadata",
            "register client-1",
            "authorize client-1 scope=read write resource=/mcp",
            "token authorization_code client-1 by nothing"
        ]
    );
    assert_eq!(token(&other).await, "access-3");
    assert_eq!(token(&one).await, "access-3");
    let Status::SignedIn { issuer, scope, expires_at, renews } = one.status().await.unwrap() else {
        panic!("not signed in");
    };
    assert_eq!(
        (issuer, scope, expires_at, renews),
        (world.authority.origin.clone(), Some("read write".to_owned()), None, true)
    );
}

#[tokio::test]
async fn somebody_else_s_token_is_noticed_soon_but_not_looked_for_all_the_time() {
    let world = World::new().await;
    let (one, other) = (world.session(Settings::default()), world.session(Settings::default()));
    assert_eq!(token(&one).await, "none");
    world.sign_in(&other).await;
    assert_eq!(token(&one).await, "none");
    world.pass(2);
    assert_eq!(token(&one).await, "access-3");
}

#[tokio::test]
async fn a_registration_is_used_again_and_with_it_the_port() {
    let world = World::new().await;
    let session = world.session(Settings::default());
    let first = session.begin().await.unwrap();
    let redirect_uri = first.redirect_uri().to_owned();
    let (path, port) = (redirect_uri.trim_end_matches("/callback"), redirect_uri.rsplit_once(':').unwrap().1);
    assert!(path.starts_with("http://127.0.0.1:") && port.ends_with("/callback"), "{redirect_uri}");
    drop(first);
    let second = world.session(Settings::default()).begin().await.unwrap();
    assert_eq!(second.redirect_uri(), redirect_uri);
    assert_eq!(world.authority.log(), ["probe", "metadata", "register client-1", "probe", "metadata"]);
    // The port is taken now, and a server may insist on the address that it was told.
    let third = world.session(Settings::default()).begin().await.unwrap();
    assert_ne!(third.redirect_uri(), redirect_uri);
    assert_eq!(world.authority.log(), ["probe", "metadata", "register client-2"]);
}

#[tokio::test]
async fn a_registration_whose_secret_ends_is_replaced() {
    let world = World::new().await;
    world.authority.state().methods = vec!["client_secret_basic"];
    world.authority.state().secret_expires_at = START + 3600;
    let session = world.session(Settings::default());
    world.sign_in(&session).await;
    world.pass(3600);
    world.sign_in(&session).await;
    assert_eq!(
        world.authority.log(),
        [
            "probe",
            "metadata",
            "register client-1",
            "authorize client-1 scope=- resource=/mcp",
            "token authorization_code client-1 by header",
            "probe",
            "metadata",
            "register client-5",
            "authorize client-5 scope=- resource=/mcp",
            "token authorization_code client-5 by header",
        ]
    );
}

#[tokio::test]
async fn a_configured_client_registers_nothing() {
    let world = World::new().await;
    for (methods, by) in [
        (vec!["client_secret_post"], "body"),
        (vec!["client_secret_post", "client_secret_basic"], "header"),
        (vec![], "header"),
    ] {
        world.authority.state().methods = methods;
        let client = RegisteredClient {
            id: "mine".to_owned(),
            authentication: Authentication::Secret(Secret::new("s")),
        };
        let settings =
            Settings { client: Some(client), scope: Some("mine".to_owned()), ..Settings::default() };
        world.sign_in(&world.session(settings)).await;
        let token = format!("token authorization_code mine by {by}");
        let log = world.authority.log();
        assert_eq!(log[log.len() - 2..], ["authorize mine scope=mine resource=/mcp".to_owned(), token]);
        assert!(!log.iter().any(|line| line.starts_with("register")), "{log:?}");
    }
}

#[tokio::test]
async fn a_client_document_is_the_client_where_the_server_takes_it() {
    let world = World::new().await;
    let document = "https://my.example/client.json";
    for (takes_documents, client) in [(true, document), (false, "client-4")] {
        world.authority.state().takes_documents = takes_documents;
        let settings = Settings { metadata_url: Some(document.to_owned()), ..Settings::default() };
        world.sign_in(&world.session(settings)).await;
        let log = world.authority.log();
        assert_eq!(log[log.len() - 1], format!("token authorization_code {client} by nothing"));
    }
}

#[tokio::test]
async fn a_server_that_registers_nobody_says_so_before_anybody_signs_in() {
    let world = World::new().await;
    world.authority.state().registers_nobody = true;
    let session = world.session(Settings::default());
    let why = "register: HOST does not register clients by itself; register a client there by hand and set its \
               client_id (and client_secret, if it has one) under [mcp.NAME.oauth]";
    assert_eq!(world.shown(world.refuse(&session, None, "").await), why);
    assert_eq!(world.shown(session.begin().await), why);
}

#[tokio::test]
async fn a_port_that_is_taken_is_named() {
    let world = World::new().await;
    #[expect(clippy::disallowed_methods, reason = "a port that is taken")]
    let taken = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = taken.local_addr().unwrap().port();
    let settings = Settings { redirect: Redirect::Port(port), ..Settings::default() };
    assert_eq!(
        world.shown(world.session(settings).begin().await),
        format!(
            "Settings: port {port}, which the browser would come back to, is used by another program: end it, or \
             configure another port"
        )
    );
}

#[tokio::test]
async fn the_issuer_is_checked_before_the_code_is_redeemed() {
    let world = World::new().await;
    let wrong = |origin: &str| format!("&iss={}/", origin);
    for (names_issuer, from, to, error) in [
        (true, String::new(), String::new(), "no error"),
        (
            true,
            format!("&iss={}", world.authority.origin),
            String::new(),
            "Impostor: the answer is refused: HOST names itself in its answers (\"iss\"), and this one names nobody",
        ),
        (
            true,
            format!("&iss={}", world.authority.origin),
            wrong(&world.authority.origin),
            "Impostor: the answer is refused: it comes from HOST/, not from HOST",
        ),
        (
            false,
            "&state=".to_owned(),
            "&iss=https%3A%2F%2Fevil.example&state=".to_owned(),
            "Impostor: the answer is refused: it comes from https://evil.example, not from HOST",
        ),
    ] {
        world.authority.state().names_issuer = names_issuer;
        let sign_in = world.session(Settings::default()).begin().await.unwrap();
        let callback = world.authority.consent(sign_in.url());
        let callback = if from.is_empty() { callback } else { callback.replace(&from, &to) };
        assert_eq!(world.shown(sign_in.finish(&callback).await), error);
        let redeemed = world.authority.log().iter().any(|line| line.starts_with("token"));
        assert_eq!(redeemed, error == "no error");
    }
}

#[tokio::test]
async fn what_does_not_belong_to_the_sign_in_does_not_finish_it() {
    let world = World::new().await;
    let session = world.session(Settings::default());
    let earlier = session.begin().await.unwrap();
    let replayed = world.authority.consent(earlier.url());
    drop(earlier);
    for (answer, error) in [
        (
            replayed.as_str(),
            "NotFinished: this does not finish the sign-in: the address belongs to another sign-in (its \"state\" is another)",
        ),
        (
            "http://127.0.0.1:1/callback?code=x",
            "NotFinished: this does not finish the sign-in: the address has no \"state\"",
        ),
        ("two words", "NotFinished: this is neither a code nor the address that the browser came back with"),
        ("", "NotFinished: this is neither a code nor the address that the browser came back with"),
        ("guessed", "NotFinished: HOST/token refuses to issue a token (invalid_grant: no <b>such [1m luck)"),
    ] {
        let sign_in = session.begin().await.unwrap();
        assert_eq!(world.shown(sign_in.finish(answer).await), error);
        assert_eq!(session.status().await.unwrap(), Status::NotSignedIn);
    }
    // By hand the code alone will do.
    let sign_in = session.begin().await.unwrap();
    let callback = world.authority.consent(sign_in.url());
    let code = callback.split_once("code=").unwrap().1.split('&').next().unwrap();
    sign_in.finish(&format!("  {code}\n")).await.unwrap();
    assert_eq!(token(&session).await, "access-4");
}

#[tokio::test]
async fn signing_out_gives_the_tokens_back_and_keeps_the_registration() {
    let world = World::new().await;
    let session = world.session(Settings::default());
    assert!(!session.sign_out().await.unwrap());
    world.sign_in(&session).await;
    world.authority.log();
    assert!(session.sign_out().await.unwrap());
    assert_eq!(world.authority.log(), ["revoke refresh_token refresh-4", "revoke access_token access-3"]);
    assert_eq!(token(&session).await, "none");
    assert_eq!(session.status().await.unwrap(), Status::NotSignedIn);
    world.sign_in(&session).await;
    assert!(!world.authority.log().iter().any(|line| line.starts_with("register")));
    session.forget().await.unwrap();
    assert!(world.token_store.load(&session.key).await.unwrap().is_none());
}

#[tokio::test]
async fn signing_out_forgets_what_was_kept_at_earlier_addresses_and_what_cannot_be_read() {
    for is_all in [false, true] {
        let world = World::new().await;
        let session = world.session(Settings::default());
        world.sign_in(&session).await;
        let kept = world.token_store.load(&session.key).await.unwrap().unwrap();
        for (key, record) in [("oauth/the server/0", &*kept.record), ("oauth/the server/1", b"spoilt")] {
            world.token_store.replace(key, None, Some(record)).await.unwrap();
        }
        world.token_store.replace("oauth/the server 2/0", None, Some(b"another's")).await.unwrap();
        world.token_store.remove(&session.key).await.unwrap();
        world.authority.log();
        if is_all {
            session.forget().await.unwrap();
        } else {
            assert!(session.sign_out().await.unwrap());
            let log = world.authority.log();
            assert!(log.contains(&"revoke refresh_token refresh-4".to_owned()), "{log:?}");
            assert!(!session.sign_out().await.unwrap());
        }
        assert_eq!(world.token_store.keys("").await.unwrap(), ["oauth/the server 2/0"]);
    }
}

#[tokio::test]
async fn a_token_goes_with_the_client_it_was_issued_to() {
    let world = World::new().await;
    world.sign_in(&world.session(Settings::default())).await;
    let client = RegisteredClient { id: "mine".to_owned(), authentication: Authentication::Public };
    let settings = Settings { client: Some(client), ..Settings::default() };
    assert_eq!(token(&world.session(settings)).await, "none");
}

#[tokio::test]
async fn no_secret_is_shown() {
    let world = World::new().await;
    let session = world.session(Settings::default());
    let sign_in = session.begin().await.unwrap();
    let callback = world.authority.consent(sign_in.url());
    let shown = format!("{sign_in:?} {session:?}");
    sign_in.finish(&callback).await.unwrap();
    let access_token = session.access_token().await.unwrap().unwrap();
    let shown = format!("{shown} {access_token:?} {:?}", access_token.header());
    let state = callback.split_once("state=").unwrap().1;
    for secret in [state, "code-2", "access-3", "refresh-4"] {
        assert!(!shown.contains(secret), "{secret} in {shown}");
    }
}

#[tokio::test]
async fn discovery_is_told_step_by_step() {
    let world = World::new().await;
    let documents = world.session(Settings::default()).explore().await;
    let told: Vec<_> = documents
        .iter()
        .map(|document| (document.url.replace(&world.authority.origin, ""), document.status.clone()))
        .collect();
    assert_eq!(
        told,
        [
            ("/mcp".to_owned(), Ok(401)),
            ("/.well-known/oauth-protected-resource/mcp".to_owned(), Ok(200)),
            ("/.well-known/oauth-authorization-server".to_owned(), Ok(200)),
        ]
    );
}

#[tokio::test]
async fn the_token_at_hand_costs_no_allocation() {
    let world = World::new().await;
    let session = world.session(Settings::default());
    world.sign_in(&session).await;
    let measured = allocation_counter::measure(|| {
        let access_token = session.access_token().now_or_never().expect("nothing to wait for").unwrap();
        assert_eq!(access_token.unwrap().secret(), "access-3");
    });
    assert_eq!(measured.count_total, 0);
}
