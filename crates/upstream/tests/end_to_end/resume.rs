//! Streams that end before all was said, and how they are read on.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use upstream::{State, Upstream};

use crate::web::{Answer, Request, Web};
use crate::world::*;

/// What a server of 2025-11-25 answers that has nothing to say unasked.
fn plain(request: &Request) -> Answer {
    let (method, id) = request.asked();
    let result = match (request.method.as_str(), method.as_str()) {
        ("GET", _) => return Answer::new(405, "", ""),
        ("DELETE", _) => return Answer::new(204, "", ""),
        (_, "initialize") => {
            r#"{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"web","version":"2"}}"#
        }
        (_, "server/discover") => return Answer::new(400, "", "no session"),
        (_, "tools/list") => r#"{"tools":[{"name":"echo","inputSchema":{"type":"object"}}]}"#,
        (_, "tools/call") => r#"{"content":[]}"#,
        _ => return Answer::new(202, "", ""),
    };
    Answer::json(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#))
}

/// A server that answers calls with `call` and requests for the rest of a stream, by its last id, with `rest`.
/// The second is given the answer to the last call.
async fn server(
    call: impl Fn(&str) -> Answer + Send + Sync + 'static,
    rest: impl Fn(&str, &str) -> Answer + Send + Sync + 'static,
) -> (Web, Arc<Upstream>) {
    let last_call = AtomicUsize::new(0);
    let web = Web::start(move |request| match (request.asked(), request.header("last-event-id")) {
        ((method, id), _) if method == "tools/call" => {
            last_call.store(id.parse().expect("a number"), Ordering::Relaxed);
            call(&id)
        }
        (_, Some(last_id)) => {
            let id = last_call.load(Ordering::Relaxed);
            rest(last_id, &format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[]}}}}"#))
        }
        _ => plain(request),
    })
    .await;
    let it = upstream(&format!(
        "url = \"http://127.0.0.1:{}/mcp\"\noauth = false\nheaders = {{ A = \"h-s3cret\" }}",
        web.port
    ));
    it.connect().await.expect("connected");
    (web, it)
}

/// The ids that the rest was asked for behind.
fn asked_behind(web: &Web) -> Vec<String> {
    let seen = web.seen();
    seen.iter().filter_map(|request| request.header("last-event-id")).map(str::to_owned).collect()
}

