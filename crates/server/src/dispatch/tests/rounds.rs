//! Tools that ask their client in the middle of a call.

use super::*;

const EVERYTHING: &str = r#"{"roots":{},"sampling":{},"elicitation":{"form":{},"url":{}}}"#;

fn ask(requests: &str, rounds: u32) -> String {
    format!(r#"{{"name":"ask","arguments":{{"rounds":{rounds},"requests":{requests}}}}}"#)
}

fn answered(id: u32, result: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#)
}

fn talk(revision: Revision) -> Talk {
    Talk::with_source(revision).introduced(EVERYTHING)
}

#[tokio::test]
async fn a_legacy_client_is_asked_by_requests_and_each_answer_goes_under_its_key() {
    let mut talk = talk(Revision::V2025_11_25);
    let two =
        r#"{"a b":{"method":"roots/list"},"c":{"method":"sampling/createMessage","params":{"maxTokens":1}}}"#;
    expect![[r#"
        {"jsonrpc":"2.0","id":1,"method":"roots/list"}
        {"jsonrpc":"2.0","id":2,"method":"sampling/createMessage","params":{"maxTokens":1}}
    "#]]
    .assert_eq(&talk.ask("tools/call", &ask(two, 2)).await);
    assert_eq!(talk.say(&answered(2, r#"{"role":"assistant"}"#)), "", "one answer is still missing");
    assert_eq!(talk.say(&answered(2, r#"{"role":"user"}"#)), "", "an answer counts once");
    expect![[r#"
        {"jsonrpc":"2.0","id":3,"method":"roots/list"}
        {"jsonrpc":"2.0","id":4,"method":"sampling/createMessage","params":{"maxTokens":1}}
    "#]]
    .assert_eq(&talk.say_and_hear(&answered(1, r#"{"roots":[]}"#)).await);
    assert_eq!(talk.say(&answered(3, r#"{"roots":[1]}"#)), "");
    expect![[r#"
        {"jsonrpc":"2.0","id":1,"result":{"content":[{"text":"2 {\"a b\":{\"roots\":[1]},\"c\":{\"x\":1.0}}","type":"text"}]}}
    "#]].assert_eq(&talk.say_and_hear(&answered(4, r#"{"x":1.0}"#)).await);
}

#[tokio::test]
async fn an_elicitation_has_the_form_of_its_revision() {
    let by_form = r#"{"k":{"method":"elicitation/create","params":{"mode":"form","message":"m"}}}"#;
    let by_url = r#"{"k":{"method":"elicitation/create","params":{"mode":"url","url":"https://x.test/","message":"m"}}}"#;
    expect![[r#"
        {"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{"message":"m"}}
    "#]]
    .assert_eq(&talk(Revision::V2025_06_18).ask("tools/call", &ask(by_form, 1)).await);
    expect![[r#"
        {"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{"message":"m","mode":"form"}}
    "#]]
    .assert_eq(&talk(Revision::V2025_11_25).ask("tools/call", &ask(by_form, 1)).await);
    let told = talk(Revision::V2025_11_25).ask("tools/call", &ask(by_url, 1)).await;
    assert!(told.contains(r#""elicitationId":"toolcrib-"#), "{told}");
    // Older revisions have no URL mode, whatever the client declares.
    expect![[r#"
        {"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"the tool needs a client with the capability {\"elicitation\":{\"url\":{}}}, which this client has not declared"}],"_meta":{"toolcrib/error":{"code":"client_lacks_capability","details":{"requiredCapabilities":{"elicitation":{"url":{}}}},"message":"the tool needs a client with the capability {\"elicitation\":{\"url\":{}}}, which this client has not declared"}},"isError":true}}
    "#]].assert_eq(&talk(Revision::V2025_06_18).ask("tools/call", &ask(by_url, 1)).await);
}

#[tokio::test]
async fn what_a_legacy_client_cannot_be_asked_ends_the_call() {
    let roots = r#"{"k":{"method":"roots/list"}}"#;
    let mut undeclared = Talk::with_source(Revision::V2025_11_25);
    expect![[r#"
        {"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"the tool needs a client with the capability {\"roots\":{}}, which this client has not declared"}],"_meta":{"toolcrib/error":{"code":"client_lacks_capability","details":{"requiredCapabilities":{"roots":{}}},"message":"the tool needs a client with the capability {\"roots\":{}}, which this client has not declared"}},"isError":true}}
    "#]].assert_eq(&undeclared.ask("tools/call", &ask(roots, 1)).await);
    let mut json_only = talk(Revision::V2025_11_25);
    json_only.outbox = None;
    expect![[r#"
        {"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"the tool asks the client for input, but this client takes no requests: it must accept text/event-stream"}],"_meta":{"toolcrib/error":{"code":"client_takes_no_requests","message":"the tool asks the client for input, but this client takes no requests: it must accept text/event-stream"}},"isError":true}}
    "#]].assert_eq(&json_only.ask("tools/call", &ask(roots, 1)).await);
    let odd = r#"{"k":{"method":"tools/list"}}"#;
    expect![[r#"
        {"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"the tool asks for `tools/list`, which is nothing that a client can be asked for"}],"_meta":{"toolcrib/error":{"code":"bad_input_request","message":"the tool asks for `tools/list`, which is nothing that a client can be asked for"}},"isError":true}}
    "#]].assert_eq(&talk(Revision::V2025_11_25).ask("tools/call", &ask(odd, 1)).await);
    // A prompt has no place for the failure of a tool.
    expect![[r#"
        {"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"the tool needs a client with the capability {\"roots\":{}}, which this client has not declared","data":{"code":"client_lacks_capability","details":{"requiredCapabilities":{"roots":{}}}}}}
    "#]].assert_eq(&undeclared.ask("prompts/get", r#"{"name":"quiz"}"#).await);
}

#[tokio::test]
async fn a_client_that_refuses_ends_the_call() {
    let roots = r#"{"a":{"method":"roots/list"},"b":{"method":"roots/list"}}"#;
    let mut talk = talk(Revision::V2025_11_25);
    talk.ask("tools/call", &ask(roots, 1)).await;
    let refusal = r#"{"jsonrpc":"2.0","id":2,"error":{"code":-1,"message":"never\u0007 ever"}}"#;
    // The other request is taken back, too.
    expect![[r#"
        {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}
        {"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"the tool asked the client for `roots/list`, and the client refused: never ever"}],"_meta":{"toolcrib/error":{"code":"client_refused","message":"the tool asked the client for `roots/list`, and the client refused: never ever"}},"isError":true}}
    "#]].assert_eq(&talk.say_and_hear(refusal).await);
    talk.ask("tools/call", &ask(roots, 1)).await;
    let told = talk.say_and_hear(&answered(3, "[]")).await;
    assert!(told.contains("something that is no object"), "{told}");
}

/// What a client says of why it refuses goes to the model like all else, and so do its secrets not.
#[tokio::test]
async fn a_refusal_is_told_without_secrets() {
    let secret = ["ghp_", "wWPw5k4aXcaT4fNP0UcnZwJUVFk6LO0pINUx"].concat();
    for (message, expected) in [
        (format!("no: {secret}"), "the client refused: no: [REDACTED:github-pat]"),
        // Neither a control in its middle nor the cut leaves part of it.
        (
            format!("no: {}\\u0007{}", &secret[..20], &secret[20..]),
            "the client refused: no: [REDACTED:github-pat]",
        ),
        (format!("{}{secret}", "x ".repeat(240)), "x [REDACTED:github-pat"),
    ] {
        let mut talk = talk(Revision::V2025_11_25);
        talk.ask("tools/call", &ask(r#"{"a":{"method":"roots/list"}}"#, 1)).await;
        let refusal = format!(r#"{{"jsonrpc":"2.0","id":1,"error":{{"code":-1,"message":"{message}"}}}}"#);
        let told = talk.say_and_hear(&refusal).await;
        assert!(told.contains(expected) && !told.contains("ghp_"), "{told}");
    }
}

#[tokio::test(start_paused = true)]
async fn rounds_end_some_time() {
    let roots = r#"{"k":{"method":"roots/list"}}"#;
    let mut talk = talk(Revision::V2025_11_25);
    let mut told = talk.ask("tools/call", &ask(roots, 1_000)).await;
    for id in 1..=10 {
        assert!(told.contains(&format!("\"id\":{id},\"method\":\"roots/list\"")), "{told}");
        told = talk.say_and_hear(&answered(id, "{}")).await;
    }
    assert!(told.contains("too_many_rounds"), "{told}");
    // A client that never answers.
    assert!(talk.ask("tools/call", &ask(roots, 1)).await.contains("roots/list"));
    tokio::time::advance(std::time::Duration::from_secs(601)).await;
    let told = talk.rest();
    assert!(told.contains("client_silent") && told.contains("notifications/cancelled"), "{told}");
    // A tool that only wants to be called again.
    assert_eq!(talk.say(&request("tools/call", r#"{"name":"ask","arguments":{"rounds":2}}"#)), "");
    let since = tokio::time::Instant::now();
    let answer = talk.waiting.remove(0).await.expect("an answer");
    assert!(lines([answer.frame]).contains("\"text\":\"2 -\""));
    let pauses = since.elapsed().as_millis();
    assert!(
        (300..=310).contains(&pauses),
        "100 ms before the second time, 200 ms before the third: {pauses} ms"
    );
}

#[tokio::test]
async fn a_cancelled_call_takes_its_questions_back() {
    let mut talk = talk(Revision::V2025_11_25);
    talk.ask("tools/call", &ask(r#"{"k":{"method":"roots/list"}}"#, 1)).await;
    let cancel = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#;
    expect![[r#"
        {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}
    "#]]
    .assert_eq(&talk.say(cancel));
    assert_eq!(talk.say(&answered(1, "{}")), "");
    assert!(talk.waiting.is_empty());
}

#[tokio::test(start_paused = true)]
async fn what_a_tool_asks_that_ends_meanwhile_is_taken_back() {
    let mut talk = talk(Revision::V2025_11_25);
    let params =
        r#"{"name":"ask","arguments":{"ends_after_ms":1000,"requests":{"k":{"method":"roots/list"}}}}"#;
    assert!(talk.ask("tools/call", params).await.contains("roots/list"));
    tokio::time::advance(std::time::Duration::from_millis(1001)).await;
    let answer = talk.waiting.remove(0).await.expect("an answer");
    expect![[r#"
        {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}
    "#]]
    .assert_eq(&talk.rest());
    assert!(lines([answer.frame]).contains("\"text\":\"1 -\""));
}

/// The retry of a modern request: the same with what was asked for.
pub(super) fn retry(params: &str, told: &str, responses: &str) -> String {
    let told: serde_json::Value = serde_json::from_str(told).expect("JSON");
    let state = told["result"]["requestState"].as_str().expect("a state");
    let own = params.strip_prefix('{').expect("an object");
    format!(r#"{{"inputResponses":{responses},"requestState":"{state}",{own}"#)
}

#[tokio::test]
async fn a_modern_client_is_asked_in_the_result_and_calls_again() {
    let mut talk = Talk::with_source(Revision::LATEST_LEGACY);
    let params = ask(
        r#"{"who":{"method":"elicitation/create","params":{"mode":"url","elicitationId":"e","url":"u:"}}}"#,
        2,
    );
    let told = talk.say_and_hear(&modern("tools/call", &params, EVERYTHING)).await;
    assert!(
        told.contains(r#""resultType":"input_required","inputRequests":{"who":{"method":"elicitation/create","params":{"mode":"url","url":"u:"}}},"requestState":""#),
        "{told}"
    );
    assert!(told.contains(r#""_meta":{"io.modelcontextprotocol/serverInfo""#), "{told}");
    let first = retry(&params, &told, r#"{"who":{"action":"accept"}}"#);
    let told = talk.say_and_hear(&modern("tools/call", &first, EVERYTHING)).await;
    let second = retry(&params, &told, r#"{"who":{ "action":"decline"}}"#);
    let told = talk.say_and_hear(&modern("tools/call", &second, EVERYTHING)).await;
    assert!(told.contains(r#"2 {\"who\":{ \"action\":\"decline\"}}"#), "{told}");
    for again in [
        first,
        second.replace("requestState\":\"", "requestState\":\"x"),
        second.replace("\"rounds\":2", "\"rounds\":3"),
    ] {
        let told = talk.say_and_hear(&modern("tools/call", &again, EVERYTHING)).await;
        assert_eq!(
            talk.code,
            Some(Code::InvalidParams),
            "a state is good once, as it was, for its call: {told}"
        );
    }
    // What a legacy request says in those members is none of ours.
    let told =
        talk.ask("tools/call", r#"{"name":"shout","arguments":{"text":"a"},"requestState":"x"}"#).await;
    assert!(told.contains("\"text\":\"A\""), "{told}");
}

#[tokio::test]
async fn a_modern_client_is_asked_only_for_what_it_declares() {
    let mut talk = Talk::with_source(Revision::LATEST_LEGACY);
    let params = ask(r#"{"k":{"method":"sampling/createMessage","params":{}}}"#, 1);
    expect![[r#"
        {"jsonrpc":"2.0","id":1,"error":{"code":-32021,"message":"this request needs a capability that the client did not declare with it","data":{"requiredCapabilities":{"sampling":{}}}}}
    "#]].assert_eq(&talk.say_and_hear(&modern("tools/call", &params, r#"{"roots":{}}"#)).await);
    assert_eq!(talk.code, Some(Code::MissingClientCapability));
}

#[tokio::test]
async fn prompts_and_resources_ask_in_both_eras() {
    for (method, params) in
        [("prompts/get", r#"{"name":"quiz"}"#), ("resources/read", r#"{"uri":"note:ask"}"#)]
    {
        let mut legacy = talk(Revision::V2025_11_25);
        assert!(legacy.ask(method, params).await.contains("\"method\":\"roots/list\""));
        let told = legacy.say_and_hear(&answered(1, r#"{"roots":[7]}"#)).await;
        assert!(told.contains(r#"{\"who\":{\"roots\":[7]}}"#), "{told}");
        let mut talk = Talk::with_source(Revision::LATEST_LEGACY);
        let told = talk.say_and_hear(&modern(method, params, EVERYTHING)).await;
        assert!(!told.contains("ttlMs"), "an unfinished result is not to be kept: {told}");
        let told = talk
            .say_and_hear(&modern(method, &retry(params, &told, r#"{"who":{"roots":[8]}}"#), EVERYTHING))
            .await;
        assert!(told.contains(r#"{\"who\":{\"roots\":[8]}}"#) && told.contains("\"complete\""), "{told}");
        assert!(!told.contains("requestState"), "what belongs to the protocol is not handed on: {told}");
    }
}
