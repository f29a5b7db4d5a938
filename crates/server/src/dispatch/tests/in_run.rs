//! What a running call wants beyond what it may touch: a legacy client is asked about it on the stream of the call.

use gate::{ProgramSettings, approvals};
use sandbox::confine::Confiner;
use sandbox::{CompanyProxy, Launcher};

use super::*;

const FORMS: &str = r#"{"elicitation":{"form":{}}}"#;

const ASK: &str = r#"{"name":"host_ask","arguments":{"url":"http://1.1.1.1/"}}"#;

/// A conversation where nobody is waited for but the client. What is allowed is asked of a proxy that is not there.
fn talk(revision: Revision) -> Talk {
    let proxy = CompanyProxy::parse("http://127.0.0.1:9").expect("an address");
    let programs = ProgramSettings { asks: true, proxy: Some(proxy), ..ProgramSettings::default() };
    // Nothing is started.
    let confiner = Arc::new(Confiner::new(Launcher { guard: "none".into(), guard_args: Vec::new() }));
    let config = approvals::Config { wait: Duration::ZERO, ..approvals::Config::default() };
    Talk::over(SampleGate::with_people(confiner, programs, config), revision)
}

/// What the only question has as its id and its end, left out.
fn masked(told: &str, talk: &Talk) -> String {
    let all = talk.server.gate.approvals().approvals(&Caller::local_user(Via::CommandLine)).expect("a store");
    let mask = |told: String, one: &approvals::Approval| {
        told.replace(&*one.id, "ID").replace(&approvals::time(one.expires_at_ms), "TIME")
    };
    all.iter().fold(told.to_owned(), mask)
}

fn answered(result: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":1,"result":{result}}}"#)
}

#[tokio::test]
async fn a_legacy_client_is_asked_while_its_call_runs() {
    for (answer, code) in [
        (r#"{"action":"accept","content":{"answer":"once"}}"#, "no_answer"),
        (r#"{"action":"accept","content":{"answer":"deny"}}"#, "host_blocked"),
        (r#"{"action":"decline"}"#, "host_blocked"),
        (r#"{"action":"cancel"}"#, "host_blocked"),
    ] {
        let mut talk = talk(Revision::V2025_11_25).introduced(FORMS);
        let told = talk.ask("tools/call", ASK).await;
        expect![[r#"
            {"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{"message":"Allow this host? `host_ask` wants to reach 1.1.1.1:80, itself or by its program, and no rule names that (rule sandbox.hosts).\nhost: 1.1.1.1:80\narguments: {\"url\":\"http://1.1.1.1/\"}\nApproval ID; ends at TIME.","mode":"form","requestedSchema":{"properties":{"answer":{"description":"What is allowed can be taken back: toolcrib approvals grants","enum":["once","session","always","deny"],"enumNames":["Allow this host for this call","Allow this host for this session","Always allow this host","Deny"],"title":"Answer","type":"string"}},"required":["answer"],"type":"object"}}}
        "#]]
        .assert_eq(&masked(&told, &talk));
        let told = talk.say_and_hear(&answered(answer)).await;
        assert!(told.contains(&format!(r#""code":"{code}""#)), "{answer}: {told}");
    }
}

#[tokio::test]
async fn a_client_that_cannot_be_asked_is_not_and_a_modern_one_neither() {
    let mut plain = talk(Revision::V2025_11_25).introduced("{}");
    assert!(plain.ask("tools/call", ASK).await.contains(r#""code":"no_hand""#));
    let mut modern_one = talk(Revision::MODERN);
    let told = modern_one.say_and_hear(&modern("tools/call", ASK, FORMS)).await;
    assert!(told.contains(r#""code":"no_hand""#), "{told}");
}

#[tokio::test]
async fn a_call_that_its_client_gives_up_takes_its_question_back() {
    let mut talk = talk(Revision::V2025_11_25).introduced(FORMS);
    assert!(talk.ask("tools/call", ASK).await.contains("elicitation/create"));
    let given_up = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#;
    let told = talk.say_and_hear(given_up).await;
    expect![[r#"
        {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}
    "#]]
    .assert_eq(&told);
    until("the call is over", || {
        talk.rest();
        talk.waiting.is_empty()
    })
    .await;
    let (approvals, person) = (talk.server.gate.approvals(), Caller::local_user(Via::CommandLine));
    let asked = approvals.approvals(&person).expect("a store");
    assert_eq!(asked[0].status(approvals.now_ms()), approvals::State::Expired);
}
