//! Streams that break, are taken over, and go on; and calls that are given up, or are not.

use crate::client::{Connection, Door, Request};

fn walk(steps: u32) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"walk","arguments":{{"steps":{steps}}},"_meta":{{"progressToken":7}}}}}}"#
    )
}

fn in_session(request: Request, session: &str) -> Request {
    request.with("Mcp-Session-Id", session)
}

async fn begin(door: &Door, session: &str, steps: u32) -> Connection {
    let mut connection = door.connect().await;
    connection.send(&in_session(Request::post(&walk(steps)), session)).await;
    door.walk.allow(1);
    let head = connection.head().await;
    assert_eq!((head.status, head.header("content-type")), (200, Some("text/event-stream")));
    assert_eq!(head.header("x-accel-buffering"), Some("no"));
    connection
}

async fn listen(door: &Door, session: &str, last: Option<&str>) -> Connection {
    let mut connection = door.connect().await;
    let request = in_session(Request::get("/mcp"), session);
    let request = last.into_iter().fold(request, |request, last| request.with("Last-Event-ID", last));
    connection.send(&request).await;
    assert_eq!(connection.head().await.status, 200);
    connection
}

#[tokio::test]
async fn a_stream_that_broke_goes_on_where_it_broke() {
    let door = Door::open().await;
    let session = door.session("2025-11-25").await;
    let mut first = begin(&door, &session, 3).await;
    assert_eq!(first.events(2).await, ["1-0 ", "1-1 progress 1"]);
    drop(first);
    // The call goes on by itself.
    door.walk.allow(2);
    let mut second = listen(&door, &session, Some("1-1")).await;
    assert_eq!(second.events(3).await, ["1-1 ", "1-2 progress 2", "1-3 progress 3"]);
    // The client says that the third did not arrive whole.
    let mut third = listen(&door, &session, Some("1-2")).await;
    assert_eq!(second.events(1).await, ["end"], "one reader at a time");
    assert_eq!(third.events(2).await, ["1-2 ", "1-3 progress 3"]);
    door.walk.allow(1);
    assert_eq!(third.events(2).await, ["1-4 result of 1", "end"]);
    // It has ended, but its end can still be had by a client that missed it.
    let mut late = listen(&door, &session, Some("1-3")).await;
    assert_eq!(late.events(9).await, ["1-3 ", "1-4 result of 1", "end"]);
    door.close().await;
}

#[tokio::test]
async fn older_revisions_get_no_empty_event() {
    let door = Door::open().await;
    for revision in ["2025-03-26", "2025-06-18"] {
        let session = door.session(revision).await;
        let mut stream = begin(&door, &session, 1).await;
        door.walk.allow(1);
        assert_eq!(stream.events(9).await, ["1-1 progress 1", "1-2 result of 1", "end"]);
    }
    let mut alone = door.connect().await;
    alone.send(&Request::post(&walk(1))).await;
    door.walk.allow(2);
    assert_eq!(alone.head().await.status, 200);
    assert_eq!(alone.events(9).await, ["- progress 1", "- result of 1", "end"], "nothing to resume in");
    door.close().await;
}

#[tokio::test]
async fn nothing_is_given_for_what_never_was() {
    let door = Door::open().await;
    let session = door.session("2025-11-25").await;
    let mut stream = begin(&door, &session, 1).await;
    door.walk.allow(1);
    stream.events(9).await;
    let other = door.session("2025-11-25").await;
    let cases = [
        (&session, "1-2", 400),
        (&session, "1-7", 400),
        (&session, "9-0", 400),
        (&session, "0-1", 400),
        (&session, "nonsense", 400),
        (&session, "", 400),
        (&other, "1-0", 400),
        (&"no-such".to_owned(), "1-0", 404),
    ];
    for (session, last, status) in cases {
        let request = in_session(Request::get("/mcp"), session).with("Last-Event-ID", last);
        assert_eq!(door.ask(&request).await.status, status, "{session} {last}");
    }
    let twice = in_session(Request::get("/mcp"), &session).with("Last-Event-ID", "1-0");
    assert_eq!(door.ask(&twice.with("Last-Event-ID", "1-1")).await.status, 400);
    door.close().await;
}

#[tokio::test]
async fn the_standing_stream_has_one_reader_and_loses_nothing_in_between() {
    let door = Door::open().await;
    let session = door.session("2025-06-18").await;
    let list = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
    assert_eq!(door.ask(&in_session(Request::post(list), &session)).await.status, 200);
    const CHANGED: &str = "notifications/tools/list_changed";

    let mut first = listen(&door, &session, None).await;
    door.offer_more(true);
    assert_eq!(first.events(1).await, [format!("0-1 {CHANGED}")]);
    let mut thief = listen(&door, &session, None).await;
    assert_eq!(first.events(1).await, ["end"]);
    assert_eq!(door.ask(&in_session(Request::post(list), &session)).await.status, 200);
    door.offer_more(false);
    assert_eq!(thief.events(1).await, [format!("0-2 {CHANGED}")]);
    drop((first, thief));

    // While nobody listens.
    assert_eq!(door.ask(&in_session(Request::post(list), &session)).await.status, 200);
    door.offer_more(true);
    let mut next = listen(&door, &session, None).await;
    assert_eq!(next.events(1).await, [format!("0-3 {CHANGED}")]);
    let mut behind = listen(&door, &session, Some("0-1")).await;
    assert_eq!(behind.events(2).await, [format!("0-2 {CHANGED}"), format!("0-3 {CHANGED}")]);

    let ended = door.ask(&in_session(Request::new("DELETE", "/mcp"), &session)).await;
    assert_eq!(ended.status, 204);
    assert_eq!(behind.events(1).await, ["end"]);
    door.close().await;
}

#[tokio::test]
async fn hanging_up_cancels_in_the_modern_revision() {
    let door = Door::open().await;
    let meta = r#""io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"progressToken":7"#;
    let call = Request::modern_with("tools/call", r#""name":"walk","arguments":{"steps":2}"#, meta);
    let call = call.with("Mcp-Name", "walk");
    // Before anything was said, and after.
    for steps in [0, 1] {
        let mut connection = door.connect().await;
        connection.send(&call).await;
        door.walk.allow(steps);
        door.walk.begun().await;
        if steps > 0 {
            assert_eq!(connection.head().await.status, 200);
            assert_eq!(connection.events(1).await, ["- progress 1"]);
        }
        drop(connection);
        door.walk.given_up().await;
    }
    door.walk.allow(3);
    let mut whole = door.connect().await;
    whole.send(&call).await;
    assert_eq!(whole.head().await.header("x-accel-buffering"), Some("no"));
    assert_eq!(whole.events(9).await, ["- progress 1", "- progress 2", "- result of 1", "end"]);
    door.close().await;
}

#[tokio::test]
async fn a_subscription_is_a_stream_from_its_first_moment_to_the_end_of_the_door() {
    let door = Door::open().await;
    let mut listening = door.connect().await;
    let filter = r#""notifications":{"toolsListChanged":true}"#;
    listening.send(&Request::modern("subscriptions/listen", filter)).await;
    let head = listening.head().await;
    assert_eq!((head.status, head.header("content-type")), (200, Some("text/event-stream")));
    assert_eq!(head.header("mcp-session-id"), None);
    assert_eq!(listening.events(1).await, ["- notifications/subscriptions/acknowledged"]);
    door.offer_more(true);
    assert_eq!(listening.events(1).await, ["- notifications/tools/list_changed"]);
    door.close().await;
    assert_eq!(listening.events(9).await, ["- result of 1", "end"]);
}
