//! Which era a request belongs to, and what a modern one must repeat in its head.

use crate::client::{Door, Request, initialize};

const LIST: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
const VERSION: &str = r#""io.modelcontextprotocol/protocolVersion":"2026-07-28""#;
const CAPABILITIES: &str = r#""io.modelcontextprotocol/clientCapabilities":{}"#;
const SHOUT: &str = r#""name":"shout","arguments":{"text":"a"}"#;

async fn check(cases: Vec<(&str, Request, &str)>) {
    let door = Door::open().await;
    for (what, request, expected) in cases {
        let answer = door.ask(&request).await;
        assert_eq!(answer.brief(), expected, "{what}: {request}\n{answer:?}");
        assert!(answer.status != 202 || answer.body.is_empty(), "{what}");
    }
    door.close().await;
}

fn versioned(header: &str, body: &str) -> Request {
    let meta = format!(r#""io.modelcontextprotocol/protocolVersion":{body},{CAPABILITIES}"#);
    Request::modern_with("tools/list", "", &meta).but("MCP-Protocol-Version", header)
}

#[tokio::test]
async fn the_body_says_which_era_it_is() {
    let list = || Request::modern("tools/list", "");
    check(vec![
        ("modern", list(), "200 result"),
        ("modern, in any session", list().with("Mcp-Session-Id", "no-such"), "200 result"),
        ("modern, behind any event", list().with("Last-Event-ID", "7-7"), "200 result"),
        ("another version in the head", versioned("2025-11-25", r#""2026-07-28""#), "400 -32020"),
        ("no version in the head", list().without("MCP-Protocol-Version"), "400 -32020"),
        ("two versions in the head", list().with("MCP-Protocol-Version", "2026-07-28"), "400 -32020"),
        ("an unknown version in both", versioned("v999.0.0", r#""v999.0.0""#), "400 -32022"),
        (
            "an unknown version, and nothing repeated",
            versioned("v9", r#""v9""#).without("Mcp-Method"),
            "400 -32022",
        ),
        ("a legacy version in both", versioned("2025-11-25", r#""2025-11-25""#), "400 -32022"),
        ("an unknown version in the body", versioned("2026-07-28", r#""v999.0.0""#), "400 -32020"),
        ("a version that is no text", versioned("2026-07-28", "7"), "400 -32602"),
        ("no metadata", Request::post(LIST).with("MCP-Protocol-Version", "2026-07-28"), "400 -32602"),
        ("no metadata, later", Request::post(LIST).with("MCP-Protocol-Version", "2027-01-01"), "400 -32602"),
        ("no version in it", Request::modern_with("tools/list", "", CAPABILITIES), "400 -32602"),
        ("no capabilities in it", Request::modern_with("tools/list", "", VERSION), "400 -32602"),
        ("legacy without session", Request::post(LIST), "200 result"),
        (
            "legacy of a known version",
            Request::post(LIST).with("MCP-Protocol-Version", "2025-06-18"),
            "200 result",
        ),
        (
            "legacy of an unknown version",
            Request::post(LIST).with("MCP-Protocol-Version", "1999-01-01"),
            "400 -32600",
        ),
        ("a handshake for the modern revision", Request::post(&initialize("2026-07-28")), "200 result"),
        (
            "a handshake with a modern head",
            Request::post(&initialize("2026-07-28")).with("MCP-Protocol-Version", "2026-07-28"),
            "200 result",
        ),
    ])
    .await;
}

#[tokio::test]
async fn methods_of_the_other_era_are_unknown() {
    let gone = [
        "initialize",
        "ping",
        "logging/setLevel",
        "resources/subscribe",
        "resources/unsubscribe",
        "unknown/x",
    ];
    check(gone.map(|method| (method, Request::modern(method, ""), "404 -32601")).to_vec()).await;
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"server/discover"}"#;
    check(vec![("discover", Request::post(body), "200 -32601")]).await;
}

#[tokio::test]
async fn the_head_repeats_the_body() {
    let call = || Request::modern("tools/call", SHOUT).with("Mcp-Name", "shout");
    check(vec![
        ("sound", call(), "200 result"),
        ("in other letters", call().without("Mcp-Name").with("MCP-NAME", "shout"), "200 result"),
        ("with blanks around it", call().but("Mcp-Name", "  shout\t "), "200 result"),
        ("encoded", call().but("Mcp-Name", "=?base64?c2hvdXQ=?="), "200 result"),
        ("encoded without padding", call().but("Mcp-Name", "=?base64?c2hvdXQ?="), "400 -32020"),
        ("encoded badly", call().but("Mcp-Name", "=?base64?c2h!!!dXQ=?="), "400 -32020"),
        ("not ASCII", call().but("Mcp-Name", "caf\u{e9}"), "400 -32020"),
        ("another name", call().but("Mcp-Name", "Shout"), "400 -32020"),
        ("no name", call().without("Mcp-Name"), "400 -32020"),
        ("two names", call().with("Mcp-Name", "shout"), "400 -32020"),
        ("another method", call().but("Mcp-Method", "TOOLS/CALL"), "400 -32020"),
        ("no method", call().without("Mcp-Method"), "400 -32020"),
        ("two methods", call().with("Mcp-Method", "tools/call"), "400 -32020"),
        ("an unknown header of that kind", call().with("Mcp-Param-Other", "x"), "200 result"),
        ("a name nobody asked for", Request::modern("tools/list", "").with("Mcp-Name", "x"), "200 result"),
        (
            "an unknown tool",
            Request::modern("tools/call", r#""name":"no","arguments":{}"#).with("Mcp-Name", "no"),
            "200 -32602",
        ),
    ])
    .await;
}

#[tokio::test]
async fn marked_arguments_are_repeated() {
    let call = |arguments: &str| {
        let params = format!(r#""name":"region","arguments":{arguments}"#);
        Request::modern("tools/call", &params).with("Mcp-Name", "region")
    };
    let hello = || call(r#"{"region":"Hello"}"#);
    check(vec![
        ("sound", hello().with("Mcp-Param-Region", "Hello"), "200 result"),
        ("encoded", hello().with("Mcp-Param-Region", "=?base64?SGVsbG8=?="), "200 result"),
        ("encoded badly", hello().with("Mcp-Param-Region", "=?base64?SGVsbG8?="), "400 -32020"),
        ("missing", hello(), "400 -32020"),
        ("another value", hello().with("Mcp-Param-Region", "hello"), "400 -32020"),
        ("twice", hello().with("Mcp-Param-Region", "Hello").with("Mcp-Param-Region", "Hello"), "400 -32020"),
        ("without the argument", call("{}").with("Mcp-Param-Region", "Hello"), "400 -32020"),
        ("neither", call("{}"), "200 result"),
    ])
    .await;
}

#[tokio::test]
async fn only_requests_are_answered() {
    let modern = |body: &str| Request::post(body).with("MCP-Protocol-Version", "2026-07-28");
    let noted =
        format!(r#"{{"jsonrpc":"2.0","method":"notifications/x","params":{{"_meta":{{{VERSION}}}}}}}"#);
    check(vec![
        ("a notification", modern(r#"{"jsonrpc":"2.0","method":"notifications/x"}"#), "202 "),
        ("one with metadata", modern(&noted), "202 "),
        ("one with another method", modern(&noted).with("Mcp-Method", "notifications/y"), "400 -32020"),
        (
            "a subscription for who takes no streams",
            Request::modern("subscriptions/listen", r#""notifications":{}"#)
                .but("Accept", "application/json"),
            "400 -32600",
        ),
        (
            "one with another version",
            Request::post(&noted).with("MCP-Protocol-Version", "2025-11-25"),
            "400 -32020",
        ),
        ("an answer", modern(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#), "400 -32600"),
        (
            "an answer in the legacy revisions",
            Request::post(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#),
            "202 ",
        ),
        ("a batch", modern(&format!("[{LIST}]")), "400 -32600"),
        ("what is no message", modern("[]"), "400 -32600"),
        ("what is no JSON", modern("nonsense"), "400 -32700"),
    ])
    .await;
}

#[tokio::test]
async fn errors_of_tools_keep_their_code_and_have_its_status() {
    let refuse = |code: i64| {
        let params = format!(
            r#""name":"refuse","arguments":{{"code":{code},"data":{{"requiredCapabilities":{{"sampling":{{}}}}}}}}"#
        );
        Request::modern("tools/call", &params).with("Mcp-Name", "refuse")
    };
    check(vec![
        ("a missing capability", refuse(-32021), "400 -32021"),
        ("anything else", refuse(-32000), "200 result"),
    ])
    .await;
}
