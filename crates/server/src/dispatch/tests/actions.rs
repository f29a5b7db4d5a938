//! Prompts, resources, completions and tasks: what is handed on, what comes back, and how it fails.

use super::*;

async fn check_both(method: &str, params: &str, old: Expect, new: Expect) {
    old.assert_eq(&Talk::with_source(Revision::V2025_11_25).ask(method, params).await);
    new.assert_eq(
        &Talk::with_source(Revision::V2025_11_25).say_and_hear(&modern(method, params, "{}")).await,
    );
}

#[tokio::test]
async fn a_resource_is_read() {
    check_both(
        "resources/read",
        r#"{"uri":"note:a","x":1.0}"#,
        expect![[r#"
        {"jsonrpc":"2.0","id":1,"result":{"contents":[{"text":"{\"uri\":\"note:a\",\"x\":1.0} -","uri":"note:a"}]}}
    "#]],
        expect![[r#"
        {"jsonrpc":"2.0","id":1,"result":{"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"toolcrib","version":"0.1.0"}},"resultType":"complete","cacheScope":"private","contents":[{"text":"{\"uri\":\"note:a\",\"x\":1.0} -","uri":"note:a"}],"ttlMs":5}}
    "#]],
    ).await;
    // Missing at its source, under the URI that the client knows; below, unknown to every source.
    check_both(
        "resources/read",
        r#"{"uri":"note:gone"}"#,
        expect![[r#"
        {"jsonrpc":"2.0","id":1,"error":{"code":-32002,"message":"no","data":{"uri":"note:gone"}}}
    "#]],
        expect![[r#"
        {"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"no","data":{"uri":"note:gone"}}}
    "#]],
    )
    .await;
    check_both(
        "resources/read",
        r#"{}"#,
        expect![[r#"
        {"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"Invalid params: resources/read needs the string \"uri\""}}
    "#]],
        expect![[r#"
        {"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"Invalid params: resources/read needs the string \"uri\""}}
    "#]],
    ).await;
    let read = request("resources/read", r#"{"uri":"other:x"}"#);
    let mut talk = Talk::new(Revision::V2025_11_25);
    expect![[r#"
        {"jsonrpc":"2.0","id":1,"error":{"code":-32002,"message":"Resource not found","data":{"uri":"other:x"}}}
    "#]].assert_eq(&talk.say_and_hear(&read).await);
    let read = modern("resources/read", r#"{"uri":"other:x"}"#, "{}");
    expect![[r#"
        {"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"Resource not found","data":{"uri":"other:x"}}}
    "#]].assert_eq(&talk.say_and_hear(&read).await);
}

#[tokio::test]
async fn a_prompt_is_filled_in() {
    check_both(
        "prompts/get",
        r#"{"name":"greet","arguments":{"a":"b"}}"#,
        expect![[r#"
            {"jsonrpc":"2.0","id":1,"result":{"messages":[{"content":{"text":"{\"name\":\"greet\",\"arguments\":{\"a\":\"b\"}} -","type":"text"},"role":"user"}]}}
        "#]],
        expect![[r#"
            {"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"toolcrib","version":"0.1.0"}},"messages":[{"content":{"text":"{\"name\":\"greet\",\"arguments\":{\"a\":\"b\"}} -","type":"text"},"role":"user"}]}}
        "#]],
    ).await;
    check_both(
        "prompts/get",
        r#"{"name":"nobody"}"#,
        expect![[r#"
        {"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"Unknown prompt: nobody"}}
    "#]],
        expect![[r#"
        {"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"Unknown prompt: nobody"}}
    "#]],
    )
    .await;
}

#[tokio::test]
async fn an_argument_is_completed() {
    let complete =
        |reference: &str| format!(r#"{{"ref":{reference},"argument":{{"name":"a","value":"b"}}}}"#);
    check_both(
        "completion/complete",
        &complete(r#"{"type":"ref/resource","uri":"note:{name}"}"#),
        expect![[r#"
            {"jsonrpc":"2.0","id":1,"result":{"completion":{"values":["{\"ref\":{\"type\":\"ref/resource\",\"uri\":\"note:{name}\"},\"argument\":{\"name\":\"a\",\"value\":\"b\"}}"]}}}
        "#]],
        expect![[r#"
            {"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"toolcrib","version":"0.1.0"}},"completion":{"values":["{\"ref\":{\"type\":\"ref/resource\",\"uri\":\"note:{name}\"},\"argument\":{\"name\":\"a\",\"value\":\"b\"}}"]}}}
        "#]],
    ).await;
    check_both(
        "completion/complete",
        &complete(r#"{"type":"ref/prompt","name":"nobody"}"#),
        expect![[r#"
            {"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"Unknown prompt: nobody"}}
        "#]],
        expect![[r#"
            {"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"Unknown prompt: nobody"}}
        "#]],
    )
    .await;
}

#[tokio::test]
async fn what_an_upstream_gives_fits_the_client() {
    let relay = |result: &str| format!(r#"{{"name":"relay","arguments":{{"result":{result}}}}}"#);
    // What comes, for a client of 2025-11-25, and for a modern one.
    let cases = [
        (
            r#"{"content":[]}"#,
            expect![[r#"
            {"jsonrpc":"2.0","id":1,"result":{"content":[]}}
        "#]],
            expect![[r#"
            {"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"toolcrib","version":"0.1.0"}},"content":[]}}
        "#]],
        ),
        (
            r#"{}"#,
            expect![[r#"
            {"jsonrpc":"2.0","id":1,"result":{}}
        "#]],
            expect![[r#"
            {"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"toolcrib","version":"0.1.0"}}}}
        "#]],
        ),
        (
            r#"{"_meta":{"x":1},"content":[],"resultType":"complete"}"#,
            expect![[r#"
                {"jsonrpc":"2.0","id":1,"result":{"_meta":{"x":1},"content":[]}}
            "#]],
            expect![[r#"
                {"jsonrpc":"2.0","id":1,"result":{"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"toolcrib","version":"0.1.0"},"x":1},"content":[],"resultType":"complete"}}
            "#]],
        ),
        (
            r#"{"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"u"}},"content":[],"resultType":"complete"}"#,
            expect![[r#"
                {"jsonrpc":"2.0","id":1,"result":{"content":[]}}
            "#]],
            expect![[r#"
                {"jsonrpc":"2.0","id":1,"result":{"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"u"}},"content":[],"resultType":"complete"}}
            "#]],
        ),
    ];
    for (result, old, new) in cases {
        check_both("tools/call", &relay(result), old, new).await;
    }
}

#[tokio::test]
async fn an_upstreams_error_is_told_where_it_helps() {
    let refuse = async |code: i64, data: &str| {
        let params = format!(r#"{{"name":"refuse","arguments":{{"code":{code}{data}}}}}"#);
        [
            Talk::with_source(Revision::V2025_11_25).ask("tools/call", &params).await,
            Talk::with_source(Revision::V2025_11_25).say_and_hear(&modern("tools/call", &params, "{}")).await,
        ]
    };
    for told in refuse(-32603, "").await {
        assert!(told.contains(r#""isError":true"#) && told.contains("upstream_error"), "{told}");
    }
    let [old, new] = refuse(-32021, r#","data":{"requiredCapabilities":{"sampling":{}}}"#).await;
    assert!(old.contains(r#""isError":true"#), "{old}");
    expect![[r#"
        {"jsonrpc":"2.0","id":1,"error":{"code":-32021,"message":"no","data":{"requiredCapabilities":{"sampling":{}}}}}
    "#]].assert_eq(&new);
}

const TASKS: &str = r#"{"extensions":{"io.modelcontextprotocol/tasks":{}}}"#;

#[tokio::test]
async fn a_task_is_known_by_our_token() {
    let mut talk = Talk::with_source(Revision::LATEST_LEGACY);
    let job =
        r#"{"name":"job","arguments":{"result":{"resultType":"task","taskId":"job-1","status":"working"}}}"#;
    let told = talk.say_and_hear(&modern("tools/call", job, TASKS)).await;
    assert!(!told.contains("job-1"), "{told}");
    let answer: serde_json::Value = serde_json::from_str(&told).expect("JSON");
    assert_eq!(answer["result"]["resultType"], "task");
    let token = answer["result"]["taskId"].as_str().expect("a token").to_owned();
    for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
        let params = format!(r#"{{"taskId":"{token}","inputResponses":{{"k":{{}}}}}}"#);
        let told = talk.say_and_hear(&modern(method, &params, TASKS)).await;
        assert!(told.contains(&format!(r#""taskId":"{token}""#)) && !told.contains("job-1"), "{told}");
        assert!(told.contains(r#""inputResponses":{"k":{}}"#), "what a task is given is handed on: {told}");
        // Without the extension, and under a token that was never given.
        let told = talk.say_and_hear(&modern(method, &params, "{}")).await;
        assert_eq!(talk.code, Some(Code::MissingClientCapability), "{told}");
        talk.say_and_hear(&modern(method, r#"{"taskId":"job-1"}"#, TASKS)).await;
        assert_eq!(talk.code, Some(Code::InvalidParams));
        talk.say_and_hear(&modern(method, "{}", TASKS)).await;
        assert_eq!(talk.code, Some(Code::InvalidParams));
    }
    // An upstream that makes a task of a call whose client has not asked for such.
    let told = talk.say_and_hear(&modern("tools/call", job, "{}")).await;
    assert_eq!(talk.code, Some(Code::MissingClientCapability), "{told}");
}

#[tokio::test]
async fn log_messages_come_as_grave_as_was_asked() {
    let call = r#"{"name":"log","arguments":{}}"#;
    let count = |told: &str| told.matches("notifications/message").count();
    let mut talk = Talk::with_source(Revision::LATEST_LEGACY);
    assert_eq!(count(&talk.ask("tools/call", call).await), 7, "unsaid, all but debug messages");
    for (level, expected) in [("debug", 8), ("warning", 5), ("emergency", 1)] {
        talk.ask("logging/setLevel", &format!(r#"{{"level":"{level}"}}"#)).await;
        let told = talk.ask("tools/call", call).await;
        assert_eq!(count(&told), expected, "{told}");
        assert!(
            told.lines().last().is_some_and(|last| last.contains("logged")),
            "the answer comes last: {told}"
        );
    }
    assert_eq!(
        count(&talk.say_and_hear(&modern("tools/call", call, "{}")).await),
        0,
        "a modern client says so each time"
    );
    let level = r#","io.modelcontextprotocol/logLevel":"alert""#;
    assert_eq!(count(&talk.say_and_hear(&modern_with("tools/call", call, "{}", level)).await), 2);
    talk.ask("logging/setLevel", r#"{"level":"loud"}"#).await;
    assert_eq!(talk.code, Some(Code::InvalidParams));
}

/// What a client is answered in both eras: the code of an error, or what the source was handed.
async fn extension(talk: fn() -> Talk, method: &str) -> [String; 2] {
    let params = r#"{"a":1,"_meta":{"x":1}}"#;
    let shown = |talk: &Talk, told: &str| match talk.code {
        Some(code) => {
            format!("{} {}", code.number(), told.contains("`skills/list` is a method of several servers"))
        }
        None => told.contains(r#""handed":{"a":1}"#).to_string(),
    };
    let mut legacy = talk();
    let told = legacy.ask(method, params).await;
    let legacy = shown(&legacy, &told);
    let mut later = talk();
    let told = later.say_and_hear(&modern(method, r#"{"a":1}"#, "{}")).await;
    [legacy, shown(&later, &told)]
}

fn of_two() -> Talk {
    let talk = Talk::with_source(Revision::V2025_11_25);
    let catalog = talk.server.gate.catalog();
    let features = catalog.offer().source(testkit::SAMPLE_SOURCE).expect("reported").features.clone();
    catalog.replace("more", Vec::new(), features);
    talk
}

/// Somebody who may use no upstream.
fn of_nobody() -> Talk {
    let talk = Talk::with_source(Revision::V2025_11_25);
    let kind = gate::CallerKind::Key;
    let caller =
        Caller::new("key:x".into(), kind, gate::Roles::default(), gate::Scopes::from_iter([]), Via::Http);
    Talk { session: Session::new(caller, Revision::V2025_11_25), ..talk }
}

#[tokio::test]
async fn a_method_of_a_declared_extension_reaches_the_one_who_declares_it() {
    let sample = || Talk::with_source(Revision::V2025_11_25);
    for (talk, method, expected) in [
        (sample as fn() -> Talk, "skills/list", "true"),
        (sample, "skill/list", "-32601 false"),
        (sample, "skills", "-32601 false"),
        (sample, "tasks/skills", "-32601 false"),
        (of_two, "skills/list", "-32602 true"),
        (of_nobody, "skills/list", "-32601 false"),
        (|| Talk::with_source(Revision::V2025_03_26), "skill/list", "-32601 false"),
    ] {
        assert_eq!(extension(talk, method).await, [expected, expected], "{method}");
    }
}
