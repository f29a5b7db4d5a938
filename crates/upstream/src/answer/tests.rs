//! What results of servers of both eras come to.

use std::path::Path;

use expect_test::{Expect, expect};
use sandbox::{Access, Root};
use tool_api::{CallId, Cancel, Client, Permit};

use super::*;

fn text(json: &str) -> Text {
    Text::check(Bytes::copy_from_slice(json.as_bytes())).expect("JSON")
}

/// A call of a client with these capabilities.
pub(crate) fn context(capabilities: &'static str) -> Context {
    let folder = Root::open(Path::new(env!("CARGO_MANIFEST_DIR")), Access::Read).expect("a folder");
    #[expect(clippy::disallowed_methods, reason = "the tests stand where the gate stands")]
    let permit = Permit::issue(CallId::next());
    let client = Client { capabilities: Bytes::from_static(capabilities.as_bytes()), ..Client::default() };
    tool_api::Context { client, ..Context::new(permit, folder, Cancel::new(), None) }
}

const ABLE: &str = r#"{"roots":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}"#;

fn shown(outcome: Result<Outcome, ToolError>) -> String {
    let text = |bytes: &Bytes| String::from_utf8(bytes.to_vec()).expect("UTF-8");
    match outcome {
        Err(error) => format!("{}: {error}", error.code()),
        Ok(Outcome { payload, is_error, .. }) => match payload {
            Payload::Relayed { result, structured } => {
                let failed = if is_error { "failed " } else { "" };
                format!("{failed}{} structured {:?}", text(&result), structured.as_ref().map(text))
            }
            Payload::InputRequired { requests, state, .. } => {
                format!("asks {:?} state {state:?}", requests.as_ref().map(text))
            }
            Payload::Task { result, id } => format!("task {id} {}", text(&result)),
            Payload::Ours { .. } => "ours".to_owned(),
        },
    }
}

fn read(asked: Asked, prefix: &str, is_modern: bool, result: &str) -> String {
    let map = UriMap::new(prefix);
    let reader = Reader { upstream: "it", map: &map, mask: &Mask::default(), is_modern, asked };
    shown(reader.outcome(&Answer::Result(text(result)), &context(ABLE)))
}

#[track_caller]
fn check(asked: Asked, is_modern: bool, result: &str, expected: Expect) {
    expected.assert_eq(&read(asked, "", is_modern, result));
}

#[track_caller]
fn check_outward(asked: Asked, result: &str, expected: Expect) {
    expected.assert_eq(&read(asked, "p", true, result));
}

