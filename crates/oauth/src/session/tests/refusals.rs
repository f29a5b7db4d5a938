//! What the protected server refuses, and what comes of it.

use super::*;
use crate::Secret;
use crate::settings::{Authentication, Grant, RegisteredClient};

#[tokio::test]
async fn a_refused_token_is_renewed_or_taken_from_another_process() {
    let world = World::new().await;
    let (one, other) = (world.session(Settings::default()), world.session(Settings::default()));
    world.sign_in(&one).await;
    let used = one.access_token().await.unwrap().unwrap();
    let same = other.access_token().await.unwrap().unwrap();
    world.pass(60);
    world.authority.log();
    assert_eq!(world.refuse(&one, Some(&used), "").await.unwrap().secret(), "access-5");
    // Those that come late get what is there, and so does the other process.
    assert_eq!(world.refuse(&one, Some(&used), "").await.unwrap().secret(), "access-5");
    assert_eq!(world.refuse(&other, Some(&same), "").await.unwrap().secret(), "access-5");
    assert_eq!(world.authority.log(), ["metadata", "token refresh_token client-1 by nothing"]);
}

#[tokio::test]
async fn a_server_that_refuses_every_token_does_not_get_ever_more_of_them() {
    let world = World::new().await;
    let session = world.session(Settings::default());
    world.sign_in(&session).await;
    world.authority.log();
    let mut requests = 0;
    for _ in 0..600 {
        if let Ok(Some(access_token)) = session.access_token().await {
            // Once more after a refusal, as the connection does.
            if let Ok(again) = world.refuse(&session, Some(&access_token), "").await {
                let error = world.shown(world.refuse(&session, Some(&again), "").await);
                assert_eq!(error, "Other: it refuses a token that was issued a moment ago (HTTP status 401)");
            }
        }
        requests += world.authority.log().iter().filter(|line| line.starts_with("token")).count();
        world.pass(1);
    }
    assert!((2..=8).contains(&requests), "{requests} requests in ten minutes");
}

#[tokio::test]
async fn a_token_that_cannot_be_renewed_is_forgotten_if_it_is_the_token() {
    for (more, status) in [(", error=\"invalid_token\"", "gone"), ("", "kept")] {
        let world = World::new().await;
        world.authority.state().issues_no_refresh = true;
        let session = world.session(Settings::default());
        world.sign_in(&session).await;
        world.pass(60);
        let used = session.access_token().await.unwrap().unwrap();
        let why = "sign in: it does not accept the sign-in any more, sign in again";
        assert_eq!(world.shown(world.refuse(&session, Some(&used), more).await), why);
        assert_eq!(token(&session).await, "none");
        let kept = session.status().await.unwrap() != Status::NotSignedIn;
        assert_eq!(if kept { "kept" } else { "gone" }, status);
    }
}

#[tokio::test]
async fn another_issuer_gets_neither_the_tokens_nor_the_client_of_the_first() {
    let world = World::new().await;
    let session = world.session(Settings::default());
    world.sign_in(&session).await;
    let used = session.access_token().await.unwrap().unwrap();
    world.authority.state().issuer_path = "/other";
    world.authority.log();
    assert_eq!(
        world.shown(world.refuse(&session, Some(&used), "").await),
        "sign in: other servers issue its tokens now, sign in again"
    );
    world.sign_in(&session).await;
    assert_eq!(
        world.authority.log(),
        [
            "metadata",
            "metadata",
            "register client-5",
            "authorize client-5 scope=- resource=/mcp",
            "token authorization_code client-5 by nothing"
        ]
    );
}

#[tokio::test]
async fn other_refusals_are_final() {
    let world = World::new().await;
    let session = world.session(Settings::default());
    world.sign_in(&session).await;
    world.authority.log();
    let used = session.access_token().await.unwrap().unwrap();
    for challenges in [vec![], vec!["Bearer error=\"invalid_token\""], vec!["Basic realm=\"x\""]] {
        let outcome = session.refused(403, &challenges, Some(&used)).await;
        assert_eq!(world.shown(outcome), "Other: it refuses access (HTTP status 403)");
    }
    assert_eq!(token(&session).await, "access-3");
    assert_eq!(world.authority.log(), [""; 0]);
}

#[tokio::test]
async fn more_scopes_need_another_sign_in_which_asks_for_all_of_them() {
    let world = World::new().await;
    let (gateway, terminal) = (world.session(Settings::default()), world.session(Settings::default()));
    let outcome = world.refuse(&gateway, None, ", scope=\"read\"").await;
    assert_eq!(world.shown(outcome), "sign in: it wants you to sign in");
    world.sign_in(&terminal).await;
    let why = "sign in: it wants you to sign in again for more scopes (read write)";
    for token in ["access-3", "access-6", "access-9"] {
        world.pass(2);
        let used = gateway.access_token().await.unwrap().unwrap();
        assert_eq!(used.secret(), token);
        let last = token == "access-9";
        // However many calls it is refused for.
        for _ in 0..5 {
            let outcome = world.shown(world.refuse_scope(&gateway, &used, "write").await);
            let refused = "ScopesNeverEnough: it has refused 3 tokens that were asked for with the scopes it wants (read write)";
            assert_eq!(outcome, if last { refused } else { why });
        }
        // It is still good for other calls.
        assert_eq!(super::token(&gateway).await, token);
        world.authority.log();
        if !last {
            world.sign_in(&terminal).await;
            assert_eq!(world.authority.log()[1], "authorize client-1 scope=read write resource=/mcp");
            let outcome = world.refuse_scope(&gateway, &used, "write").await;
            assert_ne!(outcome.unwrap().secret(), token);
        }
    }
    // An hour later it may be another matter.
    world.pass(3600);
    let used = gateway.access_token().await.unwrap().unwrap();
    assert_eq!(world.shown(world.refuse_scope(&gateway, &used, "write").await), why);
}

#[tokio::test]
async fn a_machine_gets_more_scopes_by_itself_until_it_is_clear_that_they_are_never_enough() {
    let world = World::new().await;
    let client = RegisteredClient {
        id: "machine".to_owned(),
        authentication: Authentication::Secret(Secret::new("s")),
    };
    let settings = Settings { client: Some(client), grant: Grant::ClientCredentials, ..Settings::default() };
    world.authority.state().methods = vec!["client_secret_basic"];
    let session = world.session(settings);
    let mut access_token = world.refuse(&session, None, ", scope=\"read\"").await.unwrap();
    world.authority.log();
    for _ in 0..2 {
        access_token = world.refuse_scope(&session, &access_token, "write").await.unwrap();
        assert_eq!(world.authority.log(), ["token client_credentials machine by header scope=read write"]);
    }
    assert_eq!(
        world.shown(world.refuse_scope(&session, &access_token, "write").await),
        "ScopesNeverEnough: it has refused 3 tokens that were asked for with the scopes it wants (read write)"
    );
    assert_eq!(world.authority.log(), [""; 0]);
}
