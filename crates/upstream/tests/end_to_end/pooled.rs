//! Who shares a connection with whom, and how many calls a server gets at once.

use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::poll;
use tool_api::{Client, Context, Input, Outcome, Payload, ToolError};
use upstream::Upstream;

use crate::eras::of;
use crate::world::*;

const FORMS: &str = r#"{"elicitation":{"form":{}}}"#;

/// A client of `caller` in a session, which declares `capabilities`.
fn client(caller: &str, conversation: u64, capabilities: &'static str) -> Context {
    let capabilities = Bytes::from_static(capabilities.as_bytes());
    let (caller, over) = (caller.into(), Some(tool_api::Cancel::new()));
    let client = Client { caller, capabilities, conversation, over, ..Client::default() };
    Context { client, ..context(None) }
}

async fn run(it: &Upstream, name: &str, json: &str, cx: &Context) -> Result<Outcome, ToolError> {
    let tool = tool(it, name);
    tokio::time::timeout(PATIENCE, tool.run(arguments(json), cx)).await.expect("an answer in time")
}

/// The process that answers this client.
async fn process_of(it: &Upstream, cx: &Context) -> PathBuf {
    path(&shown(run(it, "it_pid", "{}", cx).await))
}

fn isolated(isolation: &str, more: &str) -> Arc<Upstream> {
    upstream(&format!("{}\nisolation = \"{isolation}\"\n{more}", opened(&fixture_table(&[]))))
}