#[test]
fn a_result_is_relayed_whole_with_what_the_gate_needs_of_it() {
    check(
        Asked::Call,
        false,
        r#"{ "content":[] ,"x":1.0}"#,
        expect![[r#"{ "content":[] ,"x":1.0} structured None"#]],
    );
    check(
        Asked::Call,
        true,
        r#"{"isError":true,"content":[],"resultType":"complete"}"#,
        expect![[r#"failed {"isError":true,"content":[],"resultType":"complete"} structured None"#]],
    );
    check(
        Asked::Call,
        false,
        r#"{"isError":"true","structuredContent": {"a" : 1}}"#,
        expect![[r#"{"isError":"true","structuredContent": {"a" : 1}} structured Some("{\"a\" : 1}")"#]],
    );
    check(
        Asked::Call,
        false,
        r#"{"structuredContent":null}"#,
        expect![[r#"{"structuredContent":null} structured None"#]],
    );
}

#[test]
fn legacy_results_have_no_types() {
    check(
        Asked::Call,
        false,
        r#"{"resultType":"input_required"}"#,
        expect![[r#"{"resultType":"input_required"} structured None"#]],
    );
}

#[test]
fn a_modern_server_may_ask_back() {
    let asks = r#"{"resultType":"input_required","inputRequests":{ "k":{"method":"roots/list"}},"requestState":"s\n"}"#;
    for asked in [Asked::Call, Asked::Read, Asked::Prompt] {
        check(
            asked,
            true,
            asks,
            expect![[r#"asks Some("{ \"k\":{\"method\":\"roots/list\"}}") state Some("s\n")"#]],
        );
    }
    check(
        Asked::Call,
        true,
        r#"{"resultType":"input_required","requestState":""}"#,
        expect![[r#"asks None state Some("")"#]],
    );
    check(
        Asked::Other,
        true,
        asks,
        expect![[
            r#"upstream_broken: the answer of `it` cannot be used: its result is of the type "input_required", which it may not be here"#
        ]],
    );
}

#[test]
fn what_asks_wrongly_is_broken() {
    let broken = |result: &str| {
        let said = read(Asked::Call, "", true, result);
        said.strip_prefix("upstream_broken: the answer of `it` cannot be used: ").expect("broken").to_owned()
    };
    assert_eq!(broken(r#"{"resultType":"input_required"}"#), "it asks for input and does not say for what");
    assert_eq!(
        broken(r#"{"resultType":"input_required","inputRequests":[]}"#),
        "its `inputRequests` are no JSON object"
    );
    let asking = |requests: &str| {
        broken(&format!(r#"{{"resultType":"input_required","inputRequests":{{{requests}}}}}"#))
    };
    assert_eq!(asking(r#""k":5"#), "one of its `inputRequests` names no method");
    assert_eq!(
        asking(r#""k":{"method":"tools/call"}"#),
        "it asks for \"tools/call\", which no client answers"
    );
    let many: Vec<_> = (0..101).map(|n| format!(r#""k{n}":{{"method":"roots/list"}}"#)).collect();
    assert_eq!(asking(&many.join(",")), "it asks for more than 100 things at once");
    assert_eq!(
        broken(r#"{"resultType":"input_required","requestState":5}"#),
        "its `requestState` is no string"
    );
    assert_eq!(
        broken(r#"{"resultType":"so\u0007on"}"#),
        "its result is of the type \"so on\", which it may not be here"
    );
    assert_eq!(broken(r#"{"resultType":5}"#), "the type of its result is no string");
    assert_eq!(broken(r#"{"resultType":"task","taskId":""}"#), "its task has no id");
    let long = "t".repeat(WATCHED_BYTES_MAX + 1);
    assert_eq!(
        broken(&format!(r#"{{"resultType":"task","taskId":"{long}"}}"#)),
        "the id of its task is too long"
    );
    assert_eq!(broken("[]"), "its result is no JSON object");
}

#[test]
fn nothing_is_asked_of_a_client_that_it_has_not_declared() {
    let asks = |method: &str| format!(r#"{{"k":{{"method":"roots/list"}},"l":{{"method":"{method}"}}}}"#);
    let map = UriMap::new("");
    for (asked, result) in [
        (
            Asked::Call,
            format!(r#"{{"resultType":"input_required","inputRequests":{}}}"#, asks("elicitation/create")),
        ),
        (
            Asked::Task,
            format!(r#"{{"status":"input_required","inputRequests":{}}}"#, asks("elicitation/create")),
        ),
    ] {
        let reader = Reader { upstream: "it", map: &map, mask: &Mask::default(), is_modern: true, asked };
        let error = reader.outcome(&Answer::Result(text(&result)), &context(ABLE)).expect_err("undeclared");
        let protocol = error.protocol().expect("an error of the protocol");
        let required = r#"{"requiredCapabilities":{"elicitation":{"form":{}}}}"#;
        assert_eq!((protocol.code, protocol.data.as_deref()), (-32021, Some(required)));
        let result = result.replace("elicitation/create", "roots/list");
        reader.outcome(&Answer::Result(text(&result)), &context(ABLE)).expect("it has roots");
    }
}

#[test]
fn a_call_becomes_a_task_only_for_a_client_that_knows_them() {
    let task = r#"{"resultType":"task","taskId":"t\u0031","status":"working"}"#;
    check(
        Asked::Call,
        true,
        task,
        expect![[r#"task t1 {"resultType":"task","taskId":"t\u0031","status":"working"}"#]],
    );
    let map = UriMap::new("");
    for capabilities in
        ["{}", r#"{"extensions":{}}"#, r#"{"extensions":{"io.modelcontextprotocol/tasks":null}}"#]
    {
        let reader =
            Reader { upstream: "it", map: &map, mask: &Mask::default(), is_modern: true, asked: Asked::Call };
        let said = shown(reader.outcome(&Answer::Result(text(task)), &context(capabilities)));
        assert!(said.starts_with("upstream_broken"), "{said}");
    }
}

#[test]
fn resources_get_the_uris_that_are_offered() {
    check_outward(
        Asked::Call,
        r#"{"content":[{"type":"resource_link","uri":"a:b", "name":"n"},{"type":"text","text":"a:b"}],"structuredContent":{"uri":"a:b"}}"#,
        expect![[
            r#"{"content":[{"type":"resource_link","uri":"p+a:b", "name":"n"},{"type":"text","text":"a:b"}],"structuredContent":{"uri":"a:b"}} structured Some("{\"uri\":\"a:b\"}")"#
        ]],
    );
    check_outward(
        Asked::Read,
        r#"{"contents":[{"uri":"ui://x/y","text":"ui://x/y"}]}"#,
        expect![[r#"{"contents":[{"uri":"ui://p/x/y","text":"ui://x/y"}]} structured None"#]],
    );
    check_outward(
        Asked::Prompt,
        r#"{"messages":[{"role":"user","content":{"type":"resource","resource":{"uri":"a:b","text":""}}}]}"#,
        expect![[
            r#"{"messages":[{"role":"user","content":{"type":"resource","resource":{"uri":"p+a:b","text":""}}}]} structured None"#
        ]],
    );
    check_outward(
        Asked::Task,
        r#"{"taskId":"t","result":{"content":[{"type":"resource_link","uri":"a:b"}]}, "status":"completed"}"#,
        expect![[
            r#"{"taskId":"t","result":{"content":[{"type":"resource_link","uri":"p+a:b"}]}, "status":"completed"} structured None"#
        ]],
    );
}

#[test]
fn secrets_are_masked_in_what_failed() {
    let mask = crate::settings::mask::tests::mask("se\"cret-01");
    let map = UriMap::new("");
    let reader = Reader { upstream: "it", map: &map, mask: &mask, is_modern: true, asked: Asked::Call };
    let read = |result: &str| shown(reader.outcome(&Answer::Result(text(result)), &context(ABLE)));
    let result = |is_error: bool| {
        format!(
            r#"{{"content":[{{"type":"text","text":"{{\"k\":\"se\\\"cret-01\"}}"}}],"isError":{is_error},"structuredContent":{{"k":"se\"cret-01"}}}}"#
        )
    };
    expect![[r#"failed {"content":[{"type":"text","text":"{\"k\":\"***\"}"}],"isError":true,"structuredContent":{"k":"***"}} structured Some("{\"k\":\"***\"}")"#]]
        .assert_eq(&read(&result(true)));
    assert!(read(&result(false)).starts_with(&result(false)), "it is relayed as it came");
    let long = format!(r#"{{"resultType":"{}se\"cret-01"}}"#, "x".repeat(TYPE_BYTES_MAX - 3));
    assert!(read(&long).contains("x***\""), "{}", read(&long));
}

#[test]
fn of_a_server_that_a_limit_has_ended_the_caller_hears_which() {
    use crate::fault::Fault;
    let fault = Fault::limited(sandbox::confine::Limit::MemoryBytes);
    assert_eq!(
        failed("it", &fault).to_string(),
        "`it` stopped before it answered, since it reached its limit `memory_bytes`; it is started again with the next call; \
         whether this call had an effect is unknown"
    );
    let of_its_own = Fault::Gone("exited with code 3 (hunter2)".to_owned());
    assert!(!stays_gone("it", &of_its_own).to_string().contains("hunter2"));
}
