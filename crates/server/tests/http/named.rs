//! Workspaces with names: each at its own address, with sessions that no other address reaches, behind the same checks.

use server::identity::{Config, IssuerConfig};

use crate::client::{Door, Request, initialize};

const PING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;

#[tokio::test]
async fn what_is_of_one_address_is_unknown_at_another() {
    let door = Door::open().await;
    let opened = door.ask(&Request::post_to("/mcp/a", &initialize("2025-11-25"))).await;
    let id = opened.header("mcp-session-id").expect("a session").to_owned();
    let default = door.session("2025-11-25").await;
    let own = |request: Request| request.with("Mcp-Session-Id", &id);
    for (request, expected) in [
        (own(Request::post_to("/mcp/b", PING)), "404 -32600"),
        (own(Request::post(PING)), "404 -32600"),
        (own(Request::get("/mcp/b")), "404 -32600"),
        (own(Request::new("DELETE", "/mcp/b")), "404 -32600"),
        (own(Request::new("DELETE", "/mcp")), "404 -32600"),
        (Request::post_to("/mcp/a", PING).with("Mcp-Session-Id", &default), "404 -32600"),
        (Request::post_to(&format!("/message?sessionId={id}"), PING), "404 -32600"),
        (own(Request::post_to("/mcp/a", PING)), "200 result"),
        (own(Request::new("DELETE", "/mcp/a")), "204 "),
        (own(Request::post_to("/mcp/a", PING)), "404 -32600"),
    ] {
        let answer = door.ask(&request).await;
        assert_eq!(answer.brief(), expected, "{request}\n{answer:?}");
    }
    for (request, expected) in [
        (Request::post_to("/mcp/nobody", PING), 404),
        (Request::post_to("/mcp/a/b", PING), 404),
        (Request::post_to("/mcp/", PING), 404),
        (Request::new("PUT", "/mcp/a"), 405),
        (Request::new("OPTIONS", "/mcp/a").with("Origin", "https://app.example"), 204),
        (Request::post_to("/mcp/a", PING).with("Origin", "https://evil.example"), 403),
        (Request::post_to("/mcp/a", PING).but("Host", "evil.example"), 403),
        (Request::get("/mcp/approvals"), 200),
    ] {
        let answer = door.ask(&request).await;
        assert_eq!(answer.status, expected, "{request}\n{answer:?}");
    }
    let unknown = door.ask(&Request::post_to("/mcp/nobody", PING)).await;
    assert!(
        unknown.body.contains("no workspace has this name, nor has a route; the default one is at /mcp"),
        "{unknown:?}"
    );
    door.close().await;
}

/// A client holds the metadata to the address that it uses, be it strict about it or content with what contains it.
#[tokio::test]
async fn whoever_is_unknown_is_told_where_to_sign_in_for_this_address() {
    let issuer = IssuerConfig { issuer: "https://login.example".into(), ..IssuerConfig::default() };
    let door = Door::for_callers(&Config { issuers: vec![issuer], ..Config::default() }, None).await;
    let at = format!("http://localhost:{}", door.port());
    let here = |request: Request| request.but("Host", &format!("localhost:{}", door.port()));
    // Whether there is such a workspace is told to those alone whom we know.
    for name in ["a", "nobody"] {
        let refused = door.ask(&here(Request::post_to(&format!("/mcp/{name}"), PING))).await;
        assert_eq!(refused.status, 401, "{refused:?}");
        let challenge = refused.header("www-authenticate").expect("a challenge");
        let path = format!("/.well-known/oauth-protected-resource/mcp/{name}");
        assert_eq!(challenge, format!("Bearer resource_metadata=\"{at}{path}\""));
        let answer = door.ask(&here(Request::get(&path))).await;
        let document: serde_json::Value = serde_json::from_str(&answer.body).expect("a document");
        assert_eq!(document["resource"], format!("{at}/mcp/{name}"));
    }
    for path in ["/mcp/a/b", "/x/a", "/mcp/approvals"] {
        let path = format!("/.well-known/oauth-protected-resource{path}");
        assert_eq!(door.ask(&here(Request::get(&path))).await.status, 404, "{path}");
    }
    door.close().await;
}
