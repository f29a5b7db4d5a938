//! What legacy servers ask of clients in the middle of a call: it becomes a round more of that call, and reaches no
//! other client.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tool_api::{Context, Event, Hold, Input, Outcome, Payload, ToolError};
use upstream::Upstream;

use crate::eras::{connected, of};
use crate::web::{Answer, Request, Web};
use crate::world::*;

/// A client that can be asked for everything.
const ABLE: &str = r#"{"roots":{},"sampling":{"tools":{}},"elicitation":{"form":{},"url":{}}}"#;

async fn run(it: &Upstream, name: &str, json: &str, cx: &Context) -> Result<Outcome, ToolError> {
    let tool = tool(it, name);
    tokio::time::timeout(PATIENCE, tool.run(arguments(json), cx)).await.expect("an answer in time")
}

/// What a client is asked: the requests by their keys, in the order of the keys' numbers, and the state. Dropping
/// it gives the call up.
struct Asked {
    requests: Vec<(String, serde_json::Value)>,
    state: Arc<str>,
    hold: Option<Hold>,
}

impl Asked {
    #[track_caller]
    fn of(called: Result<Outcome, ToolError>) -> Asked {
        let payload = called.expect("an outcome").payload;
        let Payload::InputRequired { requests: Some(requests), state: Some(state), hold } = payload else {
            panic!("not asked: {payload:?}")
        };
        let requests: serde_json::Value = serde_json::from_slice(&requests).expect("JSON");
        let mut requests: Vec<_> = requests.as_object().expect("an object").clone().into_iter().collect();
        requests.sort_by_key(|(key, _)| key.rsplit('_').next().and_then(|number| number.parse::<u64>().ok()));
        Asked { requests, state, hold }
    }

    fn methods(&self) -> Vec<&str> {
        self.requests.iter().map(|(_, request)| request["method"].as_str().expect("a method")).collect()
    }

    /// The next round's context: answers in the order of the questions; those that are empty are left out.
    fn answered(&self, cx: Context, answers: &[&str]) -> Context {
        let pairs = self.requests.iter().zip(answers).filter(|(_, answer)| !answer.is_empty());
        let responses: Vec<_> = pairs.map(|((key, _), answer)| format!("\"{key}\":{answer}")).collect();
        let responses = Bytes::from(format!("{{{}}}", responses.join(",")));
        Context { input: Some(Input { responses: Some(responses), state: Some(self.state.clone()) }), ..cx }
    }
}

const ROOTS: &str = r#"["roots/list",null]"#;
const FORM: &str =
    r#"["elicitation/create",{"message":"Who?","requestedSchema":{"type":"object","properties":{}}}]"#;
const SAMPLING: &str = r#"["sampling/createMessage",{"messages":[],"maxTokens":5}]"#;

fn rounds(rounds: &[&[&str]]) -> String {
    let rounds: Vec<_> = rounds.iter().map(|round| format!("[{}]", round.join(","))).collect();
    format!("{{\"rounds\":[{}]}}", rounds.join(","))
}

/// The text of a result, as JSON.
fn said(called: Result<Outcome, ToolError>) -> serde_json::Value {
    let result: serde_json::Value = serde_json::from_str(&shown(called)).expect("JSON");
    serde_json::from_str(result["content"][0]["text"].as_str().expect("a text")).expect("JSON")
}

