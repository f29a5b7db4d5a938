//! What an exchange makes of a server's messages.

use expect_test::{Expect, expect};
use tool_api::Progress;

use super::*;

/// A client that can be asked for everything.
fn caller(conversation: u64, capabilities: &'static str) -> Option<Caller> {
    let capabilities = Bytes::from_static(capabilities.as_bytes());
    let log_level = LogLevel::parse("warning");
    Some(Caller { conversation, capabilities, log_level, may_be_asked: true, habit: None, listener: None })
}

/// Notes what the caller of this number hears.
struct Heard(usize, Arc<Mutex<Vec<String>>>);

impl Heard {
    fn note(&self, what: &str, params: Bytes) {
        let params = String::from_utf8(params.to_vec()).expect("UTF-8");
        self.1.lock().expect("sound").push(format!("{} {what} {params}", self.0));
    }
}

impl tool_api::Listener for Heard {
    fn progress(&self, progress: Progress) {
        let Progress::Relayed(params) = progress else { panic!("not the server's") };
        self.note("reported", params);
    }

    fn log(&self, params: Bytes) {
        self.note("logged", params);
    }
}

/// Feeds `frames` to an exchange with these open requests, numbered from 1.
#[track_caller]
fn check_from(callers: &[Option<Caller>], modern: bool, frames: &[(&str, Via)], expected: Expect) {
    let exchange = Exchange::untraced();
    if modern {
        exchange.set_modern();
    }
    let heard = Arc::new(Mutex::new(Vec::new()));
    let begin = |(index, caller): (usize, &Option<Caller>)| {
        let listener = Some(Arc::new(Heard(index + 1, heard.clone())) as _);
        exchange.begin(caller.clone().map(|caller| Caller { listener, ..caller })).expect("open")
    };
    let mut waiting: Vec<_> = callers.iter().enumerate().map(begin).collect();
    let mut shown = Vec::new();
    for (frame, via) in frames {
        exchange.take_in(Bytes::copy_from_slice(frame.as_bytes()), *via, &mut |answer| {
            shown.push(format!("sent {}", String::from_utf8(answer).expect("UTF-8")));
        });
    }
    shown.append(&mut heard.lock().expect("sound"));
    for waiting in &mut waiting {
        let id = waiting.id;
        let task = &mut std::task::Context::from_waker(std::task::Waker::noop());
        while let std::task::Poll::Ready(next) = waiting.poll(task) {
            let is_over = matches!(next, Next::Answered(_));
            shown.push(format!("{id} {}", show(next)));
            if is_over {
                break;
            }
        }
    }
    let garbage = exchange.garbage.load(Ordering::Relaxed);
    if garbage > 0 {
        shown.push(format!("garbage {garbage}"));
    }
    expected.assert_eq(&shown.join("\n"));
}

fn show(next: Next) -> String {
    match next {
        Next::Answered(Ok(Ok(result))) => format!("result {}", result.as_str()),
        Next::Answered(Ok(Err(error))) => format!("error {}", error.as_str()),
        Next::Answered(Err(fault)) => format!("fault {fault}"),
        Next::Happened(Happening::Asked(question)) => format!("asked {} {:?}", question.id, question.kind),
        Next::Happened(Happening::Lacking(required)) => format!("lacks {required}"),
        Next::Happened(Happening::Acknowledged(params)) => format!("acknowledged {}", params.as_str()),
    }
}

/// The same with two requests of one client.
#[track_caller]
fn check(frames: &[&str], expected: Expect) {
    let frames: Vec<_> = frames.iter().map(|frame| (*frame, Via::Shared)).collect();
    check_from(&[caller(1, "{}"), caller(1, "{}")], false, &frames, expected);
}

#[test]
fn answers_and_reports_find_their_requests() {
    check(
        &[
            r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":3}}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":9,"progress":3}}"#,
            r#"{"jsonrpc":"2.0","id":2,"error":{"code":1,"message":"no"}}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":{"a": 1.0}}"#,
            r#"{"jsonrpc":"2.0","id":7,"result":{}}"#,
        ],
        expect![[r#"
            1 reported {"progressToken":1,"progress":3}
            1 result {"a": 1.0}
            2 error {"code":1,"message":"no"}"#]],
    );
}

