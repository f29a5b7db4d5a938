//! How many allocations `wire` and `reply` spend on the text of one forwarded call: reading the client's frame, and writing
//! its answer. The steps are written out here once more, as `stdio`, `dispatch` and `dispatch/calls` take them: what
//! these allocate besides, and the gate between them, is not counted, and a step that they gain must be added here. The
//! upstream's side of a call is counted in `upstream`.

use allocation_counter::measure;
use bytes::{BufMut, Bytes};
use expect_test::{Expect, expect};
use gate::{Outcome, Payload};
use wire::lines::end_line;
use wire::{Frame, Line, Lines, Message, Revision, meta, tools};

use crate::reply::{self, About, RequestFacts};

/// Calls of which the average is taken. The buffers of the door are made anew now and then, far less than once in
/// a call; that shows behind the point.
const CALLS: u64 = 1_000;

const LEGACY_CALL: &str = r#"{"jsonrpc":"2.0","id":17,"method":"tools/call","params":{"name":"everything_echo","arguments":{"message":"a message of a common length, with \"quotes\" in it","options":{"loud":true,"times":3}},"_meta":{"progressToken":17}}}"#;

const MODERN_CALL: &str = r#"{"jsonrpc":"2.0","id":17,"method":"tools/call","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"client","version":"1.2.3"},"io.modelcontextprotocol/clientCapabilities":{"elicitation":{"form":{},"url":{}},"sampling":{},"roots":{}},"progressToken":17},"name":"everything_echo","arguments":{"message":"a message of a common length, with \"quotes\" in it","options":{"loud":true,"times":3}}}}"#;

const LEGACY_RESULT: &str = r#"{"content":[{"type":"text","text":"a message of a common length, with \"quotes\" in it"}],"isError":false}"#;

const MODERN_RESULT: &str = r#"{"resultType":"complete","content":[{"type":"text","text":"a message of a common length, with \"quotes\" in it"}],"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"server","version":"3.2.1"}}}"#;

/// What a door keeps from call to call.
struct Buffers {
    lines: Lines,
    output: Vec<u8>,
}

/// One call: `frame` comes in, and `result` is what the gate gives.
fn call(buffers: &mut Buffers, frame: &str, result: &Bytes) {
    let room = buffers.lines.room();
    room.put_slice(frame.as_bytes());
    room.put_u8(b'\n');
    let Some(Line::Whole(line)) = buffers.lines.next_line() else { panic!("a whole line came") };
    let Ok(Frame::Single(Message::Request { id, params, .. })) = Frame::parse(line) else {
        panic!("it is a request")
    };
    let envelope = meta::envelope(params.as_ref()).map(|envelope| envelope.expect("the sample is sound"));
    let revision = envelope.as_ref().map_or(Revision::LATEST_LEGACY, |envelope| envelope.revision);
    let params = tools::call_params(params.as_ref()).expect("the sample is sound");
    assert!(&*params.name == "everything_echo" && params.extras.progress_token.is_some());
    let asked = RequestFacts { revision, about: About::Tool(params.name), has_state: false };
    let payload = Payload::Relayed { result: result.clone(), structured: None };
    let reply = reply::answer(&asked, &id, Ok(Outcome::of(payload)));
    buffers.output.extend_from_slice(&reply.frame);
    end_line(&mut buffers.output, 0);
    buffers.output.clear();
}

#[track_caller]
fn check(frame: &str, result: &'static str, expected: Expect) {
    let result = Bytes::from_static(result.as_bytes());
    let mut buffers = Buffers { lines: Lines::new(wire::STDIO_MESSAGE_BYTES_MAX), output: Vec::new() };
    // What is made once in the life of a process or a door is made here.
    call(&mut buffers, frame, &result);
    let counted = measure(|| (0..CALLS).for_each(|_| call(&mut buffers, frame, &result)));
    let (whole, rest) = (counted.count_total / CALLS, counted.count_total % CALLS);
    expected.assert_eq(&format!("{whole}.{:02}", rest * 100 / CALLS));
}

#[test]
fn parsing_and_writing_the_text_of_a_call_hardly_allocates() {
    check(LEGACY_CALL, LEGACY_RESULT, expect!["1.00"]);
    check(MODERN_CALL, MODERN_RESULT, expect!["1.00"]);
    check(MODERN_CALL, LEGACY_RESULT, expect!["1.00"]);
    check(LEGACY_CALL, MODERN_RESULT, expect!["3.00"]);
}
