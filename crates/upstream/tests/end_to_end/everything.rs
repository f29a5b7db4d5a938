//! A server that offers everything, in either era: what of it is offered here, and what can be done with it.

mod actions;
mod changes;
mod tasks;

use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use tool_api::{Action, AnyTool, Client, Context, Event, Input, Item, Outcome, Payload, ToolError};
use upstream::Upstream;

use crate::world::*;

const ERAS: [&str; 2] = ["legacy", "modern"];

/// A client that can be asked, and knows tasks.
const ABLE: &str = r#"{"elicitation":{},"sampling":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}"#;

fn everything(habits: &[&str]) -> Arc<Upstream> {
    everything_with(habits, "")
}

/// The same with more keys in its table.
fn everything_with(habits: &[&str], keys: &str) -> Arc<Upstream> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/everything.py");
    let mut args = vec!["-S".to_owned(), "-u".to_owned(), script.display().to_string()];
    args.extend(habits.iter().map(|&habit| habit.to_owned()));
    upstream(&format!("command = \"python3\"\nargs = {args:?}\nprefix = \"my_all\"\n{keys}"))
}

async fn connected(habits: &[&str]) -> Arc<Upstream> {
    let it = everything(habits);
    it.connect().await.expect("connected");
    it
}

fn action(it: &Upstream, action: Action) -> Option<Arc<dyn AnyTool>> {
    let offers = it.offers();
    let offer = offers.borrow();
    offer.features.actions.iter().find(|(one, _)| *one == action).map(|(_, tool)| tool.clone())
}

fn able(input: Option<Input>) -> Context {
    let capabilities = Bytes::from_static(ABLE.as_bytes());
    let client = Client { capabilities, conversation: 7, ..Client::default() };
    Context { client, input, ..context(None) }
}

async fn run(tool: Arc<dyn AnyTool>, json: &str, cx: &Context) -> Result<Outcome, ToolError> {
    tokio::time::timeout(PATIENCE, tool.run(arguments(json), cx)).await.expect("an answer in time")
}

async fn act(it: &Upstream, which: Action, params: &str) -> Result<Outcome, ToolError> {
    run(action(it, which).expect("offered"), params, &able(None)).await
}

