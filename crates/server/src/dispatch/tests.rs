//! Frames in, frames out, in every revision.

mod actions;
mod allocations;
mod approvals;
mod crossing;
mod eras;
mod in_run;
mod jobs;
mod listening;
mod rounds;
mod unasked;

use std::time::{Duration, Instant};

use bytes::Bytes;
use expect_test::{Expect, expect};
use futures_util::FutureExt;
use gate::{Caller, RateConfig, Via};
use testkit::{SampleGate, Watched, offer_sample_source};
use tokio::sync::mpsc;
use wire::{Code, Frame, Revision};

use super::*;
use crate::Instructions;
use crate::outgoing::Outbox;

/// What every wait for an outcome is given; only a failing test needs it.
const PATIENCE: Duration = Duration::from_secs(20);

/// A conversation in one revision.
struct Talk {
    server: Arc<Server>,
    session: Arc<Session>,
    outbox: Option<Outbox>,
    reports: mpsc::Receiver<Vec<u8>>,
    waiting: Vec<Later>,
    /// The code of the error that was answered last.
    code: Option<Code>,
    watched: Watched,
    sample: SampleGate,
}

fn kind() -> Instructions {
    let instructions = Instructions::default();
    instructions.store(Some(Arc::new("be kind".into())));
    instructions
}

impl Talk {
    /// Over the plain sample tools.
    fn new(revision: Revision) -> Talk {
        Talk::over(SampleGate::new(), revision)
    }

    /// Over the sample source, too.
    fn with_source(revision: Revision) -> Talk {
        let sample = SampleGate::new();
        let watched = offer_sample_source(sample.gate.catalog());
        Talk { watched, ..Talk::over(sample, revision) }
    }

    fn over(sample: SampleGate, revision: Revision) -> Talk {
        let (outbox, reports) = mpsc::channel(64);
        Talk {
            server: Server::new(sample.gate.clone(), kind()),
            session: Session::new(Caller::local_user(Via::Stdio), revision),
            outbox: Some(outbox),
            reports,
            waiting: Vec::new(),
            code: None,
            watched: Watched::default(),
            sample,
        }
    }

    /// The same for a legacy client that has said what it can do.
    fn introduced(self, capabilities: &str) -> Talk {
        let capabilities = Text::check(Bytes::copy_from_slice(capabilities.as_bytes())).expect("sound");
        self.session.introduce(crate::abilities::usable(Some(&capabilities), self.session.revision()), None);
        self
    }

    /// Says one frame; what comes back at once, as one line for each frame. Calls that wait are kept.
    fn say(&mut self, frame: &str) -> String {
        let outbox = self.outbox.clone();
        let mut open = || outbox.clone();
        let mut out = Vec::new();
        let now = match Frame::parse(Bytes::copy_from_slice(frame.as_bytes())) {
            Ok(Frame::Single(message)) => {
                dispatch(&self.server, &self.session, Ok(message), &mut open, &mut out)
            }
            Ok(Frame::Batch(messages)) => match batch(&self.server, &self.session, messages, &mut open) {
                Ok(later) => later.map_or(Now::Nothing, Now::Later),
                Err(error) => {
                    write::error(&mut out, None, &error);
                    Now::Written(Some(error.code))
                }
            },
            Err(rejected) => dispatch(&self.server, &self.session, Err(rejected), &mut open, &mut out),
        };
        match now {
            Now::Nothing => assert!(out.is_empty()),
            Now::Written(code) => {
                self.code = code;
                assert_eq!(code.is_some(), String::from_utf8_lossy(&out).contains("\"error\":{"));
            }
            Now::Later(later) => self.waiting.push(later),
        }
        lines([out]) + &self.rest()
    }

    /// What the calls that waited have come to, and what they have told before.
    fn rest(&mut self) -> String {
        let mut answers = Vec::new();
        self.waiting.retain_mut(|later| match later.now_or_never() {
            Some(answer) => {
                answers.extend(answer);
                false
            }
            None => true,
        });
        let mut told = lines(std::iter::from_fn(|| self.reports.try_recv().ok()));
        for answer in answers {
            self.code = answer.code;
            told += &lines([answer.frame]);
        }
        told
    }

    /// What is said next. A call that may change something runs only when the disk has it, so nothing of it is to
    /// be heard at once.
    async fn hear(&mut self) -> String {
        let mut told = String::new();
        until("something is said", || {
            told = self.rest();
            !told.is_empty()
        })
        .await;
        told
    }

    /// Says one frame; what comes back first.
    async fn say_and_hear(&mut self, frame: &str) -> String {
        match self.say(frame) {
            told if told.is_empty() => self.hear().await,
            told => told,
        }
    }

