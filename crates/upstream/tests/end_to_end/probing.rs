//! Finding out in which era a server at an address is met, and modern servers there.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use tool_api::Client;
use upstream::Upstream;

use crate::web::{Answer, Feed, Request, Web};
use crate::world::*;

fn at(web: &Web) -> Arc<Upstream> {
    upstream(&format!("url = \"http://127.0.0.1:{}/mcp\"", web.port))
}

fn result(id: &str, result: &str) -> Answer {
    Answer::json(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#))
}

/// An error with this HTTP status; `id` is JSON text.
fn error(status: u16, id: &str, code: i64, data: &str) -> Answer {
    let body =
        format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":{code},"message":"no","data":{data}}}}}"#);
    Answer { status, ..Answer::json(&body) }
}

/// A server of 2025-06-18, but for `server/discover`, which `probed` answers.
fn legacy(request: &Request, probed: impl Fn(&str) -> Answer) -> Answer {
    let (method, id) = request.asked();
    match (request.method.as_str(), method.as_str()) {
        ("GET", _) => Answer::new(405, "", ""),
        ("DELETE", _) => Answer::new(204, "", ""),
        (_, "server/discover") => probed(&id),
        (_, "initialize") => result(
            &id,
            r#"{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"web","version":"1"}}"#,
        ),
        (_, "tools/list") => result(&id, r#"{"tools":[{"name":"echo","inputSchema":{}}]}"#),
        (_, "tools/call") => result(&id, r#"{"content":[],"era":"legacy"}"#),
        _ => Answer::new(202, "", ""),
    }
}

const DISCOVERED: &str = r#"{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"web","version":"2"}}}"#;

/// A modern server, but for calls and listening, which `called` answers.
fn modern(request: &Request, called: impl Fn(&str, &str) -> Answer) -> Answer {
    let (method, id) = request.asked();
    match (request.method.as_str(), method.as_str()) {
        ("POST", "server/discover") => result(&id, DISCOVERED),
        ("POST", "tools/list") => {
            result(&id, r#"{"resultType":"complete","tools":[{"name":"echo","inputSchema":{}}]}"#)
        }
        ("POST", "tools/call" | "subscriptions/listen") => called(&method, &id),
        ("POST", _) => error(404, &id, -32_601, "null"),
        _ => Answer::new(405, "", ""),
    }
}

/// Meets a server that answers `server/discover` so, and again when it has been met. Returns what was asked.
async fn check(probed: fn(&str) -> Answer, is_remembered: bool) {
    let web = Web::start(move |request| legacy(request, probed)).await;
    let it = at(&web);
    it.connect().await.expect("connected");
    assert_eq!(state(&it), "connected to web 1 (2025-06-18)");
    let opening = ["server/discover", "initialize", "notifications/initialized"];
    assert_eq!(web.methods()[..3], opening);
    let definitions = it.offers().borrow().definitions.clone().expect("lists");
    it.end().await;
    let before = web.methods().len();
    let it = at(&web);
    assert!(it.offer_cached(&definitions, 1));
    it.connect().await.expect("connected");
    let asked: Vec<_> = web.methods()[before..]
        .iter()
        .filter(|method| !["GET", "DELETE"].contains(&method.as_str()))
        .cloned()
        .collect();
    assert_eq!(asked[0] == "initialize", is_remembered, "{asked:?}");
}

#[tokio::test]
async fn whatever_an_old_server_answers_it_is_met_with_a_handshake() {
    check(|_| Answer::new(400, "", ""), true).await;
    check(|_| Answer::new(404, "Content-Type: text/html\r\n", "<h1>Not Found</h1>"), true).await;
    check(|_| Answer::new(405, "", ""), true).await;
    check(|_| error(400, "null", -32_000, "null"), true).await;
    check(|_| error(400, "null", -32_600, "null"), true).await;
    check(|id| error(200, id, -32_601, "null"), true).await;
    check(|id| error(404, id, -32_601, "null"), true).await;
    check(|id| error(200, id, -32_602, "null"), true).await;
    check(|id| result(id, "{}"), true).await;
    check(|_| Answer::new(200, "", ""), true).await;
    check(|_| Answer::new(200, "Content-Type: text/plain\r\n", "hello"), true).await;
    check(|_| Answer::new(202, "", ""), true).await;
    check(|id| error(400, id, -32_022, r#"{"supported":["2025-06-18"]}"#), true).await;
}

#[tokio::test]
async fn trouble_is_no_sign_of_age_though_a_handshake_may_help() {
    // What is remembered of such a server is what its list says; the question is asked again.
    let asked = Arc::new(AtomicUsize::new(0));
    let counted = asked.clone();
    let web = Web::start(move |request| {
        legacy(request, |_| {
            counted.fetch_add(1, Ordering::Relaxed);
            Answer::new(503, "", "later")
        })
    })
    .await;
    let it = at(&web);
    it.connect().await.expect("connected");
    assert_eq!(state(&it), "connected to web 1 (2025-06-18)");
    assert_eq!(asked.load(Ordering::Relaxed), 1);
}

/// A server that answers the question so is not met.
async fn check_refused(probed: fn(&str) -> Answer, expected: &str) {
    let web = Web::start(move |request| match request.asked().0.as_str() {
        "server/discover" => probed(&request.asked().1),
        _ => Answer::new(500, "", "broken"),
    })
    .await;
    let it = upstream(&format!("url = \"http://127.0.0.1:{}/mcp\"\noauth = false", web.port));
    let error = it.connect().await.expect_err("not met");
    assert_eq!(error.to_string(), expected);
    let handshakes = web.methods().iter().filter(|method| *method == "initialize").count();
    let is_modern = expected.contains("server/discover") || expected.contains("versions");
    assert!(!is_modern || handshakes == 0, "{:?}", web.methods());
}

#[tokio::test]
async fn what_a_modern_server_refuses_is_said_and_no_handshake_tried() {
    check_refused(|id| error(400, id, -32_020, "null"), "it refused `server/discover`: no (code -32020)")
        .await;
    check_refused(|_| error(400, "null", -32_021, "null"), "it refused `server/discover`: no (code -32021)")
        .await;
    check_refused(
        |id| error(400, id, -32_022, r#"{"supported":["2031-01-01"],"requested":"2026-07-28"}"#),
        "it does not speak MCP as expected: it speaks the protocol versions 2031-01-01, none of which is supported",
    )
    .await;
    // The first trouble is the one that is told.
    check_refused(|_| Answer::new(503, "", "later"), "it answered with HTTP status 503: later").await;
    check_refused(
        |_| Answer::new(401, "", ""),
        "it refuses access (HTTP status 401); give credentials with `headers`",
    )
    .await;
}

#[tokio::test]
async fn a_modern_server_gets_nothing_but_posts_with_their_headers() {
    let web = Web::start(|request| {
        modern(request, |_, id| result(id, r#"{"resultType":"complete","content":[]}"#))
    })
    .await;
    let it = upstream(&format!("url = \"http://127.0.0.1:{}/mcp\"\nera = \"modern\"", web.port));
    it.connect().await.expect("connected");
    assert_eq!(state(&it), "connected to web 2 (2026-07-28)");
    let client = Client { capabilities: Bytes::from_static(br#"{"roots":{}}"#), ..Client::default() };
    let cx = tool_api::Context { client, ..context(None) };
    let said = shown(tool(&it, "it_echo").run(arguments(r#"{"a":1.0}"#), &cx).await);
    assert_eq!(said, r#"{"resultType":"complete","content":[]}"#);
    it.end().await;
    assert_eq!(web.methods(), ["server/discover", "tools/list", "tools/call"]);
    for request in web.seen() {
        assert_eq!(request.header("mcp-protocol-version"), Some("2026-07-28"));
        assert_eq!(request.header("mcp-method"), Some(request.asked().0.as_str()));
        assert_eq!(request.header("mcp-session-id"), None, "one that was never asked for is not sent back");
        assert_eq!(request.header("mcp-name"), (request.asked().0 == "tools/call").then_some("echo"));
    }
    let body = &web.seen()[2].body;
    let meta = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"toolcrib-test","version":"0"},"io.modelcontextprotocol/clientCapabilities":{"roots":{}}}"#;
    let expected =
        format!(r#""method":"tools/call","params":{{"name":"echo","arguments":{{"a":1.0}},{meta}}}}}"#);
    assert!(body.ends_with(&expected), "{body}");
}

#[tokio::test]
async fn giving_up_a_modern_call_hangs_up_and_says_nothing_more() {
    let web = Web::start(|request| modern(request, |_, _| Answer::events(&[]).held())).await;
    let it = at(&web);
    it.connect().await.expect("connected");
    let (echo, cx) = (tool(&it, "it_echo"), context(None));
    web.give_up(echo.run(arguments("{}"), &cx)).await;
    web.until_hung_up(1).await;
    assert!(!web.methods().iter().any(|method| method.contains("cancelled")), "{:?}", web.methods());
}

#[tokio::test]
async fn a_modern_servers_news_come_over_its_one_subscription() {
    let (feed, opened, more) = (Feed::new(), Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
    let (feeding, opening, listing) = (feed.clone(), opened.clone(), more.clone());
    let web = Web::start(move |request| {
        let (method, id) = request.asked();
        match method.as_str() {
            "server/discover" => {
                result(&id, &DISCOVERED.replace(r#""tools":{}"#, r#""tools":{"listChanged":true}"#))
            }
            "tools/list" if listing.load(Ordering::Relaxed) => {
                result(&id, r#"{"resultType":"complete","tools":[{"name":"new","inputSchema":{}}]}"#)
            }
            "subscriptions/listen" => {
                let meta = format!(r#""_meta":{{"io.modelcontextprotocol/subscriptionId":{id}}}"#);
                let params = format!(r#"{{"notifications":{{"toolsListChanged":true}},{meta}}}"#);
                let acknowledged = format!(
                    r#"{{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{params}}}"#
                );
                opening.store(id.parse().expect("a number"), Ordering::Relaxed);
                Answer::events(&[&acknowledged]).fed(&feeding)
            }
            _ => modern(request, |_, id| result(id, r#"{"resultType":"complete","content":[]}"#)),
        }
    })
    .await;
    let it = at(&web);
    it.connect().await.expect("connected");
    web.until(|request| request.asked().0 == "subscriptions/listen").await;
    more.store(true, Ordering::Relaxed);
    let changed = |id: usize| {
        format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{{"_meta":{{"io.modelcontextprotocol/subscriptionId":{id}}}}}}}"#
        )
    };
    let id = opened.load(Ordering::Relaxed);
    feed.say(&changed(id + 1_000));
    assert_eq!(names(&it), ["it_echo"], "that was of another subscription");
    feed.say(&changed(id));
    until(&it, |offer| offer.tools.iter().any(|tool| tool.definition().name.as_str() == "it_new")).await;
    // A stream that breaks is opened again.
    let listens = || web.methods().iter().filter(|method| *method == "subscriptions/listen").count();
    assert_eq!(listens(), 1);
    feed.cut();
    let again = async {
        while listens() < 2 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(PATIENCE, again).await.expect("it listens again");
}

/// A server that becomes another one while it is in use: a call that it refuses unread is made again.
async fn check_replaced(is_modern_first: bool, refusal: fn(&str) -> Answer) {
    let replaced = Arc::new(AtomicBool::new(false));
    let switch = replaced.clone();
    let web = Web::start(move |request| {
        let is_modern = replaced.load(Ordering::Relaxed) != is_modern_first;
        let is_asked_so = request.header("mcp-protocol-version") == Some("2026-07-28");
        match (is_modern, is_asked_so) {
            (true, true) => modern(request, |_, id| result(id, r#"{"content":[],"era":"modern"}"#)),
            (false, _) if !is_asked_so || request.asked().0 == "server/discover" => {
                legacy(request, |_| Answer::new(400, "", ""))
            }
            (true, false) | (false, _) => refusal(&request.asked().1),
        }
    })
    .await;
    let it = at(&web);
    it.connect().await.expect("connected");
    let (first, then) = if is_modern_first { ("modern", "legacy") } else { ("legacy", "modern") };
    assert!(shown(call(&it, "it_echo", "{}").await).contains(first));
    switch.store(true, Ordering::Relaxed);
    let said = shown(call(&it, "it_echo", "{}").await);
    assert!(said.contains(then), "{said} {:?}", web.methods());
}

#[tokio::test]
async fn a_server_that_changes_its_era_is_met_anew() {
    const BODY: &str = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Bad Request: Server not initialized"}}"#;
    check_replaced(true, |_| Answer { status: 400, ..Answer::json(BODY) }).await;
    check_replaced(true, |id| error(400, id, -32_022, r#"{"supported":["2025-06-18"]}"#)).await;
    check_replaced(false, |id| error(400, id, -32_020, "null")).await;
    check_replaced(false, |id| error(400, id, -32_022, "null")).await;
    check_replaced(false, |_| Answer::new(404, "", "")).await;
}

#[tokio::test]
async fn a_server_that_hangs_on_what_it_does_not_know_is_met_with_a_handshake() {
    let web = Web::start(|request| legacy(request, |_| Answer::events(&[]).held())).await;
    let it = at(&web);
    let connecting = tokio::spawn({
        let it = it.clone();
        async move { it.connect().await }
    });
    web.until(|request| request.asked().0 == "server/discover").await;
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(11)).await;
    tokio::time::resume();
    connecting.await.expect("no panic").expect("connected");
    assert_eq!(state(&it), "connected to web 1 (2025-06-18)");
}
