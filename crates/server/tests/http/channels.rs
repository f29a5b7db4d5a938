//! The HTTP+SSE transport of 2024-11-05.

use crate::client::{Connection, Door, Request, initialize};

const MODERN: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#;

async fn open(door: &Door) -> (Connection, String) {
    let mut channel = door.connect().await;
    channel.send(&Request::get("/sse")).await;
    let head = channel.head().await;
    assert_eq!((head.status, head.header("content-type")), (200, Some("text/event-stream")));
    let endpoint = channel.events(1).await.remove(0);
    let path = endpoint.strip_prefix("- ").expect("no id").to_owned();
    assert!(path.starts_with("/message?sessionId=") && path.len() >= 19 + 32, "{path}");
    (channel, path)
}

async fn post(door: &Door, path: &str, body: &str) -> String {
    door.ask(&Request::post_to(path, body)).await.brief()
}

#[tokio::test]
async fn answers_come_over_the_channel() {
    let door = Door::open().await;
    let (mut channel, path) = open(&door).await;
    assert_eq!(post(&door, &path, &initialize("2024-11-05")).await, "202 ");
    assert_eq!(channel.events(1).await, ["- result of 0"]);
    assert_eq!(post(&door, &path, r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await, "202 ");
    assert_eq!(post(&door, &path, r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#).await, "202 ");
    assert_eq!(channel.events(1).await, ["- result of 1"]);
    assert_eq!(post(&door, &path, r#"{"jsonrpc":"2.0","id":2,"method":"no"}"#).await, "202 ");
    assert_eq!(channel.events(1).await, ["- error -32601"]);

    door.offer_more(true);
    assert_eq!(channel.events(1).await, ["- notifications/tools/list_changed"]);

    let call = r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"walk","arguments":{"steps":1},"_meta":{"progressToken":7}}}"#;
    assert_eq!(post(&door, &path, call).await, "202 ");
    // Another call is not held up by it.
    assert_eq!(post(&door, &path, r#"{"jsonrpc":"2.0","id":4,"method":"ping"}"#).await, "202 ");
    assert_eq!(channel.events(1).await, ["- result of 4"]);
    door.walk.allow(2);
    assert_eq!(channel.events(2).await, ["- progress 1", "- result of 3"]);
    door.close().await;
    assert_eq!(channel.events(1).await, ["end"]);
}

#[tokio::test]
async fn bad_posts_are_refused() {
    let door = Door::open().await;
    let (mut channel, path) = open(&door).await;
    let session = door.session("2025-11-25").await;
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    let cases = [
        ("/message".to_owned(), ping, "400 the query"),
        ("/message?other=1".to_owned(), ping, "400 the query"),
        ("/message?sessionId=".to_owned(), ping, "404 -32600"),
        ("/message?sessionId=0123456789abcdef0123456789abcdef".to_owned(), ping, "404 -32600"),
        // Sessions of the other transport are no channels.
        (format!("/message?sessionId={session}"), ping, "404 -32600"),
        (path.clone(), "nonsense", "400 -32700"),
        (path.clone(), "[]", "400 -32600"),
        (path.clone(), &format!("[{ping}]"), "400 -32600"),
        // The modern revision is spoken elsewhere, where headers must repeat what is asked.
        (path.clone(), MODERN, "400 -32600"),
        (format!("{path}&more=1"), ping, "202"),
    ];
    for (path, body, expected) in cases {
        let brief = post(&door, &path, body).await;
        assert!(brief.starts_with(expected), "{path} {body}: {brief}");
    }
    let id = path.split_once('=').expect("an id").1;
    let other = Request::post(ping).with("Mcp-Session-Id", id);
    assert_eq!(door.ask(&other).await.status, 404, "nor is a channel one of theirs");
    assert_eq!(channel.events(1).await, ["- result of 1"], "only what was good is answered");
    door.close().await;
}

#[tokio::test]
async fn the_session_ends_with_the_channel() {
    let door = Door::open().await;
    let (channel, path) = open(&door).await;
    let (mut other, other_path) = open(&door).await;
    assert_ne!(path, other_path);
    let call = r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"walk","arguments":{}}}"#;
    assert_eq!(post(&door, &path, call).await, "202 ");
    // Before that it waits for the disk, and one that is given up there never begins.
    door.walk.begun().await;
    drop(channel);
    // Its calls are given up.
    door.walk.given_up().await;
    assert_eq!(post(&door, &path, call).await, "404 -32600");
    assert_eq!(post(&door, &other_path, r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#).await, "202 ");
    assert_eq!(other.events(1).await, ["- result of 1"]);
    door.close().await;
}