    /// A request of this era, under the id 1, and what comes back first.
    async fn ask(&mut self, method: &str, params: &str) -> String {
        self.say_and_hear(&request(method, params)).await
    }
}

/// Lets what goes on beside the conversation go on until something has come about. No time passes for a clock that
/// stands still: a runtime with nothing to do but wait would set it forward.
async fn until(what: &str, mut has_come: impl FnMut() -> bool) {
    let since = Instant::now();
    while !has_come() {
        assert!(since.elapsed() < PATIENCE, "waited too long until {what}");
        tokio::task::yield_now().await;
    }
}

/// Lets it go on until so much is watched.
async fn settle(watched: &Watched, expected: i64) {
    let count = || watched.lock().expect("nothing panics with the lock").values().sum::<i64>();
    until(&format!("{expected} resources are watched"), || count() == expected).await;
}

/// A legacy request under the id 1.
fn request(method: &str, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#)
}

/// The same as a modern one, by a client with these capabilities.
fn modern(method: &str, params: &str, capabilities: &str) -> String {
    modern_with(method, params, capabilities, "")
}

/// The same with more members in `_meta`, each behind a comma.
fn modern_with(method: &str, params: &str, capabilities: &str, more: &str) -> String {
    let own = params.trim().strip_prefix('{').expect("an object");
    let comma = if own.trim() == "}" { "" } else { "," };
    let meta = format!(
        r#"{{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{capabilities}{more}}}"#
    );
    request(method, &format!(r#"{{"_meta":{meta}{comma}{own}"#))
}

fn lines(frames: impl IntoIterator<Item = Vec<u8>>) -> String {
    let frames = frames.into_iter().filter(|frame| !frame.is_empty());
    frames.map(|frame| String::from_utf8(frame).expect("frames are UTF-8") + "\n").collect()
}

#[track_caller]
fn check(revision: Revision, frame: &str, expected: Expect) {
    expected.assert_eq(&Talk::new(revision).say(frame));
}

#[test]
fn the_handshake_settles_on_a_revision() {
    for revision in Revision::ALL.into_iter().filter(|revision| !revision.is_modern()) {
        let mut talk = Talk::new(Revision::LATEST_LEGACY);
        let hello = format!(
            r#"{{"jsonrpc":"2.0","id":"a","method":"initialize","params":{{"protocolVersion":"{}"}}}}"#,
            revision.name()
        );
        assert!(talk.say(&hello).contains(&format!(r#""protocolVersion":"{}""#, revision.name())));
        assert_eq!(talk.session.revision(), revision);
        assert_eq!(talk.say(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#), "");
    }
    check(
        Revision::LATEST_LEGACY,
        r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2026-07-28"}}"#,
        expect![[r#"
            {"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"toolcrib","version":"0.1.0"},"instructions":"A call may need a person's word: where one is refused since nobody has answered yet, go on without it, and make it again, with the same arguments, when the person says so. `[REDACTED:NAME]` stands in place of a secret; do not write it anywhere.\n\nbe kind"}}
        "#]],
    );
    check(
        Revision::LATEST_LEGACY,
        r#"{"jsonrpc":"2.0","id":1,"method":"initialize"}"#,
        expect![[r#"
        {"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"Invalid params: initialize needs the string \"protocolVersion\""}}
    "#]],
    );
}

#[test]
fn a_result_has_the_form_of_its_revision() {
    let echo = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":"é\n"}}}"#;
    check(
        Revision::V2024_11_05,
        echo,
        expect![[r#"
        {"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"é\n"},{"type":"resource","resource":{"uri":"toolcrib:audio","mimeType":"audio/wav","blob":""}}],"isError":false}}
    "#]],
    );
    check(
        Revision::V2025_03_26,
        echo,
        expect![[r#"
        {"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"é\n"},{"type":"audio","data":"","mimeType":"audio/wav"}],"isError":false}}
    "#]],
    );
    let shout = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"shout","arguments":{"text":"a"}}}"#;
    check(
        Revision::V2025_03_26,
        shout,
        expect![[r#"
        {"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"A"}],"isError":false}}
    "#]],
    );
    check(
        Revision::V2025_06_18,
        shout,
        expect![[r#"
        {"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"A"}],"structuredContent":{"text":"A"},"isError":false}}
    "#]],
    );
    check(
        Revision::V2025_11_25,
        shout,
        expect![[r#"
        {"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"A"}],"structuredContent":{"text":"A"},"isError":false}}
    "#]],
    );
}

#[test]
fn a_list_has_the_form_of_its_revision_and_pages() {
    let list = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}"#;
    let first = |revision: Revision| {
        let told = Talk::new(revision).say(list);
        let end = told.find(r#","inputSchema"#).expect("a schema");
        told[..end].to_owned()
    };
    expect![[r#"{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"echo","description":"a sample""#]]
        .assert_eq(&first(Revision::V2024_11_05));
    expect![[r#"{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"echo","title":"Sample","description":"a sample""#]].assert_eq(&first(Revision::V2025_11_25));
    let after = wire::cursor::after("steps");
    let page = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{{"cursor":"{after}"}}}}"#);
    let told = Talk::new(Revision::LATEST_LEGACY).say(&page);
    let names: Vec<_> = told.matches(r#""name":""#).collect();
    assert!(
        names.len() == 2 && told.contains(r#""name":"wait""#) && told.contains(r#""name":"fail""#),
        "{told}"
    );
    check(
        Revision::LATEST_LEGACY,
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"5"}}"#,
        expect![[r#"
            {"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"Invalid params: this cursor was not made here; ask again without one"}}
        "#]],
    );
}

#[test]
fn our_own_list_is_told_as_it_was_built_and_one_with_others_in_it_without_secrets() {
    let list = |kind: &str, with_others: bool| {
        let sample = SampleGate::new();
        sample.plant(&["a sample", "greet"]);
        let _watched = with_others.then(|| offer_sample_source(sample.gate.catalog()));
        let request = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{kind}/list","params":{{}}}}"#);
        Talk::over(sample, Revision::LATEST_LEGACY).say(&request)
    };
    let ours = list("tools", false);
    assert!(ours.contains(r#""description":"a sample""#) && !ours.contains("REDACTED"), "{ours}");
    for (kind, secret) in [("tools", "a sample"), ("prompts", "greet")] {
        let told = list(kind, true);
        assert!(told.contains("[REDACTED:PLANTED]") && !told.contains(secret), "{told}");
    }
}

#[test]
fn what_is_refused_repeats_no_secret() {
    let secret = ["ghp_", "wWPw5k4aXcaT4fNP0UcnZwJUVFk6LO0pINUx"].concat();
    let meta = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"SECRET"}"#;
    for (frame, expected) in [
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"SECRET"}"#.to_owned(),
            "Method not found: [REDACTED:github-pat]",
        ),
        // It would be cut in its middle.
        (
            format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{} SECRET"}}"#, "x".repeat(80)),
            "xx [REDACTED:github-pa",
        ),
        (
            format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{{{meta}}}}}"#),
            "Unsupported protocol version: [REDACTED:github-pat]",
        ),
    ] {
        let told = Talk::new(Revision::LATEST_LEGACY).say(&frame.replace("SECRET", &secret));
        assert!(told.contains(expected) && !told.contains("ghp_"), "{told}");
    }
}

#[test]
fn wrong_requests_get_the_code_that_fits() {
    check(
        Revision::LATEST_LEGACY,
        "nonsense",
        expect![[r#"
        {"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error: not JSON at byte 0"}}
    "#]],
    );
    check(
        Revision::LATEST_LEGACY,
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/calls"}"#,
        expect![[r#"
        {"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"Method not found: tools/calls"}}
    "#]],
    );
    check(
        Revision::LATEST_LEGACY,
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"nothing"}}"#,
        expect![[r#"
            {"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"Unknown tool: nothing"}}
        "#]],
    );
    check(
        Revision::LATEST_LEGACY,
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"toolcrib_Echo"}}"#,
        expect![[r#"
            {"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"Unknown tool: toolcrib_Echo; the nearest are echo"}}
        "#]],
    );
    check(
        Revision::LATEST_LEGACY,
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":[]}}"#,
        expect![[r#"
            {"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"Invalid params: \"arguments\" must be an object"}}
        "#]],
    );
    check(
        Revision::LATEST_LEGACY,
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":1}}}"#,
        expect![[r#"
            {"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"the arguments do not fit `echo`:\n- /text: expected string, got integer 1"}],"_meta":{"toolcrib/error":{"code":"invalid_arguments","details":{"violations":[{"expected":"string","found":"integer 1","pointer":"/text"}]},"message":"the arguments do not fit `echo`:\n- /text: expected string, got integer 1"}},"isError":true}}
        "#]],
    );
    check(
        Revision::LATEST_LEGACY,
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"fail","arguments":{"text":"no"}}}"#,
        expect![[r#"
            {"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"no"}],"_meta":{"toolcrib/error":{"code":"sample_failure","message":"no"}},"isError":true}}
        "#]],
    );
}

#[test]
fn a_caller_that_asks_too_often_is_told_so() {
    let mut talk =
        Talk::over(SampleGate::with_rate(RateConfig { per_second: 1, burst: 1 }), Revision::LATEST_LEGACY);
    let call = |id| {
        format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"shout","arguments":{{"text":"a"}}}}}}"#
        )
    };
    assert!(talk.say(&call(1)).contains("\"result\""));
    let told = talk.say(&call(2));
    assert!(
        told.contains(r#""code":-32000,"message":"Rate limit exceeded. Please try again later.""#),
        "{told}"
    );
    assert!(told.contains(r#""retry_after_ms":"#), "{told}");
}

#[test]
fn notifications_and_stray_answers_are_never_answered() {
    for frame in [
        r#"{"jsonrpc":"2.0","method":"tools/list"}"#,
        r#"{"jsonrpc":"2.0","method":"tools/call","params":{"name":"echo"}}"#,
        r#"{"jsonrpc":"2.0","method":"whatever","params":5}"#,
        r#"{"jsonrpc":"2.0","id":9,"result":{}}"#,
        r#"{"jsonrpc":"2.0","id":9,"error":{"code":1,"message":""}}"#,
    ] {
        check(Revision::LATEST_LEGACY, frame, expect![[""]]);
    }
}

#[tokio::test]
async fn progress_comes_before_the_answer_under_the_clients_token() {
    let call = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"steps","arguments":{"text":"m"},"_meta":{"progressToken":"t\u0031"}}}"#;
    check(
        Revision::V2024_11_05,
        call,
        expect![[r#"
        {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"t\u0031","progress":1,"total":2}}
        {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"t\u0031","progress":2,"total":2}}
        {"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"done"}],"isError":false}}
    "#]],
    );
    check(
        Revision::V2025_11_25,
        call,
        expect![[r#"
        {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"t\u0031","progress":1,"total":2,"message":"m"}}
        {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"t\u0031","progress":2,"total":2,"message":"m"}}
        {"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"done"}],"structuredContent":{"text":"done"},"isError":false}}
    "#]],
    );
}

#[tokio::test]
async fn a_cancelled_call_is_not_answered_and_the_others_go_on() {
    let mut talk = Talk::new(Revision::LATEST_LEGACY);
    let wait = |id: u32| {
        format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"wait","arguments":{{"text":""}}}}}}"#
        )
    };
    assert_eq!(talk.say(&wait(1)), "");
    let again = talk.say(&wait(1));
    assert!(again.contains("-32600") && again.contains("has not been answered yet"), "{again}");
    assert_eq!(talk.say(&wait(2)), "");
    assert!(talk.say(r#"{"jsonrpc":"2.0","id":3,"method":"ping"}"#).contains(r#""id":3,"result":{}"#));
    let cancel =
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,"reason":"x"}}"#;
    assert_eq!(talk.say(cancel), "");
    assert_eq!(talk.rest(), "", "a cancelled call has no answer, the other has none yet");
    assert_eq!(talk.say(&wait(1)), "", "its id is free again");
}

#[tokio::test]
async fn a_call_that_is_cancelled_while_it_waits_for_the_disk_does_not_run() {
    let mut talk = Talk::new(Revision::LATEST_LEGACY);
    let walk = testkit::offer_walk(talk.server.gate().catalog());
    assert_eq!(talk.say(&request("tools/call", r#"{"name":"walk","arguments":{"steps":0}}"#)), "");
    let cancel = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#;
    assert_eq!(talk.say(cancel), "");
    until("the call is over", || talk.rest().is_empty() && talk.waiting.is_empty()).await;
    assert_eq!(walk.begun_unasked(), 0, "it was not let in any more");
}

#[test]
fn a_batch_is_answered_as_one_where_there_are_batches() {
    let batch = r#"[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","method":"n"},5,
        {"jsonrpc":"2.0","id":2,"method":"initialize","params":{"protocolVersion":"2025-06-18"}},
        {"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"shout","arguments":{"text":"a"}}}]"#;
    check(
        Revision::V2025_03_26,
        batch,
        expect![[r#"
        [{"jsonrpc":"2.0","id":1,"result":{}},{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid request: a message must be a JSON object"}},{"jsonrpc":"2.0","id":2,"error":{"code":-32600,"message":"Invalid request: initialize must not be in a batch"}},{"jsonrpc":"2.0","id":3,"result":{"content":[{"type":"text","text":"A"}],"isError":false}}]
    "#]],
    );
    check(Revision::V2025_03_26, r#"[{"jsonrpc":"2.0","method":"n"}]"#, expect![[""]]);
    for revision in [Revision::V2024_11_05, Revision::V2025_06_18, Revision::V2025_11_25] {
        let told = Talk::new(revision).say(batch);
        assert!(told.contains("-32600") && told.contains("has no batches"), "{told}");
    }
}
