//! Who is let in, what the others are told, and that nobody gets at what is another's.

use gate::Role;
use server::identity::{Config, IssuerConfig};

use crate::client::{Answer, Door, Request, initialize};

const PING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;

fn bearer(request: Request, key: &str) -> Request {
    request.with("Authorization", &format!("Bearer {key}"))
}

fn trusting() -> Config {
    let issuer = IssuerConfig { issuer: "https://login.example".into(), ..IssuerConfig::default() };
    let other = IssuerConfig {
        required_scopes: vec!["network".into(), "git:call".into()],
        issuer: "https://other.example".into(),
        ..IssuerConfig::default()
    };
    Config { issuers: vec![issuer, other], ..Config::default() }
}

fn challenge(answer: &Answer) -> &str {
    answer.header("www-authenticate").unwrap_or_default()
}

#[tokio::test]
async fn every_route_asks_who_it_is() {
    let door = Door::for_callers(&Config::default(), Some(false)).await;
    let key = door.key("ci", Role::Agent);
    for request in [
        Request::post(PING),
        Request::post(&initialize("2025-11-25")),
        Request::modern("tools/list", ""),
        Request::get("/mcp"),
        Request::new("DELETE", "/mcp"),
        Request::new("PUT", "/mcp"),
        Request::post_to("/mcp/a", PING),
        Request::post_to("/mcp/nobody", PING),
        Request::get("/sse"),
        Request::post_to("/message?sessionId=x", PING),
        Request::get("/"),
        Request::get("/whatever"),
    ] {
        let answer = door.ask(&request).await;
        assert_eq!((answer.status, challenge(&answer)), (401, "Bearer realm=\"toolcrib\""), "{request}");
        assert!(
            answer.body.contains("which a person makes") && !answer.body.contains("toolcrib keys"),
            "{answer:?}"
        );
        let wrong = door.ask(&bearer(request.clone(), "tc_nonsense")).await;
        let expected = (401, "Bearer error=\"invalid_token\", realm=\"toolcrib\"");
        assert_eq!((wrong.status, challenge(&wrong)), expected, "{request}");
        if !request.to_string().starts_with("GET /sse") {
            assert_ne!(door.ask(&bearer(request, &key)).await.status, 401);
        }
    }
    let preflight = Request::new("OPTIONS", "/mcp").with("Origin", "https://app.example");
    assert_eq!(door.ask(&preflight).await.status, 204, "a browser asks before it may send a key");
    assert_eq!(door.ask(&Request::get("/.well-known/oauth-protected-resource")).await.status, 404);
    assert_eq!(door.ask(&Request::get("/.well-known/oauth-authorization-server")).await.status, 404);
    door.close().await;
}

#[tokio::test]
async fn clients_are_told_where_to_sign_in() {
    let door = Door::for_callers(&trusting(), None).await;
    let answer = door.ask(&Request::post(PING).but("Host", &format!("localhost:{}", door.port()))).await;
    let there = format!("http://localhost:{}/.well-known/oauth-protected-resource/mcp", door.port());
    let scopes = "git:call network";
    assert_eq!(challenge(&answer), format!("Bearer scope=\"{scopes}\", resource_metadata=\"{there}\""));
    for path in ["/.well-known/oauth-protected-resource/mcp", "/.well-known/oauth-protected-resource"] {
        let request = Request::get(path).but("Host", &format!("localhost:{}", door.port()));
        let answer = door.ask(&request).await;
        let document: serde_json::Value = serde_json::from_str(&answer.body).expect("a document");
        let expected = serde_json::json!({
            "resource": format!("http://localhost:{}/mcp", door.port()),
            "authorization_servers": ["https://login.example", "https://other.example"],
            "bearer_methods_supported": ["header"],
            "resource_name": "Toolcrib",
            "scopes_supported": scopes.split(' ').collect::<Vec<_>>(),
        });
        assert_eq!((answer.status, document), (200, expected));
    }
    let page =
        Request::get("/.well-known/oauth-protected-resource/mcp").with("Origin", "https://app.example");
    assert_eq!(door.ask(&page).await.header("access-control-allow-origin"), Some("https://app.example"));
    let foreign = Request::get("/.well-known/oauth-protected-resource/mcp").but("Host", "evil.test");
    assert_eq!(door.ask(&foreign).await.status, 403);
    door.close().await;
}

#[tokio::test]
async fn a_session_is_its_callers_and_nobody_elses() {
    let door = Door::for_callers(&Config::default(), Some(true)).await;
    let (own, other) = (door.key("own", Role::Agent), door.key("other", Role::Agent));
    let opened = door.ask(&bearer(Request::post(&initialize("2025-11-25")), &own)).await;
    let session = opened.header("mcp-session-id").expect("a session").to_owned();
    let named = |request: Request| request.with("Mcp-Session-Id", &session);
    let resumed = named(Request::get("/mcp")).with("Last-Event-ID", "0-0");
    for request in [
        named(Request::post(PING)),
        named(Request::get("/mcp")),
        resumed,
        named(Request::new("DELETE", "/mcp")),
    ] {
        let foreign = door.ask(&bearer(request.clone(), &other)).await;
        let nobodys = door.ask(&request).await;
        let unknown = door.ask(&bearer(request.but("Mcp-Session-Id", "x"), &own)).await;
        assert_eq!((foreign.status, &foreign.body), (404, &unknown.body));
        assert_eq!((nobodys.status, &nobodys.body), (404, &unknown.body));
    }
    assert_eq!(door.ask(&bearer(named(Request::post(PING)), &own)).await.status, 200);
    assert_eq!(door.ask(&bearer(named(Request::new("DELETE", "/mcp")), &own)).await.status, 204);
    door.close().await;
}

