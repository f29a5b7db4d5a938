//! Calls that a person must allow: asked in the client, in the form of each era, or answered with a handle.

use gate::approvals::{Answer, Scope};
use testkit::offer_burning_source;

use super::*;

const FORMS: &str = r#"{"elicitation":{"form":{}},"roots":{}}"#;

const BURN: &str = r#"{"name":"burn","arguments":{"a":1}}"#;

const ASKING: &str = r#"{"name":"burn","arguments":{"asks":true}}"#;

fn talk(revision: Revision, capabilities: &str) -> Talk {
    let talk = Talk::new(revision);
    offer_burning_source(talk.server.gate.catalog());
    talk.introduced(capabilities)
}

async fn ask(talk: &mut Talk, params: &str) -> String {
    talk.ask("tools/call", params).await
}

async fn ask_modern(talk: &mut Talk, params: &str, capabilities: &str) -> String {
    talk.say_and_hear(&modern("tools/call", params, capabilities)).await
}

/// With the id and the time of a question left out.
fn masked(told: &str, talk: &Talk) -> String {
    let terminal = Caller::local_user(Via::CommandLine);
    let all = talk.server.gate.approvals().approvals(&terminal).expect("a store");
    all.iter().fold(told.to_owned(), |told, one| {
        told.replace(&*one.id, "ID")
            .replace(&gate::approvals::time(one.expires_at_ms), "TIME")
            .replace(&one.expires_at_ms.to_string(), "TIME")
    })
}

fn answered(id: u32, result: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#)
}

