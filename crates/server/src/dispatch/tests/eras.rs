//! Every method in both eras, and what only the modern one has.

use super::*;

const ALL: &str = r#"{"roots":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}"#;

/// A request of each method there is, and of some there is not.
const METHODS: [(&str, &str); 22] = [
    ("initialize", r#"{"protocolVersion":"2025-11-25"}"#),
    ("ping", "{}"),
    ("server/discover", "{}"),
    ("tools/list", "{}"),
    ("tools/call", r#"{"name":"shout","arguments":{"text":"a"}}"#),
    ("prompts/list", "{}"),
    ("prompts/get", r#"{"name":"greet"}"#),
    ("resources/list", "{}"),
    ("resources/templates/list", "{}"),
    ("resources/read", r#"{"uri":"note:a"}"#),
    ("resources/subscribe", r#"{"uri":"note:a"}"#),
    ("resources/unsubscribe", r#"{"uri":"note:a"}"#),
    (
        "completion/complete",
        r#"{"ref":{"type":"ref/prompt","name":"greet"},"argument":{"name":"a","value":""}}"#,
    ),
    ("logging/setLevel", r#"{"level":"error"}"#),
    ("subscriptions/listen", r#"{"notifications":{}}"#),
    ("tasks/get", r#"{"taskId":"x"}"#),
    ("tasks/update", r#"{"taskId":"x","inputResponses":{}}"#),
    ("tasks/cancel", r#"{"taskId":"x"}"#),
    ("tasks/list", "{}"),
    ("tasks/result", r#"{"taskId":"x"}"#),
    ("roots/list", "{}"),
    ("unknown/method", "{}"),
];

fn outcome(talk: &mut Talk, told: &str) -> String {
    match (talk.code, told.contains("\"result\":{")) {
        (Some(code), _) => code.number().to_string(),
        (None, true) => "result".to_owned(),
        (None, false) => format!("{} waiting", talk.waiting.len()),
    }
}

#[tokio::test]
async fn every_method_in_both_eras() {
    let mut table = String::new();
    for (method, params) in METHODS {
        let mut talk = Talk::with_source(Revision::V2025_11_25);
        let told = talk.ask(method, params).await;
        let legacy = outcome(&mut talk, &told);
        let mut talk = Talk::with_source(Revision::V2025_11_25);
        let told = talk.say_and_hear(&modern(method, params, ALL)).await;
        let modern = outcome(&mut talk, &told);
        if modern == "result" {
            assert!(told.contains(r#""resultType":"complete""#), "{told}");
            assert!(told.contains(r#""io.modelcontextprotocol/serverInfo":{"name":"toolcrib""#), "{told}");
        }
        assert!(legacy != "result" || !told.contains("\"resultType\"") || modern == "result");
        table += &format!("{method:<25}{legacy:<8}{modern}\n");
    }
    expect![[r#"
        initialize               result  -32601
        ping                     result  -32601
        server/discover          -32601  result
        tools/list               result  result
        tools/call               result  result
        prompts/list             result  result
        prompts/get              result  result
        resources/list           result  result
        resources/templates/list result  result
        resources/read           result  result
        resources/subscribe      result  -32601
        resources/unsubscribe    result  -32601
        completion/complete      result  result
        logging/setLevel         result  -32601
        subscriptions/listen     -32601  1 waiting
        tasks/get                -32601  -32602
        tasks/update             -32601  -32602
        tasks/cancel             -32601  -32602
        tasks/list               -32601  -32601
        tasks/result             -32601  -32601
        roots/list               -32601  -32601
        unknown/method           -32601  -32601
    "#]]
    .assert_eq(&table);
}

async fn check_modern(frame: &str, expected: Expect) {
    expected.assert_eq(&Talk::with_source(Revision::LATEST_LEGACY).say_and_hear(frame).await);
}

#[tokio::test]
async fn an_envelope_that_cannot_be_used_is_refused() {
    for (meta, expected) in [
        (
            r#"{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}"#,
            expect![[r#"
                {"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"Invalid params: `_meta` needs an object as \"io.modelcontextprotocol/clientCapabilities\""}}
            "#]],
        ),
        (
            r#"{"io.modelcontextprotocol/protocolVersion":"2099-01-01","io.modelcontextprotocol/clientCapabilities":{}}"#,
            expect![[r#"
                {"jsonrpc":"2.0","id":1,"error":{"code":-32022,"message":"Unsupported protocol version: 2099-01-01","data":{"supported":["2026-07-28"],"requested":"2099-01-01"}}}
            "#]],
        ),
        (
            r#"{"io.modelcontextprotocol/protocolVersion":"2025-11-25","io.modelcontextprotocol/clientCapabilities":{}}"#,
            expect![[r#"
                {"jsonrpc":"2.0","id":1,"error":{"code":-32022,"message":"Unsupported protocol version: 2025-11-25","data":{"supported":["2026-07-28"],"requested":"2025-11-25"}}}
            "#]],
        ),
    ] {
        check_modern(&request("tools/list", &format!(r#"{{"_meta":{meta}}}"#)), expected).await;
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_discovered() {
    check_modern(
        &modern("server/discover", "{}", "{}"),
        expect![[r#"
            {"jsonrpc":"2.0","id":1,"result":{"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"toolcrib","version":"0.1.0"}},"cacheScope":"private","capabilities":{"completions":{},"extensions":{"io.modelcontextprotocol/tasks":{}},"logging":{},"prompts":{"listChanged":true},"resources":{"listChanged":true,"subscribe":true},"tools":{"listChanged":true}},"instructions":"A call may need a person's word: where one is refused since nobody has answered yet, go on without it, and make it again, with the same arguments, when the person says so. `[REDACTED:NAME]` stands in place of a secret; do not write it anywhere. Tools of other servers begin with the server's name, as in `NAME_tool`.\n\nbe kind\n\n## notes\n\nnotes are short","resultType":"complete","supportedVersions":["2026-07-28"],"ttlMs":60000}}
        "#]],
    ).await;
    // What is remembered of sources that are still expected is waited for, a moment; then whatever they may have is declared.
    let mut talk = Talk::new(Revision::LATEST_LEGACY);
    talk.server.gate().catalog().expect("later");
    assert_eq!(talk.say(&modern("server/discover", "{}", "{}")), "");
    tokio::time::advance(std::time::Duration::from_millis(100)).await;
    expect![[r#"
        {"jsonrpc":"2.0","id":1,"result":{"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"toolcrib","version":"0.1.0"}},"cacheScope":"private","capabilities":{"completions":{},"extensions":{"io.modelcontextprotocol/tasks":{}},"logging":{},"prompts":{"listChanged":true},"resources":{"listChanged":true,"subscribe":true},"tools":{"listChanged":true}},"instructions":"A call may need a person's word: where one is refused since nobody has answered yet, go on without it, and make it again, with the same arguments, when the person says so. `[REDACTED:NAME]` stands in place of a secret; do not write it anywhere.\n\nbe kind","resultType":"complete","supportedVersions":["2026-07-28"],"ttlMs":0}}
    "#]].assert_eq(&talk.hear().await);
    expect![[r#"
        {"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18","capabilities":{"completions":{},"logging":{},"prompts":{"listChanged":true},"resources":{"listChanged":true,"subscribe":true},"tools":{"listChanged":true}},"serverInfo":{"name":"toolcrib","version":"0.1.0"},"instructions":"A call may need a person's word: where one is refused since nobody has answered yet, go on without it, and make it again, with the same arguments, when the person says so. `[REDACTED:NAME]` stands in place of a secret; do not write it anywhere.\n\nbe kind"}}
    "#]].assert_eq(&talk.ask("initialize", r#"{"protocolVersion":"2025-06-18"}"#).await);
    assert!(talk.server.gate().catalog().wanted().now_or_never().is_none(), "nothing is started for it");
}

#[tokio::test]
async fn lists_in_both_eras() {
    for (method, old, new) in [
        (
            "prompts/list",
            expect![[r#"
            {"jsonrpc":"2.0","id":1,"result":{"prompts":[{"description":"a sample","name":"greet"},{"name":"quiz"}]}}
        "#]],
            expect![[r#"
            {"jsonrpc":"2.0","id":1,"result":{"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"toolcrib","version":"0.1.0"}},"resultType":"complete","ttlMs":60000,"cacheScope":"private","prompts":[{"description":"a sample","icons":[],"name":"greet"},{"name":"quiz"}]}}
        "#]],
        ),
        (
            "resources/list",
            expect![[r#"
            {"jsonrpc":"2.0","id":1,"result":{"resources":[{"name":"n","uri":"note:b"},{"name":"n","uri":"note:a"}]}}
        "#]],
            expect![[r#"
            {"jsonrpc":"2.0","id":1,"result":{"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"toolcrib","version":"0.1.0"}},"resultType":"complete","ttlMs":60000,"cacheScope":"private","resources":[{"name":"n","title":"N","uri":"note:b"},{"name":"n","title":"N","uri":"note:a"}]}}
        "#]],
        ),
        (
            "resources/templates/list",
            expect![[r#"
            {"jsonrpc":"2.0","id":1,"result":{"resourceTemplates":[{"name":"n","uriTemplate":"note:{name}"}]}}
        "#]],
            expect![[r#"
            {"jsonrpc":"2.0","id":1,"result":{"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"toolcrib","version":"0.1.0"}},"resultType":"complete","ttlMs":60000,"cacheScope":"private","resourceTemplates":[{"name":"n","uriTemplate":"note:{name}"}]}}
        "#]],
        ),
    ] {
        old.assert_eq(&Talk::with_source(Revision::V2025_03_26).ask(method, "{}").await);
        new.assert_eq(
            &Talk::with_source(Revision::V2025_03_26).say_and_hear(&modern(method, "{}", "{}")).await,
        );
    }
}

#[tokio::test]
async fn lists_go_on_where_a_cursor_says() {
    let mut talk = Talk::with_source(Revision::V2025_11_25);
    let after = |name: &str| format!(r#"{{"cursor":"{}"}}"#, wire::cursor::after(name));
    let told = talk.ask("resources/list", &after("note:b")).await;
    assert!(told.contains("note:a") && !told.contains("note:b"), "{told}");
    for (method, params) in [
        ("resources/list", after("note:gone")),
        ("prompts/list", after("nobody")),
        ("tools/list", after("nobody")),
        ("tools/list", r#"{"cursor":""}"#.to_owned()),
        ("prompts/list", r#"{"cursor":7}"#.to_owned()),
    ] {
        let told = talk.ask(method, &params).await;
        assert_eq!(talk.code, Some(Code::InvalidParams), "{told}");
    }
}

#[tokio::test]
async fn ten_thousand_tools_come_in_pages_and_each_once() {
    let sample = SampleGate::new();
    sample.gate.catalog().replace("many", testkit::many_tools(10_000), gate::Features::default());
    let mut talk = Talk::over(sample, Revision::LATEST_LEGACY);
    let (mut names, mut params, mut pages) = (std::collections::BTreeSet::new(), "{}".to_owned(), 0);
    loop {
        let told = talk.ask("tools/list", &params).await;
        let answer: serde_json::Value = serde_json::from_str(&told).expect("JSON");
        let tools = answer["result"]["tools"].as_array().expect("a list");
        for tool in tools {
            assert!(names.insert(tool["name"].as_str().expect("a name").to_owned()), "twice: {tool}");
        }
        pages += 1;
        match answer["result"]["nextCursor"].as_str() {
            Some(cursor) => params = format!(r#"{{"cursor":"{cursor}"}}"#),
            None => break,
        }
    }
    // Five are the plain samples.
    assert_eq!((names.len(), pages), (10_005, 11));
}

#[tokio::test]
async fn a_list_that_waits_can_be_cancelled() {
    let mut talk = Talk::new(Revision::LATEST_LEGACY);
    talk.server.gate().catalog().expect("later");
    assert_eq!(talk.say(&request("tools/list", "{}")), "");
    let again = talk.ask("prompts/list", "{}").await;
    assert!(again.contains("has not been answered yet"), "{again}");
    talk.say(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#);
    assert_eq!(talk.rest(), "");
    assert!(talk.waiting.is_empty());
}

#[tokio::test]
async fn eras_do_not_disturb_each_other_on_one_connection() {
    let mut talk = Talk::with_source(Revision::LATEST_LEGACY);
    let list = modern("tools/list", "{}", "{}");
    assert!(talk.say_and_hear(&list).await.contains("cacheScope"));
    assert!(talk.ask("initialize", r#"{"protocolVersion":"2024-11-05"}"#).await.contains("2024-11-05"));
    assert!(talk.say_and_hear(&list).await.contains("cacheScope"));
    let old = talk.ask("tools/list", "{}").await;
    assert!(!old.contains("cacheScope") && !old.contains("annotations"), "{old}");
    assert!(talk.say_and_hear(&list).await.contains("annotations"));
    assert_eq!(talk.session.revision(), Revision::V2024_11_05);
}