#[tokio::test]
async fn a_server_that_hangs_up_after_the_first_id_is_asked_for_the_rest() {
    let (web, it) = server(
        |_| Answer::stream("id: a\nretry: 60\ndata:\n\n"),
        |_, answer| Answer::stream(&format!("id: b\ndata: {answer}\n\n")),
    )
    .await;
    assert_eq!(shown(call(&it, "it_echo", "{}").await), r#"{"content":[]}"#);
    let seen = web.seen();
    let asked = seen.iter().find(|request| request.header("last-event-id").is_some()).expect("asked");
    let headers = ["last-event-id", "accept", "mcp-session-id", "mcp-protocol-version", "a", "content-type"];
    let sent = headers.map(|name| asked.header(name));
    let expected = ["a", "text/event-stream", "s1", "2025-11-25", "h-s3cret"];
    assert_eq!(sent[..5], expected.map(Some));
    assert_eq!((asked.method.as_str(), sent[5]), ("GET", None));
    assert_eq!(web.methods().iter().filter(|method| *method == "tools/call").count(), 1);
}

#[tokio::test]
async fn a_server_may_hang_up_again_and_again() {
    let (web, it) = server(
        |_| Answer::stream("id: 0\nretry: 1\ndata:\n\n"),
        |last_id, answer| match last_id.parse::<u32>().expect("a number") {
            12 => Answer::stream(&format!("id: 13\ndata: {answer}\n\n")),
            last => Answer::stream(&format!("id: {}\ndata:\n\n", last + 1)),
        },
    )
    .await;
    assert_eq!(shown(call(&it, "it_echo", "{}").await), r#"{"content":[]}"#);
    assert_eq!(asked_behind(&web), (0..=12).map(|id| id.to_string()).collect::<Vec<_>>());
}

/// A stream that breaks in the middle of its second event, by `cut`.
async fn check_cut(cut: fn(Answer) -> Answer) {
    let progress = |id: &str, done: u32| {
        let params = format!(r#"{{"progressToken":{id},"progress":{done}}}"#);
        format!(r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{params}}}"#)
    };
    let (web, it) = server(
        move |id| {
            let whole = format!("retry: 50\nid: a\ndata: {}\n\n", progress(id, 1));
            cut(Answer::stream(&format!("{whole}id: b\ndata: {}", &progress(id, 2)[..40])))
        },
        move |_, answer| {
            let id = answer.split([':', ',']).nth(3).expect("an id");
            let old = format!("id: a\ndata: {}\n\n", progress(id, 1));
            let new = format!("id: b\ndata: {}\n\nid: c\ndata: {answer}\n\n", progress(id, 2));
            Answer::stream(&(old + &new))
        },
    )
    .await;
    let reports = Arc::new(Reports::default());
    let cx = context(Some(reports.clone()));
    assert_eq!(shown(tool(&it, "it_echo").run(arguments("{}"), &cx).await), r#"{"content":[]}"#);
    assert_eq!(asked_behind(&web), ["a"]);
    let said = reports.0.lock().expect("sound").clone();
    let steps: Vec<_> = said.iter().map(|report| report.rsplit(':').next().expect("a number")).collect();
    assert_eq!(steps, ["1}", "2}"], "each event once, though the server began with the old one");
}

#[tokio::test]
async fn what_is_cut_in_mid_event_comes_again_once() {
    check_cut(|answer| answer).await;
    check_cut(Answer::cut).await;
}

#[tokio::test]
async fn a_server_is_left_alone_as_long_as_it_says() {
    let first_id = Arc::new(OnceLock::new());
    let (web, it) = server(
        {
            let first_id = first_id.clone();
            move |id| match first_id.set(id.to_owned()) {
                Ok(()) => Answer::stream("id: a\nretry: 1000\ndata:\n\n"),
                Err(_) => Answer::json(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"second":1}}}}"#)),
            }
        },
        move |_, _| {
            let id = first_id.get().expect("called");
            Answer::stream(&format!(
                "data: {{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{\"first\":1}}}}\n\n"
            ))
        },
    )
    .await;
    let first = async { shown(call(&it, "it_echo", "{}").await) };
    let second = async {
        web.until(|request| request.asked().0 == "tools/call").await;
        shown(call(&it, "it_echo", "{}").await)
    };
    let (first, second) = tokio::join!(first, second);
    assert_eq!((first.as_str(), second.as_str()), (r#"{"first":1}"#, r#"{"second":1}"#));
    // Had it been asked at once, it would have been asked before the second call.
    let seen = web.seen();
    let rest = seen.iter().rposition(|request| request.header("last-event-id").is_some());
    let last_call = seen.iter().rposition(|request| request.asked().0 == "tools/call");
    assert!(rest > last_call, "{:?}", web.methods());
}

/// A call whose rest is refused with `rest`.
async fn check_refused(rest: fn() -> Answer, expected: &str) {
    let (web, it) = server(|_| Answer::stream("id: a\nretry: 50\ndata:\n\n"), move |_, _| rest()).await;
    assert_eq!(shown(call(&it, "it_echo", "{}").await), expected);
    assert_eq!(asked_behind(&web), ["a"]);
}

#[tokio::test]
async fn a_rest_that_is_refused_is_lost() {
    const LOST: &str = "upstream_gone: `it` stopped before it answered; it is started again with the next call; \
                        whether this call had an effect is unknown";
    let refusals = [
        || Answer::new(405, "", ""),
        || Answer::new(400, "", ""),
        || Answer::new(404, "", ""),
        || Answer::json("{}"),
    ];
    for rest in refusals {
        check_refused(rest, LOST).await;
    }
    let access = "upstream_unavailable: `it` cannot be used: it refuses access (HTTP status 401)";
    check_refused(|| Answer::new(401, "", ""), access).await;
}

// With a paused clock, waits pass as soon as nothing else is to be done.
#[tokio::test(start_paused = true)]
async fn a_stream_that_never_goes_on_is_given_up() {
    let (web, it) = server(
        |_| Answer::stream("id: a\nretry: 50\ndata:\n\n"),
        |last_id, _| Answer::stream(&format!("id: {last_id}\ndata:\n\n")),
    )
    .await;
    let said = shown(call(&it, "it_echo", "{}").await);
    assert!(said.starts_with("upstream_gone: "), "{said}");
    assert_eq!(asked_behind(&web), ["a"; 8]);
}

#[tokio::test]
async fn the_open_stream_is_read_on_too() {
    let lists = AtomicUsize::new(0);
    let web = Web::start(move |request| match (request.method.as_str(), request.asked()) {
        ("GET", _) => match request.header("last-event-id") {
            None => Answer::stream("id: 5\nretry: 50\ndata:\n\n").cut(),
            Some(_) => {
                let change = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;
                Answer::stream(&format!("id: 6\ndata: {change}\n\n")).held()
            }
        },
        (_, (method, id)) if method == "tools/list" && lists.fetch_add(1, Ordering::Relaxed) > 0 => {
            let tools = r#"{"tools":[{"name":"new","inputSchema":{"type":"object"}}]}"#;
            Answer::json(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{tools}}}"#))
        }
        _ => plain(request),
    })
    .await;
    let it = upstream(&format!("url = \"http://127.0.0.1:{}/mcp\"", web.port));
    it.connect().await.expect("connected");
    until(&it, |offer| offer.tools.iter().any(|tool| tool.definition().name.as_str() == "it_new")).await;
    assert_eq!(asked_behind(&web), ["5"]);
}

/// How often the open stream is asked for, if it is refused with `refusal` at first.
async fn check_listening(refusal: fn() -> Answer) {
    let asked = AtomicUsize::new(0);
    let web = Web::start(move |request| match request.method.as_str() {
        "GET" => match asked.fetch_add(1, Ordering::Relaxed) {
            0 => refusal(),
            _ => Answer::stream("").held(),
        },
        _ => plain(request),
    })
    .await;
    let it = upstream(&format!("url = \"http://127.0.0.1:{}/mcp\"", web.port));
    it.connect().await.expect("connected");
    let asks = || web.seen().iter().filter(|request| request.method == "GET").count();
    let twice = async {
        while asks() < 2 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(PATIENCE, twice).await.expect("asked again");
}

#[tokio::test]
async fn a_stream_that_is_refused_for_now_is_asked_for_again() {
    check_listening(|| Answer::new(400, "", "")).await;
    check_listening(|| Answer::new(503, "", "")).await;
}

/// A server that answers the request for an open stream with `refusal`, once and for all.
async fn check_not_listening(refusal: fn() -> Answer) {
    let web = Web::start(move |request| match request.method.as_str() {
        "GET" => refusal(),
        _ => plain(request),
    })
    .await;
    let it = upstream(&format!("url = \"http://127.0.0.1:{}/mcp\"", web.port));
    it.connect().await.expect("connected");
    web.until(|request| request.method == "GET").await;
    tokio::time::sleep(Duration::from_secs(600)).await;
    assert_eq!(web.methods().iter().filter(|method| *method == "GET").count(), 1);
}

// With a paused clock, waits pass as soon as nothing else is to be done.
#[tokio::test(start_paused = true)]
async fn a_server_without_an_open_stream_is_asked_once() {
    for refusal in [|| Answer::new(405, "", ""), || Answer::new(404, "", ""), || Answer::json("{}")] {
        check_not_listening(refusal).await;
    }
}

#[tokio::test]
async fn a_session_that_ends_while_nobody_calls_is_noticed() {
    let sessions = AtomicUsize::new(0);
    let web = Web::start(move |request| match (request.method.as_str(), request.asked().0.as_str()) {
        ("GET", _) if request.header("mcp-session-id") != Some("s1") => Answer::stream("").held(),
        ("GET", _) if request.header("last-event-id").is_some() => Answer::new(404, "", ""),
        ("GET", _) => Answer::stream("id: 5\nretry: 50\ndata:\n\n"),
        (_, "initialize") => {
            let session = sessions.fetch_add(1, Ordering::Relaxed) + 1;
            let answer = plain(request);
            Answer { headers: answer.headers.replace("s1", &format!("s{session}")), ..answer }
        }
        _ => plain(request),
    })
    .await;
    let it = upstream(&format!("url = \"http://127.0.0.1:{}/mcp\"", web.port));
    it.connect().await.expect("connected");
    web.until(|request| request.header("last-event-id").is_some()).await;
    until(&it, |offer| matches!(offer.state, State::Failed { .. })).await;
    assert_eq!(shown(call(&it, "it_echo", "{}").await), r#"{"content":[]}"#);
    web.until(|request| request.method == "GET" && request.header("mcp-session-id") == Some("s2")).await;
}
