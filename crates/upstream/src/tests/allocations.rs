//! How many allocations the text of one forwarded call costs on the upstream's side: writing the request, and
//! reading its answer. The steps are written out here once more, as `RemoteTool`, `Connection::request`, `Stdio::send`,
//! `stdio::read` and `Exchange::take_in` take them: what these allocate besides is not counted, and a step that they gain
//! must be added here. The client's side of a call is counted in `server`.

use allocation_counter::measure;
use bytes::{BufMut, Bytes};
use expect_test::{Expect, expect};
use tool_api::{Client, Context, Payload};
use wire::lines::end_line;
use wire::relayed::Relayed;
use wire::{Frame, Line, Lines, Message, Revision, tools};

use crate::answer::tests::context;
use crate::answer::{Asked, Reader};
use crate::connection::{Answer, Envelope, Request};
use crate::settings::Mask;
use crate::uri_map::UriMap;

/// Calls of which the average is taken. The buffers are made anew now and then, far less than once in a call;
/// that shows behind the point.
const CALLS: u64 = 1_000;

const ARGUMENTS: &str =
    r#"{"message":"a message of a common length, with \"quotes\" in it","options":{"loud":true,"times":3}}"#;

const LEGACY_RESULT: &str = r#"{"content":[{"type":"text","text":"a message of a common length, with \"quotes\" in it"}],"isError":false}"#;

const MODERN_RESULT: &str = r#"{"resultType":"complete","content":[{"type":"text","text":"a message of a common length, with \"quotes\" in it"}],"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"server","version":"3.2.1"}}}"#;

const LEGACY_META: &str = r#"{"progressToken":17}"#;

const MODERN_META: &str = r#"{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"client","version":"1.2.3"},"io.modelcontextprotocol/clientCapabilities":{"elicitation":{"form":{},"url":{}},"sampling":{},"roots":{}}}"#;

const TRACED_META: &str = r#"{"traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}"#;

/// What a connection keeps from call to call, and what is the same in each.
struct Kept {
    revision: Revision,
    envelope: Envelope,
    lines: Lines,
    map: UriMap,
    cx: Context,
}

/// One call, which the server answers with `answer`.
fn call(kept: &mut Kept, id: u64, answer: &str) {
    let params = tools::write_call("echo", Some(ARGUMENTS), &Relayed::default());
    let params = kept.envelope.put(params, Some(&kept.cx), None, id);
    let modern = kept.revision.is_modern();
    let request = Request { method: "tools/call", params, name: Some("echo"), ..Request::default() };
    let mut message = request.message(id);
    end_line(&mut message, 0);

    let room = kept.lines.room();
    room.put_slice(answer.as_bytes());
    room.put_u8(b'\n');
    let Some(Line::Whole(line)) = kept.lines.next_line() else { panic!("a whole line came") };
    let Ok(Frame::Single(Message::Response { answer: Ok(result), .. })) = Frame::parse(line) else {
        panic!("it is a result")
    };
    let reader = Reader {
        upstream: "it",
        map: &kept.map,
        mask: &Mask::default(),
        is_modern: modern,
        asked: Asked::Call,
    };
    let outcome = reader.outcome(&Answer::Result(result), &kept.cx).expect("the sample is sound");
    assert!(matches!(outcome.payload, Payload::Relayed { .. }));
}

/// `meta` is the `_meta` of the client.
#[track_caller]
fn check(revision: Revision, meta: Option<&'static str>, result: &str, expected: Expect) {
    let client = Client {
        capabilities: Bytes::from_static(br#"{"elicitation":{"form":{},"url":{}},"sampling":{},"roots":{}}"#),
        info: Some(Bytes::from_static(br#"{"name":"client","version":"1.2.3"}"#)),
        ..Client::default()
    };
    let meta = meta.map(|meta| Bytes::from_static(meta.as_bytes()));
    let cx = Context { client, meta, ..context("{}") };
    let envelope = Envelope::new(revision, r#"{"name":"toolcrib","version":"1"}"#.to_owned());
    let (lines, map) = (Lines::new(wire::STDIO_MESSAGE_BYTES_MAX), UriMap::new("it"));
    let mut kept = Kept { revision, envelope, lines, map, cx };
    let answer = format!(r#"{{"jsonrpc":"2.0","id":4711,"result":{result}}}"#);
    // What is made once in the life of a connection is made here.
    call(&mut kept, 1, &answer);
    let counted = measure(|| (0..CALLS).for_each(|number| call(&mut kept, number, &answer)));
    let (whole, rest) = (counted.count_total / CALLS, counted.count_total % CALLS);
    expected.assert_eq(&format!("{whole}.{:02}", rest * 100 / CALLS));
}

#[test]
fn parsing_and_writing_the_text_of_a_call_hardly_allocates() {
    for meta in [None, Some(LEGACY_META), Some(MODERN_META)] {
        check(Revision::LATEST_LEGACY, meta, LEGACY_RESULT, expect!["2.00"]);
        check(Revision::MODERN, meta, MODERN_RESULT, expect!["2.00"]);
    }
    // What the client says besides is passed on, so the envelope is written anew.
    check(Revision::LATEST_LEGACY, Some(TRACED_META), LEGACY_RESULT, expect!["3.00"]);
    check(Revision::MODERN, Some(TRACED_META), MODERN_RESULT, expect!["3.00"]);
}