/// Which of these clients are answered by one process: a letter for each, in the order in which they come.
async fn shared(isolation: &str, clients: &[(&str, u64, &'static str)]) -> String {
    let it = isolated(isolation, "");
    it.connect().await.expect("connected");
    let mut processes = Vec::new();
    let mut letters = String::new();
    for (caller, conversation, capabilities) in clients {
        let process = process_of(&it, &client(caller, *conversation, capabilities)).await;
        let at = processes.iter().position(|known| *known == process).unwrap_or(processes.len());
        if at == processes.len() {
            processes.push(process);
        }
        letters.push(char::from(b'a' + u8::try_from(at).expect("few")));
    }
    let (running, is_shared) = (it.status().processes, isolation == "shared");
    assert_eq!(running, if is_shared { 1 } else { processes.len() + 1 }, "the lists are read over one more");
    it.end().await;
    for process in &processes {
        gone(process).await;
    }
    letters
}

#[tokio::test]
async fn who_shares_a_process_is_for_the_table_to_say() {
    let clients = [("ann", 1, "{}"), ("ann", 2, "{}"), ("bob", 3, "{}"), ("ann", 1, FORMS), ("ann", 1, "{}")];
    assert_eq!(shared("shared", &clients).await, "aaaaa");
    assert_eq!(shared("caller", &clients).await, "aabca");
    assert_eq!(shared("session", &clients).await, "abcda");
}

#[tokio::test]
async fn a_client_without_sessions_is_in_one_with_its_caller() {
    let it = isolated("session", "");
    it.connect().await.expect("connected");
    let of = |caller, conversation| {
        let cx = client(caller, conversation, "{}");
        let client = Client { over: None, ..cx.client.clone() };
        Context { client, ..cx }
    };
    let ann = process_of(&it, &of("ann", 1)).await;
    assert_eq!(process_of(&it, &of("ann", 2)).await, ann);
    assert_ne!(process_of(&it, &of("bob", 3)).await, ann);
}

#[tokio::test]
async fn a_process_of_its_own_is_told_what_its_client_can_do() {
    let it = isolated("caller", "");
    it.connect().await.expect("connected");
    for (capabilities, expected) in [("{}", "{}"), (FORMS, r#"{\"elicitation\": {\"form\": {}}}"#)] {
        let said = shown(run(&it, "it_declared", "{}", &client("ann", 1, capabilities)).await);
        assert!(said.contains(&format!("\"{expected}\"")), "{said}");
    }
}

#[tokio::test]
async fn one_that_nobody_uses_is_ended_and_then_the_first_one_too() {
    let it = isolated("caller", "idle_timeout = \"1s\"");
    it.connect().await.expect("connected");
    let process = process_of(&it, &client("ann", 1, "{}")).await;
    assert_eq!(it.status().processes, 2);
    gone(&process).await;
    // On a busy machine the first one has gone as well by now.
    let report = it.status();
    let left = (report.processes, report.state.word());
    assert!([(1, "connected"), (0, "stopped")].contains(&left), "{left:?}");
    until(&it, |offer| offer.state.word() == "stopped").await;
    assert!(process_of(&it, &client("ann", 1, "{}")).await.exists());
}

#[tokio::test]
async fn one_whose_session_is_over_is_ended_soon() {
    let it = isolated("session", "");
    it.connect().await.expect("connected");
    let session = |conversation, over: &tool_api::Cancel| {
        let cx = client("ann", conversation, "{}");
        let client = Client { over: Some(over.clone()), ..cx.client.clone() };
        Context { client, ..cx }
    };
    let (over, goes_on) = (tool_api::Cancel::new(), tool_api::Cancel::new());
    let process = process_of(&it, &session(1, &over)).await;
    let other = process_of(&it, &session(2, &goes_on)).await;
    over.cancel();
    gone(&process).await;
    assert!(other.exists() && it.status().processes == 2);
}

#[tokio::test]
async fn one_that_dies_takes_no_other_with_it() {
    let it = isolated("caller", "");
    it.connect().await.expect("connected");
    let (ann, bob) = (client("ann", 1, "{}"), client("bob", 2, "{}"));
    let (before, others) = (process_of(&it, &ann).await, process_of(&it, &bob).await);
    assert!(shown(run(&it, "it_die", "{}", &ann).await).starts_with("upstream_gone"));
    gone(&before).await;
    assert_eq!(it.status().state.word(), "connected");
    assert_ne!(process_of(&it, &ann).await, before);
    assert_eq!(process_of(&it, &bob).await, others);
    // The end is one for all of them.
    end(&it, &others).await;
}

#[tokio::test]
async fn as_many_calls_run_at_once_as_the_table_says_and_whoever_gives_up_makes_way() {
    let it = upstream(&format!("{}\nconcurrency = 1", fixture_table(&[])));
    it.connect().await.expect("connected");
    let [hang, leave, echo] = ["it_hang", "it_leave", "it_echo"].map(|name| tool(&it, name));
    let cx = context(None);
    let mut first = hang.run(arguments("{}"), &cx);
    // It would end the server, but there is no slot for it.
    let mut second = leave.run(arguments(r#"{"code":0}"#), &cx);
    let mut third = echo.run(arguments("{}"), &cx);
    for call in [&mut first, &mut second, &mut third] {
        assert!(poll!(call).is_pending());
    }
    drop(second);
    drop(first);
    assert!(shown(tokio::time::timeout(PATIENCE, third).await.expect("a slot")).contains("content"));
    // The server was told, and goes on.
    assert!(shown(call(&it, "it_cancelled", "{}").await).contains("nobody waits"));
}

#[tokio::test]
async fn what_was_cancelled_while_it_waited_for_its_slot_is_not_sent() {
    let it = upstream(&format!("{}\nconcurrency = 1", fixture_table(&[])));
    it.connect().await.expect("connected");
    let (slow, leave, cx) = (tool(&it, "it_slow"), tool(&it, "it_leave"), context(None));
    let mut first = slow.run(arguments(r#"{"ms":200}"#), &cx);
    let cancelled = context(None);
    let mut second = leave.run(arguments(r#"{"code":0}"#), &cancelled);
    assert!(poll!(&mut first).is_pending() && poll!(&mut second).is_pending());
    cancelled.cancel.cancel();
    assert!(first.await.is_ok());
    let second = tokio::time::timeout(PATIENCE, second).await.expect("a slot");
    assert_eq!(second.expect_err("it was cancelled").code(), "cancelled");
    assert!(shown(call(&it, "it_echo", "{}").await).contains("content"), "it was not told to leave");
}

#[tokio::test]
async fn whoever_waits_too_long_for_a_slot_is_told_so() {
    let it = upstream(&format!("{}\nconcurrency = 1\ntimeout = \"1s\"", fixture_table(&[])));
    it.connect().await.expect("connected");
    let (hang, cx) = (tool(&it, "it_hang"), context(None));
    let mut first = hang.run(arguments("{}"), &cx);
    assert!(poll!(&mut first).is_pending());
    let said = shown(call(&it, "it_echo", "{}").await);
    let expected = "upstream_busy: waited 980ms for a slot at `it` (`concurrency = 1`); nothing was sent, so try again later";
    assert_eq!(said, expected);
}

const ABLE: &str = r#"{"roots":{}}"#;

/// Calls a tool that asks for its client's folders. Returns the key and the state to go on with, and the hold.
async fn asked(it: &Upstream) -> (String, Arc<str>, Option<tool_api::Hold>) {
    const ASK: &str = r#"{"rounds":[[["roots/list",null]]]}"#;
    let outcome = run(it, "it_ask", ASK, &of(7, ABLE)).await.expect("asked");
    let Payload::InputRequired { requests: Some(requests), state: Some(state), hold } = outcome.payload
    else {
        panic!("not asked")
    };
    let requests: serde_json::Value = serde_json::from_slice(&requests).expect("JSON");
    let key = requests.as_object().and_then(|all| all.keys().next()).expect("one").clone();
    (key, state, hold)
}

/// The further round that answers.
fn answering(key: &str, state: Arc<str>) -> Context {
    let responses = Some(Bytes::from(format!("{{\"{key}\":{{\"roots\":[]}}}}")));
    Context { input: Some(Input { responses, state: Some(state) }), ..of(7, ABLE) }
}

#[tokio::test]
async fn a_call_that_waits_for_its_client_gives_its_slot_back_and_goes_on_without_one() {
    let it = upstream(&format!("{}\nconcurrency = 1", script_table("eras.py", &["legacy"])));
    it.connect().await.expect("connected");
    let (key, state, hold) = asked(&it).await;
    let (other, cx) = (tool(&it, "it_ask"), of(7, ABLE));
    let quick = r#"{"rounds":[]}"#;
    let beside = tokio::time::timeout(PATIENCE, other.run(arguments(quick), &cx)).await;
    assert!(beside.expect("a slot is free while a person thinks").is_ok());
    // One is under way when the person has answered; the server may not look at it before it has the answer.
    let wait = tool(&it, "it_wait");
    let mut waits = wait.run(arguments("{}"), &cx);
    assert!(poll!(&mut waits).is_pending());
    assert!(shown(run(&it, "it_ask", "{}", &answering(&key, state)).await).contains("roots"));
    drop((hold, waits));
}

#[tokio::test]
async fn a_call_that_waits_for_its_client_keeps_nobody_who_takes_the_place_of_its_server() {
    let table = script_table("eras.py", &["legacy"]);
    let (old, new) = (upstream(&table), upstream(&format!("{table}\nenv = {{ CHANGED = \"1\" }}")));
    for one in [&old, &new] {
        one.connect().await.expect("connected");
    }
    let (key, state, _hold) = asked(&old).await;
    assert!(!old.has_calls());
    new.follow(&old);
    old.end().await;
    let error = run(&new, "it_ask", "{}", &answering(&key, state)).await.expect_err("it is gone");
    assert!(error.to_string().contains("make a new call"), "{error}");
}

#[tokio::test]
async fn one_of_a_caller_is_started_again_though_the_first_would_not_be() {
    let it = isolated("caller", "restart = \"never\"");
    it.connect().await.expect("connected");
    let (ann, bob) = (client("ann", 1, "{}"), client("bob", 2, "{}"));
    let (before, others) = (process_of(&it, &ann).await, process_of(&it, &bob).await);
    let said = shown(run(&it, "it_die", "{}", &ann).await);
    assert!(said.contains("it is started again with the next call"), "{said}");
    assert_ne!(process_of(&it, &ann).await, before);
    assert_eq!(process_of(&it, &bob).await, others);
    assert!(!it.awaits_a_person() && it.status().state.word() == "connected");
}
