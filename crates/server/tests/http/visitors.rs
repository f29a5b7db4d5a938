//! Who is let in at all, and what web pages may see.

use expect_test::{Expect, expect};

use crate::client::{Door, Request};

const PING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;

#[tokio::test]
async fn strangers_are_refused_before_anything_is_read() {
    let door = Door::open().await;
    // The body is no message: nobody looked.
    let nonsense = Request::post("{");
    let cases = [
        (nonsense.clone().but("Host", "evil.example"), "403"),
        (nonsense.clone().with("Origin", "https://evil.example"), "403"),
        (nonsense.clone().with("Origin", "null"), "403"),
        (nonsense.clone().without("Host"), "403"),
        (nonsense.clone(), "400 -32700"),
        (nonsense.clone().but("Host", "crib.example:8443"), "400 -32700"),
        (nonsense.with("Origin", "http://localhost:5173"), "400 -32700"),
        (Request::get("/sse").but("Host", "evil.example"), "403"),
        (Request::post_to("/message?sessionId=1", PING).with("Origin", "https://evil.example"), "403"),
        (Request::new("OPTIONS", "/mcp").with("Origin", "https://evil.example"), "403"),
        (Request::new("DELETE", "/mcp").with("Origin", "https://evil.example"), "403"),
    ];
    for (request, expected) in cases {
        let answer = door.ask(&request).await;
        assert!(answer.brief().starts_with(expected), "{request}\n{answer:?}");
    }
    door.close().await;
}

async fn check_page(request: Request, expected: Expect) {
    let door = Door::open().await;
    let answer = door.ask(&request).await;
    let shown = ["allow", "vary"].into_iter().chain([
        "access-control-allow-origin",
        "access-control-allow-methods",
        "access-control-allow-headers",
        "access-control-expose-headers",
        "access-control-max-age",
    ]);
    let shown = shown.filter_map(|name| Some(format!("{name}: {}\n", answer.header(name)?)));
    expected.assert_eq(&format!("{}\n{}", answer.status, shown.collect::<String>()));
    door.close().await;
}

#[tokio::test]
async fn only_configured_pages_may_read_answers() {
    check_page(
        Request::new("OPTIONS", "/mcp")
            .with("Origin", "https://app.example")
            .with("Access-Control-Request-Method", "POST")
            .with("Access-Control-Request-Headers", "content-type, mcp-param-region"),
        expect![[r"
            204
            allow: GET, POST, DELETE, OPTIONS
            vary: Origin
            access-control-allow-origin: https://app.example
            access-control-allow-methods: GET, POST, DELETE, OPTIONS
            access-control-allow-headers: MCP-Protocol-Version, Mcp-Method, Mcp-Name, Mcp-Session-Id, Last-Event-ID, Authorization, Accept, Content-Type, mcp-param-region
            access-control-expose-headers: Mcp-Session-Id, WWW-Authenticate, MCP-Protocol-Version
            access-control-max-age: 7200
        "]],
    )
    .await;
    check_page(
        Request::post(PING).with("Origin", "https://app.example"),
        expect![[r"
            200
            vary: Origin
            access-control-allow-origin: https://app.example
            access-control-expose-headers: Mcp-Session-Id, WWW-Authenticate, MCP-Protocol-Version
        "]],
    )
    .await;
    check_page(
        Request::post("{").with("Origin", "https://app.example"),
        expect![[r"
            400
            vary: Origin
            access-control-allow-origin: https://app.example
            access-control-expose-headers: Mcp-Session-Id, WWW-Authenticate, MCP-Protocol-Version
        "]],
    )
    .await;
    check_page(
        Request::post(PING).with("Origin", "http://localhost:5173"),
        expect![[r"
        200
    "]],
    )
    .await;
    check_page(
        Request::new("OPTIONS", "/mcp").with("Origin", "http://localhost:5173"),
        expect![[r"
        204
        allow: GET, POST, DELETE, OPTIONS
    "]],
    )
    .await;
}

#[tokio::test]
async fn paths_methods_and_forms_are_checked() {
    let door = Door::open().await;
    let cases = [
        (Request::new("PUT", "/mcp"), 405),
        (Request::new("GET", "/nothing"), 404),
        (Request::post_to("/", PING), 404),
        (Request::post(PING).but("Content-Type", "text/plain"), 415),
        (Request::post(PING).without("Content-Type"), 415),
        (Request::post(PING).but("Accept", "text/html"), 406),
        (Request::post(PING).but("Content-Length", "16777217"), 413),
        (Request::new("GET", "/mcp").with("Accept", "application/json"), 406),
        (Request::get("/mcp"), 400),
        (Request::new("DELETE", "/mcp"), 400),
        (Request::new("PUT", "/sse"), 405),
        (Request::post_to("/sse", PING), 405),
        (Request::get("/message"), 405),
        (Request::post(PING), 200),
    ];
    for (request, status) in cases {
        let answer = door.ask(&request).await;
        assert_eq!(answer.status, status, "{request}\n{answer:?}");
    }
    door.close().await;
}
