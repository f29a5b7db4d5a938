//! Prompts, resources, tasks and calls of several rounds: who finds what, and what must be refused.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

#[path = "samples/definition.rs"]
mod samples;

use std::sync::Arc;

use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use gate::{Action, Features, Item, Payload, Target, ToolError, Via};
use gate::{
    Approvals, Call, Caller, Catalog, Client, Definition, Failure, Gate, Input, Outcome, Parts, RateConfig,
    Redactor, Ruleset,
};
use tool_api::{AnyTool, Arguments, Context, Effect};

/// Says what it was given. `asks` asks for more in the first round, `works` goes on as a task.
struct Scripted(Definition);

impl AnyTool for Scripted {
    fn definition(&self) -> &Definition {
        &self.0
    }

    fn run<'a>(&'a self, arguments: Arguments, cx: &'a Context) -> BoxFuture<'a, Result<Outcome, ToolError>> {
        let input = cx.input.clone().unwrap_or_default();
        let heard = format!(
            r#"{{"by":"{}","key":"{}","state":"{}","arguments":{}}}"#,
            self.0.upstream().unwrap(),
            cx.key.as_deref().unwrap_or_default(),
            input.state.as_deref().unwrap_or_default(),
            arguments.text()
        );
        let payload = match self.0.name.as_str() {
            "asks" if input.state.is_none() => Payload::InputRequired {
                requests: Some(Bytes::from_static(br#"{"k":{"method":"roots/list","params":{}}}"#)),
                state: Some("inner".into()),
                hold: None,
            },
            "who" => Payload::Relayed { result: cx.client.caller.to_string().into(), structured: None },
            "works" => Payload::Task { result: Bytes::from_static(b"{}"), id: "t1".into() },
            _ => Payload::Relayed { result: heard.into(), structured: None },
        };
        async move { Ok(Outcome::of(payload)) }.boxed()
    }
}

fn scripted(source: &str, name: &str) -> Arc<dyn AnyTool> {
    Arc::new(Scripted(samples::definition(Some(source), name, Effect::Reads)))
}

fn item(key: &str) -> Item {
    Item { key: key.into(), listing: Bytes::from_static(b"{}") }
}

/// A features with one prompt and one resource, and every action named `SOURCE_ACTION`.
fn features(source: &str, prompt: &str, uri: &str, claims: &'static str) -> Features {
    let action = |action: Action| (action, scripted(source, &format!("{source}_{}", action.name())));
    Features {
        prompts: vec![item(prompt)],
        resources: vec![item(uri)],
        claims: Some(Arc::new(move |uri: &str| uri.starts_with(claims))),
        actions: Action::ALL.into_iter().filter(|one| *one != Action::Complete).map(action).collect(),
        ..Features::default()
    }
}

struct World {
    gate: Gate,
    folders: [tempfile::TempDir; 2],
}

impl World {
    fn new(deny: &[&str]) -> World {
        World::with_rate(deny, RateConfig { per_second: 0, burst: 1 })
    }

    fn with_rate(deny: &[&str], rate: RateConfig) -> World {
        let folders = [(); 2].map(|()| tempfile::tempdir().unwrap());
        let catalog = Catalog::new(Vec::new());
        let tools = ["asks", "works", "who"].map(|name| scripted("a", name)).to_vec();
        catalog.replace("a", tools, features("a", "greet", "x://one", "a+"));
        catalog.replace("b", Vec::new(), features("b", "greet", "x://two", "b+"));
        let rules =
            policy::Config { deny: deny.iter().map(|&glob| glob.to_owned()).collect(), ..Default::default() };
        let gate = Gate::new(Parts {
            catalog,
            ruleset: Ruleset::new(policy::Policy::new(&rules).unwrap(), rate),
            redactor: Redactor::new(&redact::Config::default()),
            approvals: Approvals::new(Arc::new(store::SqliteStore::at(folders[0].path()))),
            audit_log: Arc::new(audit::AuditLog::at(folders[0].path(), || 0)),
            files: tool_api::Root::open(folders[1].path(), tool_api::Access::Read).unwrap(),
        });
        World { gate: gate.unwrap(), folders }
    }

    /// Another process over the same state.
    fn next_process(&self) -> World {
        let state = self.folders[0].path();
        let next = World::new(&[]);
        let secrets = || {
            let store = Arc::new(store::SqliteStore::at(state));
            Arc::new(store::Secrets::new(store, state))
        };
        World { gate: next.gate.with_secrets(&secrets()), folders: next.folders }
    }

    async fn call(
        &self,
        target: Target<'_>,
        arguments: &str,
        input: Option<Input>,
    ) -> Result<Outcome, Failure> {
        let arguments = Some(Bytes::copy_from_slice(arguments.as_bytes()));
        let call = Call { target, input, ..Call::tool("", arguments) };
        self.gate.call(&Caller::local_user(Via::Stdio), call).await
    }

    async fn said(&self, target: Target<'_>) -> String {
        match self.call(target, "{}", None).await {
            Ok(Outcome { payload: Payload::Relayed { result, .. }, .. }) => {
                String::from_utf8(result.to_vec()).unwrap()
            }
            Ok(other) => panic!("{:?}", other.payload),
            Err(failure) => failure.code().to_owned(),
        }
    }
}

#[tokio::test]
async fn a_target_is_found_at_its_owner_or_refused() {
    let world = World::new(&["b_resources_subscribe"]);
    let read = |uri| Target::Resource { action: Action::ReadResource, uri };
    let by = |source: &str| format!(r#"{{"by":"{source}","key":"","state":"","arguments":{{}}}}"#);
    for (target, expected) in [
        (read("x://one"), by("a")),
        (read("x://two"), by("b")),
        (read("b+z://any"), by("b")),
        (read("nobody://knows"), "unknown_resource".to_owned()),
        (Target::Prompt { action: Action::GetPrompt, name: "greet" }, by("a")),
        (Target::Prompt { action: Action::GetPrompt, name: "grunt" }, "unknown_prompt".to_owned()),
        (Target::Prompt { action: Action::Complete, name: "greet" }, "unsupported".to_owned()),
        (Target::Resource { action: Action::Subscribe, uri: "x://one" }, by("a")),
        (Target::Resource { action: Action::Subscribe, uri: "x://two" }, "unknown_resource".to_owned()),
        (Target::Task { action: Action::GetTask, token: "t1" }, "unknown_task".to_owned()),
    ] {
        assert_eq!(world.said(target).await, expected, "{target:?}");
    }
    let collisions = world.gate.catalog().offer().collisions.to_vec();
    assert_eq!(collisions.iter().map(|one| &*one.name).collect::<Vec<_>>(), ["greet"]);
}

#[tokio::test]
async fn ai_rules_see_what_upstreams_are_told_and_give() {
    let world = World::new(&[]);
    let file = world.folders[1].path().join("rules.yaml");
    let rules = "
version: '1.0'
rules:
- {id: keys, match: {content_regex: 'sk-[a-z]+'}, action: {on_violation: redact}}
- {id: env, match: {paths: ['*.env']}, action: {on_violation: block}}
- {id: local, match: {content_regex: plan}, action: {on_violation: override_provider, allowed_providers: [b]}}
- {id: here, match: {content_regex: '^b$'}, action: {on_violation: block}}
";
    #[expect(clippy::disallowed_methods, reason = "the test writes the rules that it is about")]
    std::fs::write(&file, rules).unwrap();
    let settings = rules::Settings { project: Some(file), ..Default::default() };
    let policy = policy::Policy::new(&policy::Config::default()).unwrap();
    let ruleset = Ruleset::new(policy, RateConfig { per_second: 0, burst: 1 });
    world.gate.govern(Ruleset { rules: Arc::new(rules::Rules::new(settings)), ..ruleset });
    let prompt = Target::Prompt { action: Action::GetPrompt, name: "greet" };
    let read = |uri| Target::Resource { action: Action::ReadResource, uri };
    for (target, arguments, expected) in [
        // Struck out before the upstream hears it.
        (prompt, r#"{"a":"sk-abc"}"#, r#"{"by":"a","key":"","state":"","arguments":{"a":"[REDACTED]"}}"#),
        (prompt, r#"{"a":"plan"}"#, "rule_blocked"),
        (prompt, r#"{"a":1.50}"#, r#"{"by":"a","key":"","state":"","arguments":{"a":1.50}}"#),
        (read("x://one"), r#"{"uri":"a+file:///x/.env"}"#, "rule_blocked"),
        // Allowed to `b`, and then its answer is withheld.
        (read("x://two"), r#"{"a":"plan"}"#, "rule_blocked"),
    ] {
        let said = match world.call(target, arguments, None).await {
            Ok(Outcome { payload: Payload::Relayed { result, .. }, .. }) => {
                String::from_utf8(result.to_vec()).unwrap()
            }
            Ok(other) => panic!("{:?}", other.payload),
            Err(failure) => failure.code().to_owned(),
        };
        assert_eq!(said, expected, "{target:?} {arguments}");
    }
}

#[tokio::test]
async fn what_is_told_of_a_task_unasked_is_judged_by_its_tool() {
    let world = World::new(&[]);
    let file = world.folders[1].path().join("rules.yaml");
    let rules = "
version: '1.0'
rules:
- {id: of-tool, match: {tools: [works], content_regex: 'sk-[a-z]+'}, action: {on_violation: redact}}
- {id: of-action, match: {tools: [a_tasks_get], content_regex: plan}, action: {on_violation: block}}
";
    #[expect(clippy::disallowed_methods, reason = "the test writes the rules that it is about")]
    std::fs::write(&file, rules).unwrap();
    let settings = rules::Settings { project: Some(file), ..Default::default() };
    let policy = policy::Policy::new(&policy::Config::default()).unwrap();
    let ruleset = Ruleset::new(policy, RateConfig { per_second: 0, burst: 1 });
    world.gate.govern(Ruleset { rules: Arc::new(rules::Rules::new(settings)), ..ruleset });
    let Ok(Outcome { payload: Payload::Task { id: token, .. }, .. }) =
        world.call(Target::Tool("works"), "{}", None).await
    else {
        panic!("a task")
    };
    let task = world.gate.open_task_token(&Caller::local_user(Via::Stdio), &token).await.unwrap();
    assert_eq!((&*task.source, &*task.origin.tool, &*task.id), ("a", "works", "t1"));
    let told = |text: &'static str| world.gate.task_news(&task, &Bytes::from_static(text.as_bytes()));
    assert_eq!(told(r#"{"a":"sk-abc"}"#).unwrap(), r#"{"a":"[REDACTED]"}"#);
    assert_eq!(told(r#"{"a": 1.50}"#).unwrap(), r#"{"a": 1.50}"#);
    assert_eq!(told(r#"{"a":"plan"}"#), None);
    // Looked at, it keeps its name.
    let again = Target::Task { action: Action::GetTask, token: &token };
    assert_eq!(world.said(again).await, r#"{"by":"a","key":"t1","state":"","arguments":{}}"#);
}

#[tokio::test]
async fn a_source_hears_who_calls_from_the_gate_and_nobody_else() {
    let world = World::new(&[]);
    let client = Client { caller: "somebody else".into(), ..Client::default() };
    let call = Call { client, ..Call::tool("who", None) };
    let said =
        world.gate.call(&Caller::local_user(Via::Http), call).await.ok().map(|outcome| outcome.payload);
    assert!(matches!(said, Some(Payload::Relayed { result, .. }) if &result[..] == b"local"));
}

#[tokio::test]
async fn who_asks_too_often_may_still_begin_and_stop_watching() {
    let world = World::with_rate(&[], RateConfig { per_second: 1, burst: 1 });
    let with = |action| Target::Resource { action, uri: "x://one" };
    assert!(world.said(with(Action::ReadResource)).await.starts_with('{'));
    assert_eq!(world.said(with(Action::ReadResource)).await, "rate_limited");
    for action in [Action::Subscribe, Action::Unsubscribe] {
        assert!(world.said(with(action)).await.starts_with('{'), "{action:?}");
    }
}

#[tokio::test]
async fn a_further_round_is_not_refused_by_the_rate() {
    let world = World::with_rate(&[], RateConfig { per_second: 1, burst: 1 });
    let Ok(Outcome { payload: Payload::InputRequired { state, .. }, .. }) =
        world.call(Target::Tool("asks"), "{}", None).await
    else {
        panic!("a question")
    };
    let unpaid = world.call(Target::Tool("asks"), "{}", Some(Input::default())).await;
    assert_eq!(unpaid.map_err(|failure| failure.code().to_owned()).err().as_deref(), Some("rate_limited"));
    let input = Input { responses: Some(Bytes::from_static(b"{}")), state };
    assert!(world.call(Target::Tool("asks"), "{}", Some(input)).await.is_ok());
}

#[tokio::test]
async fn a_task_is_known_to_its_caller_by_a_token() {
    let world = World::new(&[]);
    let Ok(Outcome { payload: Payload::Task { id: token, .. }, .. }) =
        world.call(Target::Tool("works"), "{}", None).await
    else {
        panic!("a task")
    };
    assert_ne!(&*token, "t1", "the source's own name for it is not handed out");
    let asked = world.said(Target::Task { action: Action::GetTask, token: &token }).await;
    assert_eq!(asked, r#"{"by":"a","key":"t1","state":"","arguments":{}}"#);
}

#[tokio::test]
async fn a_further_round_needs_the_state_of_the_one_before() {
    let world = World::new(&[]);
    let first = async || match world.call(Target::Tool("asks"), r#"{"n":1}"#, None).await {
        Ok(Outcome { payload: Payload::InputRequired { state: Some(state), .. }, .. }) => state,
        other => panic!("{:?}", other.map(|outcome| outcome.payload)),
    };
    let again = async |state: &str, tool: &'static str, arguments: &str| {
        let input = Input { responses: Some(Bytes::from_static(b"{}")), state: Some(state.into()) };
        match world.call(Target::Tool(tool), arguments, Some(input)).await {
            Ok(Outcome { payload: Payload::Relayed { result, .. }, .. }) => {
                String::from_utf8(result.to_vec()).unwrap()
            }
            Ok(other) => panic!("{:?}", other.payload),
            Err(failure) => failure.code().to_owned(),
        }
    };
    let state = first().await;
    assert!(!state.contains("inner"));
    assert_eq!(again("inner", "asks", r#"{"n":1}"#).await, "bad_request_state");
    assert_eq!(again(&state, "asks", r#"{"n":2}"#).await, "bad_request_state", "other arguments");
    assert_eq!(again(&state, "works", r#"{"n":1}"#).await, "bad_request_state", "another tool");
    let heard = r#"{"by":"a","key":"","state":"inner","arguments":{ "n" : 1 }}"#;
    assert_eq!(again(&state, "asks", r#"{ "n" : 1 }"#).await, heard, "blanks mean nothing");
    assert_eq!(again(&state, "asks", r#"{"n":1}"#).await, "bad_request_state", "used twice");
}

/// A process has begun a task and ended; the next one knows it by the same name, as its caller's and nobody else's.
#[tokio::test]
async fn the_next_process_knows_a_task_by_its_name() {
    let state = World::new(&[]);
    let first = state.next_process();
    let begun = first.call(Target::Tool("works"), r#"{"a":1}"#, None).await;
    let Ok(Outcome { payload: Payload::Task { id: token, .. }, .. }) = begun else { panic!("a task") };
    drop(first);
    let next = state.next_process();
    let look = Target::Task { action: Action::GetTask, token: &token };
    assert_eq!(next.said(look).await, r#"{"by":"a","key":"t1","state":"","arguments":{}}"#);
    let task = next.gate.open_task_token(&Caller::local_user(Via::Stdio), &token).await.unwrap();
    assert_eq!((&*task.id, &*task.origin.tool, task.origin.arguments), ("t1", "works", None));
    let other = Caller::new(
        "bob".into(),
        gate::CallerKind::Key,
        gate::Roles::default(),
        gate::Scopes::all(),
        Via::Http,
    );
    assert_eq!(next.gate.open_task_token(&other, &token).await, None);
    assert_eq!(World::new(&[]).said(look).await, "unknown_task", "another state");
}
