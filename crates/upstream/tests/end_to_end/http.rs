//! Servers that are reached over HTTP.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use upstream::{State, Upstream};

use crate::web::{Answer, Request, Web};
use crate::world::*;

/// What a plain server answers: `wrap` makes one message a JSON body or a stream.
pub(crate) fn plain(request: &Request, wrap: fn(&str) -> Answer) -> Answer {
    let (method, id) = request.asked();
    let result = match (request.method.as_str(), method.as_str()) {
        ("GET", _) => return Answer::new(405, "", ""),
        ("DELETE", _) => return Answer::new(204, "", ""),
        (_, "server/discover") => return Answer::new(400, "", "what is that?"),
        (_, "initialize") => {
            r#"{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"web","version":"2"}}"#
        }
        (_, "tools/list") => r#"{"tools":[{"name":"echo","inputSchema":{}}]}"#,
        (_, "tools/call") => r#"{ "content" : [] }"#,
        _ => return Answer::new(202, "", ""),
    };
    wrap(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#))
}

fn events(message: &str) -> Answer {
    Answer::events(&[message])
}

async fn connected(web: &Web) -> Arc<Upstream> {
    let it = at(web);
    it.connect().await.expect("connected");
    it
}

fn at(web: &Web) -> Arc<Upstream> {
    upstream(&format!(
        "url = \"http://127.0.0.1:{}/mcp?key=q-s3cret\"\nheaders = {{ Authorization = \"Bearer h-s3cret\" }}",
        web.port
    ))
}

#[tokio::test]
async fn json_answers_and_the_headers_that_are_due() {
    let web = Web::start(|request| plain(request, Answer::json)).await;
    let it = connected(&web).await;
    assert_eq!(state(&it), "connected to web 2 (2025-06-18)");
    assert_eq!(shown(call(&it, "it_echo", r#"{"a":1.0}"#).await), r#"{ "content" : [] }"#);
    it.end().await;
    web.until(|request| request.method == "DELETE").await;
    let seen = web.seen();
    for request in &seen {
        assert_eq!(request.header("authorization"), Some("bearer h-s3cret"));
        assert!(request.head.contains(" /mcp?key=q-s3cret http/1.1"), "{}", request.head);
        let (session, revision) = match request.asked().0.as_str() {
            "server/discover" => (None, Some("2026-07-28")),
            "initialize" => (None, None),
            _ => (Some("s1"), Some("2025-06-18")),
        };
        assert_eq!(request.header("mcp-session-id"), session);
        assert_eq!(request.header("mcp-protocol-version"), revision);
        let accept =
            if request.method == "GET" { "text/event-stream" } else { "application/json, text/event-stream" };
        assert_eq!(request.header("accept"), Some(accept));
    }
    let asked = seen.iter().find(|request| request.asked().0 == "tools/call").expect("the call");
    assert_eq!(
        asked.body,
        r#"{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"echo","arguments":{"a":1.0}}}"#
    );
}

/// Many calls take few connections. The next call may come before the last one's end, so one is not enough,
/// and on a busy machine it often does.
async fn check_reuse(wrap: fn(&str) -> Answer) {
    const CALLS: usize = 200;
    let web = Web::start(move |request| plain(request, wrap)).await;
    let it = connected(&web).await;
    let (connections, late_ends) = (web.connections(), web.late_ends());
    for calls in 1..=CALLS {
        assert_eq!(shown(call(&it, "it_echo", "{}").await), r#"{ "content" : [] }"#);
        while late_ends > 0 && web.late_ends() < late_ends + calls {
            tokio::task::yield_now().await;
        }
    }
    assert!(web.connections() <= connections + CALLS / 2, "{} connections", web.connections());
}

#[tokio::test]
async fn connections_are_used_again() {
    check_reuse(Answer::json).await;
    check_reuse(events).await;
    check_reuse(|message| events(message).ending_later()).await;
}

#[tokio::test]
async fn progress_and_requests_inside_a_stream() {
    let web = Web::start(|request| match request.asked() {
        (method, id) if method == "tools/call" => Answer::events(&[
            "",
            &format!(r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{id},"progress":1}}}}"#),
            r#"{"jsonrpc":"2.0","id":"p","method":"ping"}"#,
            &format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#),
        ])
        .held(),
        _ => plain(request, Answer::json),
    })
    .await;
    let it = connected(&web).await;
    let reports = Arc::new(Reports::default());
    let cx = context(Some(reports.clone()));
    assert_eq!(shown(tool(&it, "it_echo").run(arguments("{}"), &cx).await), "{}");
    assert_eq!(*reports.0.lock().expect("sound"), [r#"{"progressToken":4,"progress":1}"#]);
    web.until(|request| request.body == r#"{"jsonrpc":"2.0","id":"p","result":{}}"#).await;
}

/// A server that forgets its first session after the list, and says so with `forgotten`.
async fn check_forgotten(forgotten: fn() -> Answer) {
    let opened = AtomicUsize::new(0);
    let web = Web::start(move |request| match request.asked().0.as_str() {
        "initialize" => {
            let session = opened.fetch_add(1, Ordering::Relaxed) + 1;
            let answer = plain(request, Answer::json);
            Answer { headers: answer.headers.replace("s1", &format!("s{session}")), ..answer }
        }
        "tools/call" if request.header("mcp-session-id") == Some("s1") => forgotten(),
        _ => plain(request, Answer::json),
    })
    .await;
    let it = connected(&web).await;
    assert_eq!(shown(call(&it, "it_echo", "{}").await), r#"{ "content" : [] }"#);
    let methods: Vec<_> = web.methods().into_iter().filter(|method| method != "GET").collect();
    let opening = ["initialize", "notifications/initialized", "tools/list"];
    // What the server is was found out the first time.
    let expected =
        [&["server/discover"], &opening[..], &["tools/call"], &opening[..], &["tools/call"]].concat();
    assert_eq!(methods, expected);
}

#[tokio::test]
async fn a_forgotten_session_is_opened_anew_and_the_call_repeated() {
    check_forgotten(|| Answer::new(404, "", "")).await;
    const BODY: &str = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Bad Request: Server not initialized"}}"#;
    check_forgotten(|| Answer::new(400, "Content-Type: application/json\r\n", BODY)).await;
}

#[tokio::test]
async fn a_server_that_forgets_every_session_is_not_asked_for_ever() {
    let web = Web::start(|request| match request.asked().0.as_str() {
        "tools/call" => Answer::new(404, "", ""),
        _ => plain(request, Answer::json),
    })
    .await;
    let it = connected(&web).await;
    assert_eq!(
        shown(call(&it, "it_echo", "{}").await),
        "upstream_unavailable: `it` cannot be reached: it has forgotten the session"
    );
    assert_eq!(web.methods().iter().filter(|method| *method == "tools/call").count(), 2);
}

#[tokio::test]
async fn a_changed_list_is_heard_over_the_open_stream() {
    let lists = AtomicUsize::new(0);
    let web = Web::start(move |request| match (request.method.as_str(), request.asked()) {
        ("GET", _) => events(r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#).held(),
        (_, (method, id)) if method == "tools/list" && lists.fetch_add(1, Ordering::Relaxed) > 0 => {
            let tools = r#"{"tools":[{"name":"new","inputSchema":{}}]}"#;
            events(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{tools}}}"#))
        }
        _ => plain(request, events),
    })
    .await;
    let it = connected(&web).await;
    until(&it, |offer| offer.tools.iter().any(|tool| tool.definition().name.as_str() == "it_new")).await;
}

#[tokio::test]
async fn a_dropped_call_is_cancelled_on_the_server() {
    let web = Web::start(|request| match request.asked().0.as_str() {
        "tools/call" => Answer::events(&[]).held(),
        _ => plain(request, Answer::json),
    })
    .await;
    let it = connected(&web).await;
    let (echo, cx) = (tool(&it, "it_echo"), context(None));
    web.give_up(echo.run(arguments("{}"), &cx)).await;
    let cancelled = web.until(|request| request.asked().0 == "notifications/cancelled").await;
    assert!(cancelled.body.contains(r#""requestId":4"#), "{}", cancelled.body);
}

/// A call that the server answers with `answer`.
async fn check_call(answer: fn() -> Answer, expected: &str) {
    let web = Web::start(move |request| match request.asked().0.as_str() {
        "tools/call" => answer(),
        _ => plain(request, Answer::json),
    })
    .await;
    let it = connected(&web).await;
    assert_eq!(shown(call(&it, "it_echo", "{}").await), expected);
}

#[tokio::test]
async fn odd_answers_are_told_apart() {
    check_call(
        || Answer::events(&[]),
        "upstream_gone: `it` stopped before it answered; it is started again with the next call; \
         whether this call had an effect is unknown",
    )
    .await;
    let broken = "upstream_broken: the answer of `it` cannot be used:";
    check_call(|| Answer::new(202, "", ""), &format!("{broken} it answered a request with HTTP status 202"))
        .await;
    check_call(|| Answer::json(""), &format!("{broken} it accepted the request and gave no answer")).await;
    check_call(
        || Answer::new(502, "", "Bad\r\nGateway"),
        "upstream_error: `it` failed: it answered with HTTP status 502: Bad  Gateway; \
         whether this call had an effect is unknown",
    )
    .await;
    check_call(
        || Answer::json(r#"{"jsonrpc":"2.0","id":4,"error":{"code":-32603,"message":"no"}}"#),
        "upstream_error: `it` answered with error -32603: no",
    )
    .await;
}

#[tokio::test]
async fn access_that_ends_is_a_state() {
    let web = Web::start(|request| match request.asked().0.as_str() {
        "tools/call" => Answer::new(401, "WWW-Authenticate: Bearer\r\n", ""),
        _ => plain(request, Answer::json),
    })
    .await;
    let it = connected(&web).await;
    let said = shown(call(&it, "it_echo", "{}").await);
    assert_eq!(said, "upstream_unavailable: `it` cannot be used: it refuses access (HTTP status 401)");
    until(&it, |offer| matches!(offer.state, State::Failed { .. })).await;
    assert_eq!(names(&it), ["it_echo"], "its tools stay");
}

/// A handshake that the server answers with `answer`.
async fn check_connect(answer: fn(&Request) -> Answer, expected: &str) {
    let web = Web::start(answer).await;
    let it = at(&web);
    let logs = Logs::default();
    let error = {
        let _guard = tracing::subscriber::set_default(logs.clone());
        it.connect().await.expect_err("no server")
    };
    assert_eq!(error.to_string(), expected);
    assert_eq!(state(&it), format!("failed: {expected}"));
    let logged = logs.text();
    assert!(logged.contains("could not connect"), "{logged}");
    assert!(!format!("{logged} {error:?} {:?}", it.offers().borrow()).contains("s3cret"));
}

#[tokio::test]
async fn a_handshake_that_fails_says_why_and_no_secret() {
    check_connect(
        |_| Answer::new(401, "", "h-s3cret"),
        "it refuses access (HTTP status 401); give credentials with `headers`",
    )
    .await;
    check_connect(
        |_| Answer::new(307, "Location: https://me:s3cret@host/mcp/?key=q-s3cret\r\n", ""),
        "it redirects (HTTP status 307) to https://host/mcp/, which is not followed; `toolcrib mcp test` says whether `url` may be set to that",
    )
    .await;
    check_connect(
        |_| Answer::new(404, "", "<h1>Not\u{7} Found</h1>"),
        "it answered with HTTP status 404: <h1>Not  Found</h1>",
    )
    .await;
    check_connect(
        |request| {
            let id = request.asked().1;
            let error = r#"{"code":-32603,"message":"sorry"}"#;
            Answer::json(&format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{error}}}"#))
        },
        "it refused `initialize`: sorry (code -32603)",
    )
    .await;
    check_connect(
        |_| Answer::new(200, "Content-Type: text/html\r\n", "<html>"),
        "it does not speak MCP as expected: it answered with a web page (text/html); \
         check that `url` is the address of its MCP endpoint",
    )
    .await;
}

#[tokio::test]
async fn nobody_there_is_said_with_host_and_port() {
    let it = upstream("url = \"http://127.0.0.1:1/mcp?key=q-s3cret\"");
    let error = it.connect().await.expect_err("nobody");
    assert_eq!(
        error.to_string(),
        "127.0.0.1:1 refuses connections; check that the server is running and the port is right"
    );
}

/// Everything that is logged, as text.
#[derive(Clone, Default)]
pub(crate) struct Logs(Arc<std::sync::Mutex<String>>);

impl Logs {
    pub(crate) fn text(&self) -> String {
        self.0.lock().expect("sound").clone()
    }
}

impl tracing::Subscriber for Logs {
    fn enabled(&self, _: &tracing::Metadata<'_>) -> bool {
        true
    }
    fn new_span(&self, _: &tracing::span::Attributes<'_>) -> tracing::span::Id {
        tracing::span::Id::from_u64(1)
    }
    fn record(&self, _: &tracing::span::Id, _: &tracing::span::Record<'_>) {}
    fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}
    fn event(&self, event: &tracing::Event<'_>) {
        let mut text = self.0.lock().expect("sound");
        event.record(&mut |field: &tracing::field::Field, value: &dyn std::fmt::Debug| {
            text.push_str(&format!("{field}={value:?} "));
        });
    }
    fn enter(&self, _: &tracing::span::Id) {}
    fn exit(&self, _: &tracing::span::Id) {}
}