#[tokio::test]
async fn one_question_is_one_round_more() {
    let it = connected(&["legacy"]).await;
    let asked = Asked::of(run(&it, "it_ask", &rounds(&[&[FORM]]), &of(7, ABLE)).await);
    let [(key, request)] = &asked.requests[..] else { panic!("one question") };
    assert!(key.starts_with("elicitation_"), "{key}");
    let expected = r#"{"method":"elicitation/create","params":{"message":"Who?","requestedSchema":{"properties":{},"type":"object"}}}"#;
    assert_eq!(*request, serde_json::from_str::<serde_json::Value>(expected).expect("JSON"));
    let answer = r#"{"action":"accept","content":{"a":1.50}}"#;
    let cx = asked.answered(of(7, ABLE), &[answer]);
    let done = said(run(&it, "it_ask", "{}", &cx).await);
    assert_eq!(done.to_string(), r#"[[{"action":"accept","content":{"a":1.5}}]]"#);
    // A state is good for one round.
    let again = shown(run(&it, "it_ask", "{}", &cx).await);
    assert!(again.contains("has ended or waited too long; make a new call"), "{again}");
}

#[tokio::test]
async fn three_questions_at_once_are_one_round_and_two_in_turn_are_two() {
    let it = connected(&["legacy"]).await;
    let all = [FORM, SAMPLING, ROOTS];
    let asked = Asked::of(run(&it, "it_ask", &rounds(&[&all, &[ROOTS]]), &of(7, ABLE)).await);
    assert_eq!(asked.methods(), ["elicitation/create", "sampling/createMessage", "roots/list"]);
    let answers =
        [r#"{"action":"decline"}"#, r#"{"role":"assistant","content":{},"model":"m"}"#, r#"{"roots":[]}"#];
    // What was left out is asked for again, under the same key.
    let some = Asked::of(
        run(&it, "it_ask", "{}", &asked.answered(of(7, ABLE), &[answers[0], "", answers[2]])).await,
    );
    assert_eq!(some.requests, [asked.requests[1].clone()]);
    let turn = Asked::of(run(&it, "it_ask", "{}", &some.answered(of(7, ABLE), &[answers[1]])).await);
    assert_eq!(turn.methods(), ["roots/list"]);
    let done = said(
        run(&it, "it_ask", "{}", &turn.answered(of(7, ABLE), &[r#"{"roots":[{"uri":"file:///a"}]}"#])).await,
    );
    let expected = r#"[[{"action":"decline"},{"content":{},"model":"m","role":"assistant"},{"roots":[]}],[{"roots":[{"uri":"file:///a"}]}]]"#;
    assert_eq!(done.to_string(), expected);
}

#[tokio::test]
async fn what_is_no_answer_ends_the_call() {
    let it = connected(&["legacy"]).await;
    for answer in ["[]", "5", "{}", r#"{"action":"perhaps"}"#] {
        let asked = Asked::of(run(&it, "it_ask", &rounds(&[&[FORM]]), &of(7, ABLE)).await);
        let error =
            run(&it, "it_ask", "{}", &asked.answered(of(7, ABLE), &[answer])).await.expect_err("refused");
        assert_eq!(error.protocol().map(|protocol| protocol.code), Some(-32_602), "{answer}");
    }
    let cancelled = said(run(&it, "it_cancelled", "{}", &of(7, ABLE)).await);
    assert_eq!(cancelled.as_array().map(Vec::len), Some(4), "{cancelled}");
}

#[tokio::test]
async fn a_client_is_not_asked_for_what_it_has_not_declared() {
    let it = connected(&["legacy"]).await;
    let url = r#"["elicitation/create",{"mode":"url","elicitationId":"e","url":"https://a","message":"m"}]"#;
    for (question, declared, required) in [
        (SAMPLING, r#"{"roots":{}}"#, r#"{"requiredCapabilities":{"sampling":{}}}"#),
        (FORM, r#"{"elicitation":{"url":{}}}"#, r#"{"requiredCapabilities":{"elicitation":{"form":{}}}}"#),
        (url, r#"{"elicitation":{}}"#, r#"{"requiredCapabilities":{"elicitation":{"url":{}}}}"#),
    ] {
        let error = run(&it, "it_ask", &rounds(&[&[question]]), &of(7, declared)).await.expect_err("refused");
        let protocol = error.protocol().expect("the protocol's words");
        assert_eq!((protocol.code, protocol.data.as_deref()), (-32_021, Some(required)), "{question}");
    }
    // Servers ask for roots on their own account, so on a shared pipe that ends nobody's call.
    let told = said(run(&it, "it_ask", &rounds(&[&[ROOTS]]), &of(7, "{}")).await);
    assert_eq!(told[0][0]["code"], -32_601, "{told}");
    let asked = Asked::of(run(&it, "it_ask", &rounds(&[&[FORM]]), &of(7, r#"{"elicitation":{}}"#)).await);
    assert_eq!(asked.methods(), ["elicitation/create"], "an empty declaration means forms");
}

#[tokio::test]
async fn a_question_waits_until_no_other_client_can_be_meant() {
    let it = connected(&["legacy"]).await;
    let other = tokio::spawn({
        let (wait, cx) = (tool(&it, "it_wait"), of(8, ABLE));
        async move { shown(wait.run(arguments(r#"{"for":"go"}"#), &cx).await) }
    });
    until_under_way(&it).await;
    let asking = {
        let it = it.clone();
        tokio::spawn(async move { run(&it, "it_ask", &rounds(&[&[ROOTS]]), &of(7, ABLE)).await })
    };
    assert!(shown(run(&it, "it_go", r#"{"for":"go"}"#, &of(8, ABLE)).await).contains("went"));
    assert!(other.await.expect("no panic").contains("waited"));
    let asked = Asked::of(asking.await.expect("no panic"));
    let done = said(run(&it, "it_ask", "{}", &asked.answered(of(7, ABLE), &[r#"{"roots":[]}"#])).await);
    assert_eq!(done.to_string(), r#"[[{"roots":[]}]]"#);
    assert_eq!(it.status().processes, 1, "nobody had to think");
}

#[tokio::test]
async fn while_a_person_thinks_others_are_asked_by_further_processes() {
    let it = connected(&["legacy"]).await;
    let ask = async |conversation| {
        Asked::of(run(&it, "it_ask", &rounds(&[&[FORM]]), &of(conversation, ABLE)).await)
    };
    // However many calls of its own are under way, a client is asked; whatever they do, so is the next.
    let asked = [(7, ask(7).await), (7, ask(7).await), (8, ask(8).await), (9, ask(9).await)];
    assert_eq!(it.status().processes, 3);
    for (conversation, asked) in asked {
        let answer = format!(r#"{{"action":"accept","content":{{"of":{conversation}}}}}"#);
        let cx = asked.answered(of(conversation, ABLE), &[&answer]);
        let done = said(run(&it, "it_ask", "{}", &cx).await);
        assert_eq!(done[0][0]["content"]["of"], conversation);
    }
    // Who comes later is served by those there are.
    drop([ask(10).await, ask(11).await]);
    assert_eq!(it.status().processes, 3);
}

#[tokio::test]
async fn what_a_client_cannot_answer_it_is_not_asked_again() {
    let it = connected(&["legacy"]).await;
    const SAMPLES: &str = r#"{"sampling":{}}"#;
    run(&it, "it_careful", "{}", &of(7, SAMPLES)).await.expect_err("refused");
    for (capabilities, expected) in
        [("{}", serde_json::json!({})), (SAMPLES, serde_json::json!({ "sampling": {} }))]
    {
        assert_eq!(said(run(&it, "it_careful", "{}", &of(7, capabilities)).await), expected);
    }
    drop(Asked::of(run(&it, "it_careful", "{}", &of(7, ABLE)).await));
    assert_eq!(it.status().processes, 4, "one for each set of capabilities");
    // What asks nothing is done where it was done before.
    assert!(shown(run(&it, "it_go", r#"{"for":"x"}"#, &of(7, ABLE)).await).contains("went"));
    assert_eq!(said(run(&it, "it_history", "{}", &of(7, "{}")).await), serde_json::json!(["went"]));
}

#[tokio::test]
async fn beyond_as_many_processes_as_there_may_be_calls_wait() {
    let table = format!("{}\nprocesses = 1\ntimeout = \"1s\"", script_table("eras.py", &["legacy"]));
    let it = upstream(&table);
    it.connect().await.expect("connected");
    let ask = async |conversation| run(&it, "it_ask", &rounds(&[&[FORM]]), &of(conversation, ABLE)).await;
    let asked = Asked::of(ask(7).await);
    let refused = shown(ask(8).await);
    assert!(refused.contains("all of its connections are in use by other callers"), "{refused}");
    let cx = asked.answered(of(7, ABLE), &[r#"{"action":"decline"}"#]);
    assert!(run(&it, "it_ask", "{}", &cx).await.is_ok());
    drop(Asked::of(ask(8).await));
    assert_eq!(it.status().processes, 1);
}

/// Waits until the server has been told of a call that waits.
async fn until_under_way(it: &Upstream) {
    // The server takes messages in order, so what came before this has been taken in.
    assert!(shown(run(it, "it_levels", "{}", &of(8, ABLE)).await).contains("[]"));
}

#[tokio::test]
async fn a_server_that_does_not_wait_is_not_waited_for() {
    let it = connected(&["legacy"]).await;
    assert!(shown(run(&it, "it_late", "{}", &of(7, ABLE)).await).contains("no need"));
}

/// A call of client 7 that waits for the answer to what `late` asks, as if it had asked that itself.
async fn beside(it: &Arc<Upstream>) -> tokio::task::JoinHandle<Result<Outcome, ToolError>> {
    let (wait, cx) = (tool(it, "it_wait"), of(7, ABLE));
    let beside = tokio::spawn(async move { wait.run(arguments(r#"{"for":"never"}"#), &cx).await });
    until_under_way(it).await;
    beside
}

/// What it has come to.
async fn came(beside: tokio::task::JoinHandle<Result<Outcome, ToolError>>) -> Result<Outcome, ToolError> {
    tokio::time::timeout(PATIENCE, beside).await.expect("it goes on").expect("no panic")
}

/// Has `late` ask for roots, and answered for the `times`th time while it waits for its client.
async fn answered_while_it_waits(it: &Upstream, times: usize) -> Asked {
    const LATE: &str = r#"{"for":"later"}"#;
    let asked = Asked::of(run(it, "it_late", LATE, &of(7, ABLE)).await);
    assert!(shown(run(it, "it_go", LATE, &of(7, ABLE)).await).contains("went"));
    let heard = async {
        // What the server says is taken in in the order in which it says it.
        while said(run(it, "it_history", "{}", &of(7, ABLE)).await).to_string().matches("late").count()
            < times
        {}
    };
    tokio::time::timeout(PATIENCE, heard).await.expect("it is answered");
    asked
}

#[tokio::test]
async fn what_an_answered_call_seemed_to_ask_was_asked_by_another_of_the_same_client() {
    let it = connected(&["legacy"]).await;
    let roots = |asked: &Asked| asked.answered(of(7, ABLE), &[r#"{"roots":[]}"#]);
    // It is answered before its client is asked, ...
    let other = beside(&it).await;
    assert!(shown(run(&it, "it_late", "{}", &of(7, ABLE)).await).contains("no need"));
    let asked = Asked::of(came(other).await);
    assert!(shown(run(&it, "it_wait", "{}", &roots(&asked)).await).contains("waited"));
    // ... or before its client answers, ...
    let other = beside(&it).await;
    let asked = answered_while_it_waits(&it, 2).await;
    assert!(shown(run(&it, "it_late", "{}", &roots(&asked)).await).contains("no need"));
    assert!(shown(came(other).await).contains("waited"));
    // ... or its client never answers.
    let other = beside(&it).await;
    drop(answered_while_it_waits(&it, 3).await);
    drop(Asked::of(came(other).await));
}

#[tokio::test]
async fn what_no_call_can_have_asked_any_more_is_refused() {
    let it = connected(&["legacy"]).await;
    assert!(shown(run(&it, "it_late", "{}", &of(7, ABLE)).await).contains("no need"));
    let heard =
        async { while said(run(&it, "it_stray", "{}", &of(7, ABLE)).await) == serde_json::json!([]) {} };
    tokio::time::timeout(PATIENCE, heard).await.expect("the server hears it");
}

#[tokio::test]
async fn an_error_that_asks_to_visit_an_address_is_a_question() {
    let it = connected(&["legacy"]).await;
    let error = run(&it, "it_url", "{}", &of(7, r#"{"elicitation":{}}"#)).await.expect_err("refused");
    assert_eq!(error.protocol().map(|protocol| protocol.code), Some(-32_021));

    let it = connected(&["legacy"]).await;
    let mut events = it.events();
    let asked = Asked::of(run(&it, "it_url", "{}", &of(7, ABLE)).await);
    let [(key, request)] = &asked.requests[..] else { panic!("one question") };
    let expected = r#"{"method":"elicitation/create","params":{"message":"Go there","mode":"url","url":"https://example.com/"}}"#;
    assert_eq!(request.to_string(), expected);
    assert!(shown(run(&it, "it_complete", r#"{"id":"e1"}"#, &of(7, ABLE)).await).contains("told"));
    let event = tokio::time::timeout(PATIENCE, events.recv()).await.expect("in time").expect("an event");
    let Event::ElicitationComplete { conversation, id } = event else { panic!("{event:?}") };
    assert_eq!((conversation, id.as_ref()), (7, key.as_str()));
    let done = run(&it, "it_url", "{}", &asked.answered(of(7, ABLE), &[r#"{"action":"accept"}"#])).await;
    assert!(shown(done).contains("thanks"));
}

#[tokio::test]
async fn a_parked_call_is_given_up_in_the_end() {
    let it = connected(&["legacy"]).await;
    let asked = Asked::of(run(&it, "it_ask", &rounds(&[&[ROOTS]]), &of(7, ABLE)).await);
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(10 * 60 + 1)).await;
    tokio::time::resume();
    let cx = asked.answered(of(7, ABLE), &[r#"{"roots":[]}"#]);
    let error = run(&it, "it_ask", "{}", &cx).await.expect_err("it is gone");
    assert_eq!(error.protocol().map(|protocol| protocol.code), Some(-32_602));
    let cancelled = said(run(&it, "it_cancelled", "{}", &of(7, ABLE)).await);
    assert_eq!(cancelled.as_array().map(Vec::len), Some(1), "{cancelled}");
    let heard = async {
        loop {
            let unanswered = said(run(&it, "it_unanswered", "{}", &of(7, ABLE)).await).to_string();
            if unanswered != "[]" {
                return unanswered;
            }
        }
    };
    let heard = tokio::time::timeout(PATIENCE, heard).await.expect("the server hears it");
    assert_eq!(heard, r#"["the client did not answer"]"#);
}

#[tokio::test]
async fn a_call_that_nobody_goes_on_with_is_given_up_at_once() {
    let it = connected(&["legacy"]).await;
    drop(Asked::of(run(&it, "it_ask", &rounds(&[&[ROOTS]]), &of(7, ABLE)).await));
    let cancelled = said(run(&it, "it_cancelled", "{}", &of(7, ABLE)).await);
    assert_eq!(cancelled.as_array().map(Vec::len), Some(1), "{cancelled}");
    // The client may come back to what is left.
    let mut asked = Asked::of(run(&it, "it_ask", &rounds(&[&[ROOTS]]), &of(7, ABLE)).await);
    asked.hold.take().expect("something is kept").leave();
    let done = said(run(&it, "it_ask", "{}", &asked.answered(of(7, ABLE), &[r#"{"roots":[]}"#])).await);
    assert_eq!(done.to_string(), r#"[[{"roots":[]}]]"#);
}

#[tokio::test]
async fn a_parked_call_whose_server_ends_is_said_to_be_gone() {
    let it = connected(&["legacy"]).await;
    let asked = Asked::of(run(&it, "it_ask", &rounds(&[&[ROOTS]]), &of(7, ABLE)).await);
    let hold = asked.hold.clone().expect("something is kept");
    assert!(run(&it, "it_die", "{}", &of(7, ABLE)).await.is_err());
    tokio::time::timeout(PATIENCE, hold.over()).await.expect("nobody need answer any more");
    let error = run(&it, "it_ask", "{}", &asked.answered(of(7, ABLE), &[r#"{"roots":[]}"#])).await;
    assert_eq!(error.expect_err("it is gone").protocol().map(|protocol| protocol.code), Some(-32_602));
}

#[tokio::test]
async fn log_messages_reach_those_who_want_them_and_the_level_is_told_when_it_falls() {
    let it = connected(&["legacy"]).await;
    let levels = r#"{"levels":["debug","info","warning","error"]}"#;
    for (level, expected) in [
        (None, &[][..]),
        (Some("error"), &["error"]),
        (Some("info"), &["info", "warning", "error"]),
        (Some("warning"), &["warning", "error"]),
    ] {
        let reports = Arc::new(Reports::default());
        let client = tool_api::Client { log_level: level, conversation: 7, ..tool_api::Client::default() };
        let cx = Context { client, ..context(Some(reports.clone())) };
        assert!(shown(run(&it, "it_log", levels, &cx).await).contains("logged"));
        let expected: Vec<_> = expected
            .iter()
            .map(|level| format!(r#"log {{"level": "{level}", "data": "{level}"}}"#))
            .collect();
        assert_eq!(*reports.0.lock().expect("sound"), expected, "{level:?}");
    }
    let told = said(run(&it, "it_levels", "{}", &of(7, "{}")).await);
    assert_eq!(told.to_string(), r#"["error","info"]"#);
}

#[tokio::test]
async fn calls_that_want_log_messages_begin_when_the_server_knows_it() {
    let it = connected(&["legacy", "slow levels"]).await;
    let wanting = || {
        let client =
            tool_api::Client { log_level: Some("error"), conversation: 7, ..tool_api::Client::default() };
        Context { client, ..context(None) }
    };
    let (one, two, plain) = (wanting(), wanting(), of(7, ABLE));
    let log = |cx| run(&it, "it_log", r#"{"levels":[]}"#, cx);
    let (one, two, went) =
        tokio::join!(log(&one), log(&two), run(&it, "it_go", r#"{"for":"level"}"#, &plain));
    assert!(shown(one).contains("logged") && shown(two).contains("logged") && shown(went).contains("went"));
    let history = said(run(&it, "it_history", "{}", &plain).await);
    assert_eq!(history.to_string(), r#"["went","logged","logged"]"#);
    assert_eq!(said(run(&it, "it_levels", "{}", &plain).await).to_string(), r#"["error"]"#);
}

/// A legacy server over HTTP that asks for roots on the stream of each call, and answers it when it was answered.
fn asking(request: &Request, feed: &crate::web::Feed) -> Answer {
    let (method, id) = request.asked();
    let result = match (request.method.as_str(), method.as_str()) {
        ("GET", _) => return Answer::new(405, "", ""),
        ("DELETE", _) => return Answer::new(204, "", ""),
        (_, "initialize") => {
            r#"{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"web","version":"2"}}"#
        }
        (_, "server/discover") => return Answer::new(400, "", "no session"),
        (_, "tools/list") => {
            r#"{"tools":[{"name":"ask","inputSchema":{}},{"name":"forbidden","inputSchema":{}}]}"#
        }
        (_, "tools/call") if request.body.contains("forbidden") => return Answer::new(403, "", ""),
        (_, "tools/call") => {
            let ask = format!(r#"{{"jsonrpc":"2.0","id":"r{id}","method":"roots/list"}}"#);
            return Answer::events(&[&ask]).fed(feed);
        }
        (_, "") if request.body.contains("\"result\"") || request.body.contains("\"error\"") => {
            let body: serde_json::Value = serde_json::from_str(&request.body).expect("JSON");
            let id = body["id"].as_str().and_then(|id| id.strip_prefix('r')).expect("an id");
            let said = body["result"].to_string().replace('"', "'");
            feed.say(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"said":"{said}"}}}}"#));
            return Answer::new(202, "", "");
        }
        _ => return Answer::new(202, "", ""),
    };
    Answer::json(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#))
}

#[tokio::test]
async fn over_http_the_stream_says_whose_question_it_is() {
    let feed = crate::web::Feed::new();
    let web = Web::start(move |request| asking(request, &feed)).await;
    let it = upstream(&format!("url = \"http://127.0.0.1:{}/mcp\"", web.port));
    it.connect().await.expect("connected");
    let (one, two) = (of(7, ABLE), of(8, ABLE));
    let (one, two) = tokio::join!(run(&it, "it_ask", "{}", &one), run(&it, "it_ask", "{}", &two));
    let (one, two) = (Asked::of(one), Asked::of(two));
    let answer = |name: &str| format!(r#"{{"roots":[{{"uri":"file:///{name}"}}]}}"#);
    let second = run(&it, "it_ask", "{}", &two.answered(of(8, ABLE), &[&answer("two")])).await;
    assert_eq!(shown(second), r#"{"said":"{'roots':[{'uri':'file:///two'}]}"}"#);
    let first = run(&it, "it_ask", "{}", &one.answered(of(7, ABLE), &[&answer("one")])).await;
    assert_eq!(shown(first), r#"{"said":"{'roots':[{'uri':'file:///one'}]}"}"#);
}

#[tokio::test]
async fn a_parked_call_goes_on_in_the_session_that_it_began_in() {
    let feed = crate::web::Feed::new();
    let web = Web::start(move |request| asking(request, &feed)).await;
    let it = upstream(&format!("url = \"http://127.0.0.1:{}/mcp\"", web.port));
    it.connect().await.expect("connected");
    const ROOTS_ONLY: &str = r#"{"roots":{}}"#;
    // What another one may not, or cannot, changes nothing for a call that waits.
    for (tool, capabilities) in [("it_forbidden", ROOTS_ONLY), ("it_ask", "{}")] {
        let asked = Asked::of(run(&it, "it_ask", "{}", &of(7, ROOTS_ONLY)).await);
        run(&it, tool, "{}", &of(8, capabilities)).await.expect_err("refused");
        let done = run(&it, "it_ask", "{}", &asked.answered(of(7, ROOTS_ONLY), &[r#"{"roots":[]}"#])).await;
        assert_eq!(shown(done), r#"{"said":"{'roots':[]}"}"#, "{tool}");
    }
    // From now on there are sessions of their own.
    let asked = Asked::of(run(&it, "it_ask", "{}", &of(7, ROOTS_ONLY)).await);
    let done = run(&it, "it_ask", "{}", &asked.answered(of(7, ABLE), &[r#"{"roots":[]}"#])).await;
    assert_eq!(shown(done), r#"{"said":"{'roots':[]}"}"#);
    let met = web.methods().iter().filter(|method| *method == "initialize").count();
    assert_eq!(met, 2, "{:?}", web.methods());
}