/// The key that a modern client is asked under.
fn key(told: &str) -> &str {
    let (_, asked) = told.split_once(r#""inputRequests":{""#).expect("it is asked");
    asked.split('"').next().expect("a key")
}

fn accept(answer: &str) -> String {
    format!(r#"{{"action":"accept","content":{{"answer":"{answer}"}}}}"#)
}

#[tokio::test]
async fn a_legacy_client_is_asked_by_a_request() {
    let mut talk = talk(Revision::V2025_11_25, FORMS);
    let told = ask(&mut talk, BURN).await;
    expect![[r#"
        {"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{"message":"Allow this call? `burn` is marked destructive by its server (rule default.upstream_destructive).\narguments: {\"a\":1}\nserver: notes\nApproval ID; ends at TIME.","mode":"form","requestedSchema":{"properties":{"answer":{"description":"What is allowed can be taken back: toolcrib approvals grants","enum":["once","session","always","deny"],"enumNames":["Allow this call once","Allow this tool for this session","Always allow this tool with exactly these arguments","Deny"],"title":"Answer","type":"string"}},"required":["answer"],"type":"object"}}}
    "#]]
    .assert_eq(&masked(&told, &talk));
    let told = talk.say_and_hear(&answered(1, &accept("once"))).await;
    assert!(told.contains(r#"{\"a\":1} -"#));
    // Denied, in the words of a result.
    ask(&mut talk, BURN).await;
    let told = talk.say_and_hear(&answered(2, r#"{"action":"decline"}"#)).await;
    expect![[r#"
        {"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"`burn` was not allowed: local denied it: declined in the client; do not try the same call again unless a person asks for it"}],"_meta":{"toolcrib/error":{"code":"approval_denied","details":{"code":"approval_denied"},"message":"`burn` was not allowed: local denied it: declined in the client; do not try the same call again unless a person asks for it"}},"isError":true}}
    "#]].assert_eq(&masked(&told, &talk));
}

#[tokio::test]
async fn a_client_that_cannot_be_asked_gets_a_handle() {
    let handle = expect![[r#"
        {"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"`burn` is marked destructive by its server (rule default.upstream_destructive), so a person must allow it first. A person (owner or maintainer) has been asked and can answer until TIME. Go on with something else, and do not repeat this call until a person tells you to"}],"_meta":{"toolcrib/error":{"code":"approval_required","details":{"code":"approval_required","expires_at_ms":TIME,"roles":["owner","maintainer"]},"message":"`burn` is marked destructive by its server (rule default.upstream_destructive), so a person must allow it first. A person (owner or maintainer) has been asked and can answer until TIME. Go on with something else, and do not repeat this call until a person tells you to"}},"isError":true}}
    "#]];
    let mut plain = talk(Revision::V2025_11_25, "{}");
    let told = ask(&mut plain, BURN).await;
    handle.assert_eq(&masked(&told, &plain));
    // It says that it can, and cannot.
    let mut deaf = talk(Revision::V2025_11_25, FORMS);
    deaf.outbox = None;
    let told = ask(&mut deaf, BURN).await;
    handle.assert_eq(&masked(&told, &deaf));
    let mut broken = talk(Revision::V2025_11_25, FORMS);
    ask(&mut broken, BURN).await;
    let told = broken
        .say_and_hear(r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no such method"}}"#)
        .await;
    handle.assert_eq(&masked(&told, &broken));
    // Somebody answers, and the same call runs.
    let (approvals, terminal) =
        (broken.server.gate.approvals().clone(), Caller::local_user(Via::CommandLine));
    let id = approvals.approvals(&terminal).expect("a store")[0].id.clone();
    approvals
        .answer(&id, &Answer::Approve { scope: Scope::Once, note: None }, &terminal, None)
        .expect("an answer");
    assert!(ask(&mut broken, BURN).await.contains(r#"{\"a\":1} -"#));
}

#[tokio::test]
async fn an_answer_elsewhere_takes_the_question_back() {
    let mut talk = talk(Revision::V2025_11_25, FORMS);
    assert!(ask(&mut talk, BURN).await.contains("elicitation/create"));
    let (approvals, terminal) = (talk.server.gate.approvals().clone(), Caller::local_user(Via::CommandLine));
    let id = approvals.approvals(&terminal).expect("a store")[0].id.clone();
    approvals
        .answer(&id, &Answer::Approve { scope: Scope::Once, note: None }, &terminal, None)
        .expect("an answer");
    let told = talk.hear().await;
    let told = if told.contains("result") { told } else { told + &talk.hear().await };
    expect![[r#"
        {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}
        {"jsonrpc":"2.0","id":1,"result":{"content":[{"text":"{\"a\":1} -","type":"text"}]}}
    "#]]
    .assert_eq(&told);
}

#[tokio::test]
async fn a_modern_client_is_asked_in_the_result() {
    let mut talk = talk(Revision::LATEST_LEGACY, "{}");
    let told = ask_modern(&mut talk, BURN, FORMS).await;
    assert!(
        masked(&told, &talk).contains(r#""resultType":"input_required","inputRequests":{"toolcrib_approval_ID":{"method":"elicitation/create","params":{"message":"Allow this call?"#),
        "{told}"
    );
    let yes = format!(r#"{{"{}":{}}}"#, key(&told), accept("once"));
    let again = super::rounds::retry(BURN, &told, &yes);
    let changed = again.replace(r#""a":1"#, r#""a":2"#);
    let told = ask_modern(&mut talk, &changed, FORMS).await;
    assert_eq!(talk.code, Some(Code::InvalidParams), "an answer is for what was asked: {told}");
    let told = ask_modern(&mut talk, &again, FORMS).await;
    assert!(told.contains(r#"{\"a\":1} -"#), "{told}");
    let told = ask_modern(&mut talk, &again, FORMS).await;
    assert_eq!(talk.code, Some(Code::InvalidParams), "and once: {told}");
    let told = ask_modern(&mut talk, BURN, "{}").await;
    assert!(told.contains(r#""code":"approval_required""#) && told.contains(r#""isError":true"#), "{told}");
}

#[tokio::test]
async fn a_tool_asks_after_us_in_both_eras() {
    let mut legacy = talk(Revision::V2025_11_25, FORMS);
    assert!(ask(&mut legacy, ASKING).await.contains("elicitation/create"));
    let told = legacy.say_and_hear(&answered(1, &accept("once"))).await;
    assert!(told.contains("\"id\":2,\"method\":\"roots/list\""));
    let told = legacy.say_and_hear(&answered(2, r#"{"roots":[7]}"#)).await;
    assert!(told.contains(r#"{\"who\":{\"roots\":[7]}}"#));

    let mut talk = talk(Revision::LATEST_LEGACY, "{}");
    let told = ask_modern(&mut talk, ASKING, FORMS).await;
    let yes = format!(r#"{{"{}":{}}}"#, key(&told), accept("once"));
    let told = ask_modern(&mut talk, &super::rounds::retry(ASKING, &told, &yes), FORMS).await;
    assert!(told.contains("roots/list"), "{told}");
    let again = super::rounds::retry(ASKING, &told, r#"{"who":{"roots":[8]}}"#);
    let told = ask_modern(&mut talk, &again, FORMS).await;
    assert!(told.contains(r#"{\"who\":{\"roots\":[8]}}"#), "{told}");
}