#[tokio::test]
async fn a_channel_is_its_callers_and_nobody_elses() {
    let door = Door::for_callers(&Config::default(), Some(true)).await;
    let (own, other) = (door.key("own", Role::Agent), door.key("other", Role::Agent));
    let mut channel = door.connect().await;
    channel.send(&bearer(Request::get("/sse"), &own)).await;
    assert_eq!(channel.head().await.status, 200);
    let endpoint = channel.events(1).await.remove(0);
    let path = endpoint.strip_prefix("- ").expect("no id");
    let post = || Request::post_to(path, PING);
    assert_eq!(door.ask(&bearer(post(), &other)).await.brief(), "404 -32600");
    assert_eq!(door.ask(&post()).await.brief(), "404 -32600");
    assert_eq!(door.ask(&bearer(post(), &own)).await.brief(), "202 ");
    assert_eq!(channel.events(1).await, ["- result of 1"]);
    door.close().await;
}

#[tokio::test]
async fn wrong_credentials_are_answered_by_what_is_wrong_with_them() {
    let door = Door::for_callers(&Config::default(), Some(true)).await;
    let key = door.key("ci", Role::Agent);
    let twice = bearer(bearer(Request::post(PING), &key), &key);
    let cases = [
        (Request::post(PING), 200),
        (bearer(Request::post(PING), &key), 200),
        (Request::post(PING).with("X-API-Key", &key), 200),
        (Request::post(PING).with("X-Forwarded-For", "192.0.2.1"), 401),
        (bearer(Request::post(PING), &key).with("X-Forwarded-For", "192.0.2.1"), 200),
        (twice, 400),
        (Request::post(PING).with("Authorization", "Basic YTpi"), 400),
        (bearer(Request::post(PING), &key[..58]), 401),
        (bearer(Request::post(PING), "a.b.c"), 401),
    ];
    for (request, expected) in cases {
        assert_eq!(door.ask(&request).await.status, expected, "{request}");
    }
    let wrong = bearer(Request::post(PING), "nonsense");
    let mut last = door.ask(&wrong).await;
    for _ in 0..20 {
        last = door.ask(&wrong).await;
    }
    let wait_s: u64 = last.header("retry-after").and_then(|wait| wait.parse().ok()).unwrap_or_default();
    assert!(last.status == 429 && (1..=60).contains(&wait_s), "{last:?}");
    assert_eq!(door.ask(&bearer(Request::post(PING), &key)).await.status, 200, "a good one is not held up");
    door.close().await;
}

/// A door that is shut while people are in: what they listen to ends at once, and their next request is refused.
#[tokio::test]
async fn a_door_that_is_shut_is_shut_for_those_who_are_in() {
    let door = Door::open().await;
    let key = door.key("ci", Role::Agent);
    let session = door.session("2025-11-25").await;
    let named = |request: Request| request.with("Mcp-Session-Id", &session);
    let mut standing = door.connect().await;
    standing.send(&named(Request::get("/mcp"))).await;
    assert_eq!(standing.head().await.status, 200);
    let mut channel = door.connect().await;
    channel.send(&Request::get("/sse")).await;
    assert_eq!(channel.head().await.status, 200);
    channel.events(1).await;
    let mut listening = door.connect().await;
    let listen = Request::modern("subscriptions/listen", r#""notifications":{"toolsListChanged":true}"#);
    listening.send(&listen).await;
    assert_eq!(listening.head().await.status, 200);
    let kept = door.ask(&bearer(Request::post(&initialize("2025-11-25")), &key)).await;
    let kept = kept.header("mcp-session-id").expect("a session").to_owned();

    door.identity.govern(&Config::default(), Some(false));
    assert_eq!(door.ask(&named(Request::post(PING))).await.status, 401);
    for stream in [&mut standing, &mut channel, &mut listening] {
        assert_eq!(stream.events(usize::MAX).await.pop().as_deref(), Some("end"));
    }
    let with_key = bearer(Request::post(PING), &key);
    assert_eq!(door.ask(&with_key.clone().with("Mcp-Session-Id", &kept)).await.status, 200);
    door.identity.govern(&Config::default(), Some(true));
    assert_eq!(door.ask(&named(Request::post(PING))).await.status, 404, "it has ended for good");
    assert_eq!(door.ask(&Request::post(PING)).await.status, 200);
    door.close().await;
}
