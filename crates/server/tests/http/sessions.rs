//! Sessions of the legacy revisions, and that no answer strays.

use futures_util::future::join_all;

use crate::client::{Door, Request, initialize};

const PING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
const NOTE: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;

#[tokio::test]
async fn a_session_lives_until_its_client_ends_it() {
    let door = Door::open().await;
    let session = door.session("2025-11-25").await;
    let own = |request: Request| request.with("Mcp-Session-Id", &session);
    let cases = [
        (own(Request::post(NOTE)), "202 "),
        (own(Request::post(PING)), "200 result"),
        (own(Request::post(PING)).with("MCP-Protocol-Version", "2025-11-25"), "200 result"),
        (own(Request::post(PING)).with("MCP-Protocol-Version", "1999-01-01"), "400 -32600"),
        (own(Request::get("/mcp")).with("MCP-Protocol-Version", "1999-01-01"), "400 -32600"),
        (own(Request::post(PING)).with("MCP-Protocol-Version", "2026-07-28"), "400 -32602"),
        (own(own(Request::post(PING))), "404 -32600"),
        (Request::post(PING).with("Mcp-Session-Id", "0123456789abcdef0123456789abcdef"), "404 -32600"),
        (Request::get("/mcp").with("Mcp-Session-Id", "x"), "404 -32600"),
        (Request::new("DELETE", "/mcp").with("Mcp-Session-Id", "x"), "404 -32600"),
        (own(Request::new("DELETE", "/mcp")), "204 "),
        (own(Request::post(PING)), "404 -32600"),
        (own(Request::post(NOTE)), "404 -32600"),
        (own(Request::get("/mcp")), "404 -32600"),
        (own(Request::new("DELETE", "/mcp")), "404 -32600"),
        (own(Request::post(&initialize("2025-11-25"))), "200 result"),
    ];
    for (request, expected) in cases {
        let answer = door.ask(&request).await;
        assert_eq!(answer.brief(), expected, "{request}\n{answer:?}");
    }
    door.close().await;
}

#[tokio::test]
async fn batches_are_for_one_revision_only() {
    let door = Door::open().await;
    let batch = format!("[{PING},{NOTE}]");
    for (revision, expected) in
        [("2024-11-05", 400), ("2025-03-26", 200), ("2025-06-18", 400), ("2025-11-25", 400)]
    {
        let session = door.session(revision).await;
        let answer = door.ask(&Request::post(&batch).with("Mcp-Session-Id", &session)).await;
        assert_eq!(answer.status, expected, "{revision} {answer:?}");
    }
    assert_eq!(door.ask(&Request::post(&batch)).await.status, 200, "the revision of whoever says none");
    door.close().await;
}

#[tokio::test]
async fn a_client_is_asked_on_the_stream_of_its_call_and_answers_by_post() {
    let door = Door::open().await;
    let hello = initialize("2025-11-25").replace(r#""capabilities":{}"#, r#""capabilities":{"roots":{}}"#);
    let opened = door.ask(&Request::post(&hello)).await;
    let session = opened.header("mcp-session-id").expect("a session").to_owned();
    let own = |request: Request| request.with("Mcp-Session-Id", &session);
    let call = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ask","arguments":{"requests":{"where":{"method":"roots/list"}}}}}"#;
    let mut stream = door.connect().await;
    stream.send(&own(Request::post(call))).await;
    assert_eq!(stream.head().await.status, 200);
    assert_eq!(stream.events(2).await, ["1-0 ", "1-1 roots/list"]);
    // The first request of ours, whatever its id: all that could be are answered, and those of others to no effect.
    let stranger = door.session("2025-11-25").await;
    for id in 0..4 {
        let answer = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"roots":[]}}}}"#);
        let sent = Request::post(&answer).with("Mcp-Session-Id", &stranger);
        assert_eq!(door.ask(&sent).await.brief(), "202 ");
    }
    for id in 0..4 {
        let answer = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"roots":[]}}}}"#);
        assert_eq!(door.ask(&own(Request::post(&answer))).await.brief(), "202 ");
    }
    assert_eq!(stream.events(9).await, ["1-2 result of 1", "end"]);
    door.close().await;
}

/// Clients at once; all of them count their requests from 0.
const CLIENTS: usize = 64;
const CALLS: usize = 25;

#[tokio::test]
async fn answers_find_the_client_who_asked() {
    let door = Door::open().await;
    let client = async |number: usize| {
        let session = if number.is_multiple_of(2) { Some(door.session("2025-11-25").await) } else { None };
        let mut connection = door.connect().await;
        for id in 0..CALLS {
            let text = format!("client {number} call {id}");
            let params = format!(r#""name":"shout","arguments":{{"text":"{text}"}}"#);
            let request = match &session {
                Some(session) => {
                    let call = format!(
                        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{{params}}}}}"#
                    );
                    Request::post(&call).with("Mcp-Session-Id", session)
                }
                None => Request::modern("tools/call", &params).with("Mcp-Name", "shout"),
            };
            connection.send(&request).await;
            let answer = connection.answer().await;
            assert!(answer.body.contains(&text.to_uppercase()), "{text}: {answer:?}");
        }
    };
    join_all((0..CLIENTS).map(client)).await;
    door.close().await;
}