#[test]
fn a_batch_is_taken_apart() {
    check(
        &[r#"[{"jsonrpc":"2.0","id":1,"result":{}},5,{"jsonrpc":"2.0","id":2,"result":{}}]"#],
        expect![[r#"
        1 result {}
        2 result {}
        garbage 1"#]],
    );
}

const PING: &str = r#"{"jsonrpc":"2.0","id":"p","method":"ping"}"#;
const ROOTS: &str = r#"{"jsonrpc":"2.0","id":0,"method":"roots/list"}"#;

#[test]
fn requests_of_the_server_are_answered_refused_or_passed_on() {
    let (all, roots) = ([PING, ROOTS], [(ROOTS, Via::Shared)]);
    let shared = all.map(|frame| (frame, Via::Shared));
    check_from(
        &[None],
        false,
        &shared,
        expect![[r#"
        sent {"jsonrpc":"2.0","id":"p","result":{}}
        sent {"jsonrpc":"2.0","id":0,"error":{"code":-32601,"message":"Method not found: roots/list"}}"#]],
    );
    check_from(
        &[caller(1, r#"{"roots":{}}"#)],
        true,
        &shared,
        expect![[r#"
        sent {"jsonrpc":"2.0","id":"p","error":{"code":-32600,"message":"servers of this revision send no requests"}}
        sent {"jsonrpc":"2.0","id":0,"error":{"code":-32600,"message":"servers of this revision send no requests"}}"#]],
    );
    check_from(
        &[caller(1, "{}")],
        false,
        &roots,
        expect![[
            r#"sent {"jsonrpc":"2.0","id":0,"error":{"code":-32601,"message":"Method not found: roots/list; the client of this call has not declared it"}}"#
        ]],
    );
    check_from(&[caller(1, r#"{"roots":{}}"#), None], false, &roots, expect!["1 asked 0 Roots"]);
    let strangers = [caller(1, r#"{"roots":{}}"#), caller(2, r#"{"roots":{}}"#)];
    check_from(&strangers, false, &roots, expect![""]);
    let answer = (r#"{"jsonrpc":"2.0","id":1,"result":{}}"#, Via::Shared);
    let answered = expect![[r#"
        1 result {}
        2 asked 0 Roots"#]];
    check_from(&strangers, false, &[roots[0], answer], answered);
    check_from(&strangers, false, &[(ROOTS, Via::Request(2))], expect!["2 asked 0 Roots"]);
    let unknown = r#"{"jsonrpc":"2.0","id":5,"method":"tools/list"}"#;
    check_from(
        &strangers,
        false,
        &[(unknown, Via::Request(2))],
        expect![[
            r#"sent {"jsonrpc":"2.0","id":5,"error":{"code":-32601,"message":"Method not found: tools/list"}}"#
        ]],
    );
}

#[test]
fn a_call_with_too_many_questions_gets_no_more() {
    let exchange = Exchange::untraced();
    let _waiting = exchange.begin(caller(1, r#"{"roots":{}}"#)).expect("open");
    let mut refused = 0;
    for _ in 0..100 {
        exchange.take_in(Bytes::from_static(ROOTS.as_bytes()), Via::Shared, &mut |_| refused += 1);
    }
    assert_eq!(refused, 100 - super::super::asked::QUESTIONS_MAX);
}

fn log(level: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","method":"notifications/message","params":{{"level":"{level}","data":1}}}}"#)
}

#[test]
fn log_messages_reach_only_the_call_that_they_belong_to_and_that_wants_them() {
    let (error, debug) = (log("error"), log("debug"));
    let (one, two) = (caller(1, "{}"), caller(2, "{}"));
    let frames = [(error.as_str(), Via::Shared), (debug.as_str(), Via::Shared)];
    check_from(&[one.clone(), None], false, &frames, expect![[r#"1 logged {"level":"error","data":1}"#]]);
    check_from(&[one.clone(), two.clone()], false, &frames, expect![[""]]);
    let frames = [(error.as_str(), Via::Request(2)), (debug.as_str(), Via::Request(2))];
    check_from(&[one, two], false, &frames, expect![[r#"2 logged {"level":"error","data":1}"#]]);
}

#[test]
fn subscriptions_are_told_apart_by_their_ids() {
    let tagged = |method: &str, id: u64| {
        let meta = format!(r#""_meta":{{"io.modelcontextprotocol/subscriptionId":{id}}}"#);
        format!(r#"{{"jsonrpc":"2.0","method":"notifications/{method}","params":{{"uri":"a:b",{meta}}}}}"#)
    };
    let exchange = Exchange::untraced();
    exchange.set_modern();
    let waiting = exchange.begin(None).expect("open");
    let take = |frame: String| exchange.take_in(frame.into(), Via::Shared, &mut |_| panic!("no answer"));
    take(tagged("tools/list_changed", 9));
    take(tagged("resources/updated", 9));
    assert!(exchange.notices.take_changed().is_empty(), "nobody opened that one");
    take(tagged("tools/list_changed", waiting.id));
    assert_eq!(exchange.notices.take_changed(), [Kind::Tools]);
    take(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#.to_owned());
    assert!(!exchange.pending.is_open(1), "the server has ended it");
}

#[test]
fn garbage_is_counted_and_a_broken_answer_reaches_its_request() {
    check(
        &[
            "Server listening on port 3000",
            "{\"id\":1}x",
            // A broken request of the server's own has nothing to do with ours of the same number.
            r#"{"jsonrpc":"1.0","id":1,"method":"x"}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":{"a":1,"a":2}}"#,
            r#"{"id":2,"result":{}}"#,
        ],
        expect![[r#"
            1 fault Invalid request: the member "a" occurs twice in one object
            2 fault Invalid request: the member "jsonrpc" must be "2.0"
            garbage 3"#]],
    );
}

#[test]
fn an_answer_that_nests_too_deeply_is_refused() {
    let nested = format!("{}{}", "[".repeat(200), "]".repeat(200));
    let list = format!(r#"{{"jsonrpc":"2.0","id":1,"result":{{"tools":[{nested}]}}}}"#);
    check(&[&list], expect!["1 fault Invalid request: nested deeper than 128 levels"]);
}

#[test]
fn one_open_request_is_told_that_its_answer_was_too_long() {
    let exchange = Exchange::untraced();
    let mut waiting = exchange.begin(None).expect("open");
    exchange.take_too_long(10);
    let task = &mut std::task::Context::from_waker(std::task::Waker::noop());
    let fault = Fault::Broken("it is longer than 10 bytes".to_owned());
    assert_eq!(waiting.poll(task), std::task::Poll::Ready(Next::Answered(Err(fault))));
}

#[test]
fn errors_are_masked_where_they_come_in_and_results_are_not() {
    let mask = crate::settings::mask::tests::mask("se\"cret-01");
    let exchange = Exchange::new("it".into(), &mask, None);
    let mut waiting = [exchange.begin(None).expect("open"), exchange.begin(None).expect("open")];
    for frame in [
        r#"{"jsonrpc":"2.0","id":1,"result":{"a":"se\"cret-01"}}"#,
        r#"{"jsonrpc":"2.0","id":2,"error":{"code":-32000,"message":"no se\"cret-01","data":{"k":"se\u0022cret-01"}}}"#,
    ] {
        exchange.take_in(Bytes::from_static(frame.as_bytes()), Via::Shared, &mut |_| {});
    }
    let shown = waiting.iter_mut().map(|waiting| {
        let task = &mut std::task::Context::from_waker(std::task::Waker::noop());
        match waiting.poll(task) {
            std::task::Poll::Ready(next) => show(next),
            std::task::Poll::Pending => "nothing".to_owned(),
        }
    });
    expect![[r#"
        result {"a":"se\"cret-01"}
        error {"code":-32000,"message":"no ***","data":{"k":"***"}}"#]]
    .assert_eq(&shown.collect::<Vec<_>>().join("\n"));
}
