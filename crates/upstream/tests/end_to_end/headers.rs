//! Arguments that modern HTTP servers want repeated in headers.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::web::{Answer, Request, Web};
use crate::world::*;

const TOOL: &str = r#"{"name":"echo","inputSchema":{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"}}}}"#;
const UNSOUND: &str = r#"{"name":"bad","inputSchema":{"type":"object","properties":{"n":{"type":"number","x-mcp-header":"N"}}}}"#;

/// What a modern server answers; calls are answered by `called`, lists are of `tools`.
pub(crate) fn modern(request: &Request, tools: &str, called: impl Fn(&str) -> Answer) -> Answer {
    let (method, id) = request.asked();
    let complete = |rest: &str| {
        let result = format!(r#"{{"resultType":"complete","ttlMs":0,"cacheScope":"private",{rest}}}"#);
        Answer::json(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#))
    };
    match method.as_str() {
        "server/discover" => complete(r#""supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}"#),
        "tools/list" => complete(&format!("\"tools\":[{tools}]")),
        "tools/call" => called(&id),
        _ => Answer::new(404, "", ""),
    }
}

pub(crate) fn done(id: &str) -> Answer {
    Answer::json(&format!(
        r#"{{"jsonrpc":"2.0","id":{id},"result":{{"resultType":"complete","content":[]}}}}"#
    ))
}

fn mismatch(id: &str) -> Answer {
    let error = r#"{"code":-32020,"message":"Header mismatch"}"#;
    let body = format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{error}}}"#);
    Answer { status: 400, ..Answer::json(&body) }
}

fn at(web: &Web) -> std::sync::Arc<upstream::Upstream> {
    upstream(&format!("url = \"http://127.0.0.1:{}/mcp\"", web.port))
}

#[tokio::test]
async fn annotated_arguments_go_into_headers_and_unsound_tools_are_withheld() {
    let web = Web::start(|request| modern(request, &format!("{TOOL},{UNSOUND}"), done)).await;
    let it = at(&web);
    it.connect().await.expect("connected");
    assert_eq!(names(&it), ["it_echo"]);
    let withheld = it.offers().borrow().withheld.clone();
    assert_eq!(withheld[0].name, "bad");
    assert_eq!(
        withheld[0].why,
        "the x-mcp-header of \"n\" stands at what is neither integer, string nor boolean"
    );
    for (arguments, header) in
        [(r#"{"region":"eu"}"#, Some("eu")), (r#"{"region":null}"#, None), ("{}", None)]
    {
        let answered = shown(call(&it, "it_echo", arguments).await);
        assert_eq!(answered, r#"{"resultType":"complete","content":[]}"#);
        let last = web.seen().into_iter().rfind(|request| request.asked().0 == "tools/call").expect("a call");
        assert_eq!(last.header("mcp-param-region"), header);
        assert_eq!((last.header("mcp-name"), last.header("mcp-method")), (Some("echo"), Some("tools/call")));
    }
}

#[tokio::test]
async fn a_mismatch_makes_the_list_be_read_again_and_the_call_once_more() {
    let calls = AtomicUsize::new(0);
    let web = Web::start(move |request| {
        modern(request, TOOL, |id| match calls.fetch_add(1, Ordering::Relaxed) {
            0 => mismatch(id),
            _ => done(id),
        })
    })
    .await;
    // The second call must not wait for the turn of the first.
    let it = upstream(&format!("url = \"http://127.0.0.1:{}/mcp\"\nconcurrency = 1", web.port));
    it.connect().await.expect("connected");
    let answered = shown(call(&it, "it_echo", r#"{"region":"eu"}"#).await);
    assert_eq!(answered, r#"{"resultType":"complete","content":[]}"#);
    let asked: Vec<_> = web.methods().into_iter().filter(|method| method.starts_with("tools/")).collect();
    assert_eq!(asked, ["tools/list", "tools/call", "tools/list", "tools/call"]);
}

#[tokio::test]
async fn a_mismatch_that_stays_is_an_error_and_one_of_another_list_is_not_called() {
    let web = Web::start(|request| modern(request, TOOL, mismatch)).await;
    let it = at(&web);
    it.connect().await.expect("connected");
    let said = shown(call(&it, "it_echo", "{}").await);
    assert_eq!(said, "upstream_error: `it` answered with error -32020: Header mismatch");
    assert_eq!(web.methods().iter().filter(|method| *method == "tools/call").count(), 2);

    let lists = AtomicUsize::new(0);
    let web = Web::start(move |request| {
        let is_list = request.asked().0 == "tools/list";
        let is_old = !is_list || lists.fetch_add(1, Ordering::Relaxed) == 0;
        modern(request, if is_old { TOOL } else { r#"{"name":"echo","inputSchema":{}}"# }, mismatch)
    })
    .await;
    let it = at(&web);
    it.connect().await.expect("connected");
    let said = shown(call(&it, "it_echo", "{}").await);
    assert!(said.starts_with("definition_changed: "), "{said}");
}
