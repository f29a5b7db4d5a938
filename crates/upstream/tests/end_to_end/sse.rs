//! Servers that are reached over HTTP with server-sent events, as before 2025-03-26.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use upstream::Upstream;

use crate::web::{Answer, Feed, Request, Web};
use crate::world::*;

const ENDPOINT: &str = "event: endpoint\ndata: /messages/?session_id=q-s3cret\n\n";

/// What a server does with a message: says the answer on its stream, and accepts it.
pub(crate) fn accept(request: &Request, feed: &Feed) -> Answer {
    let (method, id) = request.asked();
    let result = match method.as_str() {
        "initialize" => {
            r#"{"protocolVersion":"2024-11-05","capabilities":{"tools":{}},"serverInfo":{"name":"old","version":"1"}}"#
        }
        "tools/list" => r#"{"tools":[{"name":"echo","inputSchema":{"type":"object"}}]}"#,
        "tools/call" => r#"{"content":[]}"#,
        _ => return Answer::new(202, "", "Accepted"),
    };
    feed.say(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#));
    Answer::new(202, "", "Accepted")
}

/// A server that opens its stream with `opening`, and does `script` with messages.
async fn server(
    opening: &'static str,
    script: impl Fn(&Request, &Feed) -> Answer + Send + Sync + 'static,
) -> Web {
    let feed = Feed::new();
    Web::start(move |request| match request.method.as_str() {
        "GET" => Answer::stream(opening).fed(&feed),
        _ => script(request, &feed),
    })
    .await
}

fn at(web: &Web, transport: &str) -> Arc<Upstream> {
    upstream(&format!(
        "url = \"http://127.0.0.1:{}/sse\"\nheaders = {{ Authorization = \"Bearer h-s3cret\" }}\n{transport}",
        web.port
    ))
}

const FIXED: &str = "transport = \"sse\"";

#[tokio::test]
async fn a_server_is_talked_to_over_its_stream_and_its_endpoint() {
    let web = server(ENDPOINT, accept).await;
    let it = at(&web, FIXED);
    it.connect().await.expect("connected");
    assert_eq!(state(&it), "connected to old 1 (2024-11-05)");
    assert_eq!(shown(call(&it, "it_echo", "{}").await), r#"{"content":[]}"#);
    let seen = web.seen();
    assert_eq!(web.methods(), ["GET", "initialize", "notifications/initialized", "tools/list", "tools/call"]);
    for request in &seen {
        assert_eq!(request.header("authorization"), Some("bearer h-s3cret"));
        let (path, accept) = match request.method.as_str() {
            "GET" => (" /sse ", "text/event-stream"),
            _ => (" /messages/?session_id=q-s3cret ", "application/json, text/event-stream"),
        };
        assert!(request.head.contains(path), "{}", request.head);
        assert_eq!(request.header("accept"), Some(accept));
        assert_eq!(request.header("mcp-protocol-version"), None, "2024-11-05 does not know it");
    }
}

#[tokio::test]
async fn progress_and_requests_come_over_the_stream() {
    let web = server(ENDPOINT, |request, feed| {
        let (method, id) = request.asked();
        if method == "tools/call" {
            feed.say(&format!(r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{id},"progress":1}}}}"#));
            feed.say(r#"{"jsonrpc":"2.0","id":"p","method":"ping"}"#);
            return Answer::new(202, "", "");
        }
        if request.body == r#"{"jsonrpc":"2.0","id":"p","result":{}}"# {
            feed.say(r#"{"jsonrpc":"2.0","id":3,"result":{"ponged":true}}"#);
        }
        accept(request, feed)
    })
    .await;
    let it = at(&web, FIXED);
    it.connect().await.expect("connected");
    let reports = Arc::new(Reports::default());
    let cx = context(Some(reports.clone()));
    assert_eq!(shown(tool(&it, "it_echo").run(arguments("{}"), &cx).await), r#"{"ponged":true}"#);
    assert_eq!(*reports.0.lock().expect("sound"), [r#"{"progressToken":3,"progress":1}"#]);
}

/// A stream that opens in a way that is refused.
async fn check_refused(opening: &'static str, expected: &str) {
    let web = server(opening, accept).await;
    let error = at(&web, FIXED).connect().await.expect_err("refused").to_string();
    assert_eq!(error, format!("it does not speak MCP as expected: {expected}"));
    assert_eq!(web.methods(), ["GET"], "nothing was sent anywhere");
}

#[tokio::test]
async fn an_endpoint_elsewhere_is_refused() {
    check_refused(
        "event: endpoint\ndata: http://127.0.0.1:1/steal?s=q-s3cret\n\n",
        "its endpoint is at another origin, which is refused: http://127.0.0.1:1/steal",
    )
    .await;
    check_refused(
        "event: endpoint\ndata: //example.invalid/\n\n",
        "its endpoint is at another origin, which is refused: http://example.invalid/",
    )
    .await;
    check_refused("event: endpoint\ndata:\n\n", "its endpoint is no address of 1 to 4096 bytes").await;
}

// With a paused clock, waits pass as soon as nothing else is to be done.
#[tokio::test(start_paused = true)]
async fn a_stream_without_an_endpoint_is_not_waited_for_long() {
    check_refused(": hello\n\n", "it named no endpoint within 10 s").await;
}

#[tokio::test]
async fn a_stream_that_is_cut_ends_the_connection() {
    let calls = AtomicUsize::new(0);
    let web = server(ENDPOINT, move |request, feed| match request.asked().0.as_str() {
        "tools/call" if calls.fetch_add(1, Ordering::Relaxed) == 0 => {
            feed.cut();
            Answer::new(202, "", "")
        }
        _ => accept(request, feed),
    })
    .await;
    let it = at(&web, FIXED);
    it.connect().await.expect("connected");
    assert_eq!(
        shown(call(&it, "it_echo", "{}").await),
        "upstream_gone: `it` stopped before it answered; it is started again with the next call; \
         whether this call had an effect is unknown"
    );
    assert_eq!(shown(call(&it, "it_echo", "{}").await), r#"{"content":[]}"#);
    assert_eq!(web.methods().iter().filter(|method| *method == "GET").count(), 2);
}

#[tokio::test]
async fn a_forgotten_session_is_opened_anew_and_the_call_repeated() {
    let calls = AtomicUsize::new(0);
    let web = server(ENDPOINT, move |request, feed| match request.asked().0.as_str() {
        "tools/call" if calls.fetch_add(1, Ordering::Relaxed) == 0 => Answer::new(404, "", "no such session"),
        _ => accept(request, feed),
    })
    .await;
    let it = at(&web, FIXED);
    it.connect().await.expect("connected");
    assert_eq!(shown(call(&it, "it_echo", "{}").await), r#"{"content":[]}"#);
    assert_eq!(web.methods().iter().filter(|method| *method == "initialize").count(), 2);
}

/// A server that refuses POSTs to its stream's address with `status`.
async fn check_found(status: u16) {
    let feed = Feed::new();
    let web = Web::start(move |request| match request.method.as_str() {
        "GET" => Answer::stream(ENDPOINT).fed(&feed),
        _ if request.head.starts_with("post /sse ") => Answer::new(status, "", "<h1>Not here</h1>"),
        _ => accept(request, &feed),
    })
    .await;
    let it = at(&web, "");
    it.connect().await.expect("connected");
    assert_eq!(shown(call(&it, "it_echo", "{}").await), r#"{"content":[]}"#);
}

#[tokio::test]
async fn it_is_found_where_nothing_newer_is_spoken() {
    for status in [400, 404, 405] {
        check_found(status).await;
    }
}

#[tokio::test]
async fn where_neither_is_spoken_the_first_refusal_is_what_counts() {
    let web = Web::start(|_| Answer::new(404, "", "nothing here")).await;
    let error = at(&web, "").connect().await.expect_err("nobody").to_string();
    assert_eq!(error, "it answered with HTTP status 404: nothing here");
    let web = Web::start(|_| Answer::new(404, "", "nothing here")).await;
    let error = at(&web, "transport = \"http\"").connect().await.expect_err("nobody").to_string();
    assert_eq!(error, "it answered with HTTP status 404: nothing here");
    assert!(web.seen().iter().all(|request| request.method == "POST"), "{:?}", web.methods());
}
