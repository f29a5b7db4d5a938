//! Servers at an address that need no handshake: one POST for each request, and nothing else.

use std::sync::Arc;

use upstream::Upstream;

use crate::web::{Answer, Request, Web};
use crate::world::*;

/// What a modern server answers; calls are answered by `called`. It names a session and events, which mean
/// nothing here.
fn modern(request: &Request, called: impl Fn(&str) -> Answer) -> Answer {
    let (method, id) = request.asked();
    let rest = match method.as_str() {
        "server/discover" => r#""supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}"#,
        "tools/list" => r#""tools":[{"name":"echo","inputSchema":{"type":"object"}}]"#,
        "tools/call" => return called(&id),
        _ => return Answer::new(404, "", ""),
    };
    let result = format!(r#"{{"resultType":"complete","ttlMs":0,"cacheScope":"private",{rest}}}"#);
    Answer::json(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#))
}

async fn server(called: impl Fn(&str) -> Answer + Send + Sync + 'static) -> (Web, Arc<Upstream>) {
    let web = Web::start(move |request| modern(request, &called)).await;
    let it = upstream(&format!("url = \"http://127.0.0.1:{}/mcp\"\nera = \"modern\"", web.port));
    it.connect().await.expect("connected");
    (web, it)
}

#[tokio::test]
async fn there_is_neither_session_nor_handshake_nor_open_stream() {
    let (web, it) = server(|id| {
        Answer::stream(&format!(
            "id: 1\ndata: {{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{\"resultType\":\"complete\",\"content\":[]}}}}\n\n"
        ))
    })
    .await;
    for _ in 0..2 {
        assert_eq!(shown(call(&it, "it_echo", "{}").await), r#"{"resultType":"complete","content":[]}"#);
    }
    it.end().await;
    assert_eq!(web.methods(), ["server/discover", "tools/list", "tools/call", "tools/call"]);
    for request in web.seen() {
        let headers = ["mcp-session-id", "last-event-id", "mcp-protocol-version", "accept"];
        let sent = headers.map(|name| request.header(name));
        let accept = "application/json, text/event-stream";
        assert_eq!(sent, [None, None, Some("2026-07-28"), Some(accept)]);
        assert_eq!(request.header("mcp-method"), Some(request.asked().0.as_str()));
    }
}

/// A call that the server answers with `answer`.
async fn check_call(answer: fn(&str) -> Answer, expected: &str) {
    let (web, it) = server(answer).await;
    assert_eq!(shown(call(&it, "it_echo", "{}").await), expected);
    let asked = web.methods();
    assert_eq!(asked.iter().filter(|method| *method == "tools/call").count(), 1, "{asked:?}");
    assert!(web.seen().iter().all(|request| request.method == "POST"));
}

fn refused(status: u16, id: &str) -> Answer {
    let error = r#"{"code":-32601,"message":"no"}"#;
    Answer { status, ..Answer::json(&format!(r#"{{"jsonrpc":"2.0",{id}"error":{error}}}"#)) }
}

#[tokio::test]
async fn errors_are_told_whatever_their_status() {
    const TOLD: &str = "upstream_error: `it` answered with error -32601: no";
    check_call(|id| refused(404, &format!("\"id\":{id},")), TOLD).await;
    check_call(|id| refused(500, &format!("\"id\":{id},")), TOLD).await;
    check_call(|_| refused(400, "\"id\":null,"), TOLD).await;
    check_call(|_| refused(400, ""), TOLD).await;
    // Any tool may speak of sessions; what it did is not done twice.
    check_call(
        |id| {
            let error = r#"{"code":-32000,"message":"unknown session id 42"}"#;
            Answer::json(&format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{error}}}"#))
        },
        "upstream_error: `it` answered with error -32000: unknown session id 42",
    )
    .await;
    check_call(
        |_| Answer::new(404, "", "<h1>Not here</h1>"),
        "upstream_error: `it` failed: it answered with HTTP status 404: <h1>Not here</h1>; \
         whether this call had an effect is unknown",
    )
    .await;
    check_call(
        |_| Answer::new(403, "", ""),
        "upstream_unavailable: `it` cannot be used: it refuses access (HTTP status 403)",
    )
    .await;
}

#[tokio::test]
async fn a_stream_that_is_cut_is_lost() {
    const LOST: &str = "upstream_gone: `it` stopped before it answered; it is started again with the next call; \
                        whether this call had an effect is unknown";
    check_call(|_| Answer::stream("id: 1\nretry: 1\ndata:\n\n"), LOST).await;
    check_call(|_| Answer::stream("id: 1\ndata: {\"jso").cut(), LOST).await;
}

#[tokio::test]
async fn who_gives_up_hangs_up_and_says_nothing_else() {
    let (web, it) = server(|_| Answer::stream(": working\n\n").held()).await;
    let (echo, cx) = (tool(&it, "it_echo"), context(None));
    web.give_up(echo.run(arguments("{}"), &cx)).await;
    web.until_hung_up(1).await;
    assert_eq!(web.methods(), ["server/discover", "tools/list", "tools/call"]);
}