/// The result without what only one era has.
fn common(called: Result<Outcome, ToolError>) -> String {
    let text = shown(called);
    let modern = [r#""resultType": "complete", "#, r#", "ttlMs": 0, "cacheScope": "private""#];
    modern.iter().fold(text, |text, only| text.replace(only, ""))
}

/// The error of the protocol behind a failure.
fn protocol(called: Result<Outcome, ToolError>) -> String {
    let error = called.expect_err("refused");
    let protocol = error.protocol().unwrap_or_else(|| panic!("no error of the protocol: {error}"));
    format!("{} {} {}", protocol.code, protocol.message, protocol.data.as_deref().unwrap_or("-"))
}

fn entries(items: &[Item]) -> Vec<String> {
    items.iter().map(|item| format!("{} {}", item.key, String::from_utf8_lossy(&item.listing))).collect()
}

/// What `Payload::InputRequired` asks, and the one key under which it does. What the tool keeps for the answer is
/// left to it.
fn asked(called: Result<Outcome, ToolError>) -> (String, String, Option<Arc<str>>) {
    let Payload::InputRequired { requests, state, hold } = called.expect("an outcome").payload else {
        panic!("not asked")
    };
    hold.as_ref().inspect(|hold| hold.leave());
    let requests = String::from_utf8(requests.expect("requests").to_vec()).expect("UTF-8");
    let key = requests.split('"').nth(1).expect("a key").to_owned();
    (requests, key, state)
}

/// What a tool that needs no arguments says.
async fn said(it: &Upstream, tool: &str) -> String {
    let said = shown(call(it, tool, "{}").await);
    said.split(r#""text": ""#)
        .nth(1)
        .and_then(|rest| rest.strip_suffix(r#""}]}"#))
        .unwrap_or(&said)
        .to_owned()
}

async fn until_said(it: &Upstream, tool: &str, expected: &str) {
    let watching = async {
        while said(it, tool).await != expected {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, watching).await.expect("said in time");
}

/// Waits until the server says that just this is watched on it.
async fn until_watched(it: &Upstream, expected: &str) {
    until_said(it, "my_all_watched", expected).await;
}

#[tokio::test]
async fn everything_is_offered_under_names_of_its_own() {
    for era in ERAS {
        let it = connected(&[era]).await;
        let offer = it.offers().borrow().clone();
        assert_eq!(
            entries(&offer.features.prompts),
            [
                r#"my_all_greet {"name":"my_all_greet" ,"x":1.50,"arguments":[{"name":"who","required":true}]}"#,
                r#"my_all_code_review {"name":"my_all_code_review"}"#,
            ]
        );
        assert_eq!(
            entries(&offer.features.resources),
            [
                r#"my-all+file:///a.txt {"uri": "my-all+file:///a.txt" ,"name":"a","size":1.0}"#,
                r#"ui://my-all/clock/face {"uri":"ui://my-all/clock/face","name":"face"}"#,
            ]
        );
        assert_eq!(
            entries(&offer.features.templates),
            [
                r#"my-all+db://{table}/{row} {"uriTemplate":"my-all+db://{table}/{row}" ,"name":"row","x":1.0}"#
            ]
        );
        let withheld: Vec<_> =
            offer.withheld.iter().map(|it| format!("{} {}: {}", it.kind, it.name, it.why)).collect();
        assert_eq!(
            withheld,
            [
                "prompt code/review: its name would be `my_all_code_review`, which `code.review` already has",
                "prompt 1 without a sound definition: a prompt needs a name",
                "resource file:///a.txt: an earlier entry of the list has the same",
            ]
        );
        let instructions = "What this calls NAME is offered as `my_all_NAME`.\n\nBe kind.\nAlways.";
        assert_eq!(offer.features.instructions.as_deref(), Some(instructions));
        let abilities = &offer.features.abilities;
        assert!(abilities.logging && abilities.completions && abilities.prompts);
        assert!(abilities.resources && abilities.subscribe);
        let extensions: Vec<_> = abilities.extensions.iter().map(|(name, _)| &**name).collect();
        let (actions, ttl_ms) = (offer.features.actions.len(), offer.ttl_ms);
        match era {
            "modern" => {
                assert_eq!(extensions, ["io.modelcontextprotocol/tasks", "x/y"]);
                assert_eq!((actions, ttl_ms), (8, Some(1005)), "the least of what the lists say");
            }
            _ => {
                assert_eq!(extensions, ["io.modelcontextprotocol/tasks"], "in place of its own tasks");
                assert_eq!((actions, ttl_ms), (8, None));
            }
        }
        let claims = offer.features.claims.expect("it has resources");
        assert!(claims("my-all+db://x/y") && claims("ui://my-all/z") && !claims("file:///a.txt"));
    }
}

#[tokio::test]
async fn actions_have_definitions_that_rules_can_name() {
    let it = connected(&["modern"]).await;
    let read = action(&it, Action::ReadResource).expect("offered");
    let definition = read.definition();
    assert_eq!(definition.name.as_str(), "my_all_resources_read");
    assert_eq!(definition.upstream(), Some("it"));
    assert_eq!((&definition.scopes[0] as &str, &definition.input_schema[..]), ("upstream:call", &b"{}"[..]));
}

#[tokio::test]
async fn a_tools_links_and_its_face_are_those_offered() {
    for era in ERAS {
        let it = connected(&[era]).await;
        let shown_by = tool(&it, "my_all_shown");
        let tool_api::Listing::Relayed(listing) = &shown_by.definition().listing else { panic!("ours") };
        assert_eq!(
            std::str::from_utf8(listing).expect("UTF-8"),
            r#"{"name": "my_all_shown", "inputSchema":{"type":"object" ,"x-order":1.0},"_meta":{"x":1.50,"ui":{"resourceUri":"ui://my-all/clock/face"}}}"#
        );
        assert_eq!(
            common(call(&it, "my_all_links", "{}").await),
            r#"{"content": [{"type": "resource_link", "uri": "my-all+file:///a.txt", "name": "a"}, {"type": "resource", "resource": {"uri": "ui://my-all/clock/face", "text": "file:///a.txt"}}]}"#
        );
    }
}

#[tokio::test]
async fn a_list_that_fails_does_not_take_the_others_away() {
    for (habits, kind, why) in [
        (["legacy", "circles"], "prompt", "its list of prompts goes round in circles: a cursor came twice"),
        (["modern", "no tools list"], "tool", "it refused `tools/list`: out of tools (code -32603)"),
    ] {
        let it = connected(&habits).await;
        let offer = it.offers().borrow().clone();
        assert_eq!(offer.features.resources.len(), 2);
        assert_eq!(offer.tools.is_empty(), kind == "tool");
        assert_eq!(offer.features.prompts.is_empty(), kind == "prompt");
        let withheld = offer.withheld.iter().find(|it| it.name == format!("all {kind}s")).expect("said");
        assert!(withheld.why.ends_with(why), "{}", withheld.why);
    }
}

#[tokio::test]
async fn resources_without_templates_are_no_fault() {
    let it = connected(&["legacy", "no templates"]).await;
    let offer = it.offers().borrow().clone();
    assert_eq!((offer.features.resources.len(), offer.features.templates.len()), (2, 0));
    assert!(!offer.withheld.iter().any(|it| it.name.starts_with("all ")), "{:?}", offer.withheld);
}

#[tokio::test]
async fn ten_thousand_tools_and_a_description_of_200_kib_are_carried() {
    let it = connected(&["modern", "many"]).await;
    assert_eq!(names(&it).len(), 10_000);
    let long = tool(&it, "my_all_long");
    assert_eq!(long.definition().description.len(), 200 * 1024);
}
