//! A source with one of everything beside plain tools: tools that ask their client, log and relay, prompts,
//! resources, a template, tasks. It does what its arguments say, so that a test can say it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use gate::Catalog;
use serde_json::{Value, json};
use tokio::sync::Notify;
use tool_api::{
    Abilities, Action, AnyTool, Arguments, Cancel, Context, Definition, Effect, Features, Hold, Item,
    Listing, Origin, Outcome, Payload, Protocol, ToolError, ToolName, Validate,
};

/// The name that the source reports under.
pub const SAMPLE_SOURCE: &str = "notes";

/// How often each URI is watched just now.
pub type Watched = Arc<Mutex<BTreeMap<String, i64>>>;

/// Reports the source to a catalogue and gives what is watched in it.
///
/// Its tools are `ask` (`{requests, rounds, ends_after_ms}`: asks that so often, or until its time is up, and then gives
/// back the answers), `relay`
/// (`{result}`: gives exactly that), `refuse` (`{code, message, data}`: fails like an upstream), `log` (one message
/// of each level) and `job` (`{result}`: a task with the id `job-1`). Its prompts are `greet` and `quiz`, its
/// resources `note:a` and `note:b`, its template is `note:{name}`. The prompt `quiz` and a
/// resource named `…ask` ask first, a resource named `…gone` is missing; all others give back what they were handed.
pub fn offer_sample_source(catalog: &Catalog) -> Watched {
    let watched = Watched::default();
    let tools = [ask, relay, refuse, log, job].into_iter().zip(["ask", "relay", "refuse", "log", "job"]);
    let tools = tools.map(|(run, name)| scripted(name, Box::new(run))).collect();
    catalog.replace(SAMPLE_SOURCE, tools, features(&watched));
    watched
}

/// Reports another source with one tool, `burn`, that the default policy asks a person about. It gives back what it was
/// handed, and with `{"asks": true}` asks its client first who is there.
pub fn offer_burning_source(catalog: &Catalog) {
    let burn = |arguments: &Arguments, cx: &Context| match arguments.value()["asks"] == true {
        true => ask_first(cx).map_or_else(|| text(&handed(arguments, cx)), done),
        false => text(&handed(arguments, cx)),
    };
    let tool = Scripted { definition: definition("burn", true), run: Box::new(burn) };
    catalog.replace("fire", vec![Arc::new(tool)], Features::default());
}

/// Reports a source with one tool, `large`, that gives so many bytes, and tells each time when it does.
pub fn offer_large_source(catalog: &Catalog, bytes: usize) -> Arc<Notify> {
    let given = Arc::new(Notify::new());
    let giving = given.clone();
    let large = move |_: &Arguments, _: &Context| {
        giving.notify_one();
        relayed(&json!("x".repeat(bytes - 2)))
    };
    // What only reads waits for no disk.
    let definition = Definition { effect: Effect::Reads, ..definition("large", false) };
    catalog.replace(
        "large",
        vec![Arc::new(Scripted { definition, run: Box::new(large) })],
        Features::default(),
    );
    given
}

/// So many tools that do nothing, named `tool_00000` and so on.
pub fn many_tools(count: usize) -> Vec<Arc<dyn AnyTool>> {
    (0..count).map(|number| scripted(&format!("tool_{number:05}"), Box::new(relay))).collect()
}

fn features(watched: &Watched) -> Features {
    let item = |key: &str, listing: Value| Item { key: key.into(), listing: listing.to_string().into() };
    let resource = |uri: &str| item(uri, json!({ "name": "n", "title": "N", "uri": uri }));
    let counted = |step: i64| {
        let watched = watched.clone();
        move |arguments: &Arguments, _: &Context| {
            let uri = arguments.value()["uri"].as_str().unwrap_or_default().to_owned();
            if uri.ends_with("gone") {
                return Err(refused(-32002, None));
            }
            *watched.lock().unwrap_or_else(PoisonError::into_inner).entry(uri).or_default() += step;
            relayed(&json!({}))
        }
    };
    let task = |arguments: &Arguments, cx: &Context| {
        relayed(&json!({ "taskId": cx.key.as_deref(), "status": "working", "handed": arguments.value() }))
    };
    let actions: [(Action, Run); 8] = [
        (Action::ReadResource, Box::new(read)),
        (Action::Subscribe, Box::new(counted(1))),
        (Action::Unsubscribe, Box::new(counted(-1))),
        (Action::GetPrompt, Box::new(prompt)),
        (Action::Complete, Box::new(complete)),
        (Action::GetTask, Box::new(task)),
        (Action::UpdateTask, Box::new(task)),
        (Action::CancelTask, Box::new(task)),
    ];
    Features {
        prompts: vec![
            item("greet", json!({ "name": "greet", "icons": [], "description": "a sample" })),
            item("quiz", json!({ "name": "quiz" })),
        ],
        resources: vec![resource("note:b"), resource("note:a")],
        templates: vec![item("note:{name}", json!({ "name": "n", "uriTemplate": "note:{name}" }))],
        claims: Some(Arc::new(|uri| uri.starts_with("note:"))),
        actions: actions.map(|(action, run)| (action, scripted(action.name(), run))).into(),
        extension_methods: Some(Arc::new(|method| {
            let name = method.strip_prefix("skills/").map(|name| format!("skills_{name}"))?;
            let run = |arguments: &Arguments, _: &Context| relayed(&json!({ "handed": arguments.value() }));
            Some(scripted(&name, Box::new(run)))
        })),
        abilities: Abilities {
            logging: true,
            completions: true,
            prompts: true,
            resources: true,
            subscribe: true,
            extensions: vec![("io.modelcontextprotocol/tasks".into(), Bytes::from_static(b"{}"))],
            experimental: Vec::new(),
        },
        instructions: Some("notes are short".into()),
        ..Features::default()
    }
}

type Run = Box<dyn Fn(&Arguments, &Context) -> Result<Outcome, ToolError> + Send + Sync>;

struct Scripted {
    definition: Definition,
    run: Run,
}

fn scripted(name: &str, run: Run) -> Arc<dyn AnyTool> {
    Arc::new(Scripted { definition: definition(name, false), run })
}

fn definition(name: &str, marked_destructive: bool) -> Definition {
    let listing = json!({ "name": name, "inputSchema": {}, "title": "T" });
    Definition {
        name: ToolName::parse(name).expect("a sample's name is legal"),
        origin: Origin::Upstream(SAMPLE_SOURCE.into()),
        description: "a sample".into(),
        effect: Effect::Executes,
        marked_destructive,
        open_world: true,
        scopes: Arc::new(["upstream:call".into()]),
        timeout: Duration::from_secs(60),
        extends_to: None,
        input_schema: Bytes::from_static(b"{}").into(),
        validate: Validate::Strict,
        output_schema: None,
        result_budget: tool_api::ResultBudget::Whole,
        listing: Listing::Relayed(listing.to_string().into()),
    }
}

impl AnyTool for Scripted {
    fn definition(&self) -> &Definition {
        &self.definition
    }

    fn run<'a>(&'a self, arguments: Arguments, cx: &'a Context) -> BoxFuture<'a, Result<Outcome, ToolError>> {
        Box::pin(async move { (self.run)(&arguments, cx) })
    }
}

#[expect(clippy::unnecessary_wraps, reason = "the scripts are told apart by their results")]
fn done(payload: Payload) -> Result<Outcome, ToolError> {
    Ok(Outcome::of(payload))
}

fn relayed(result: &Value) -> Result<Outcome, ToolError> {
    done(Payload::Relayed { result: result.to_string().into(), structured: None })
}

fn text(text: &str) -> Result<Outcome, ToolError> {
    relayed(&json!({ "content": [{ "type": "text", "text": text }] }))
}

/// The state says how many rounds there have been.
fn ask(arguments: &Arguments, cx: &Context) -> Result<Outcome, ToolError> {
    let input = cx.input.as_ref();
    let rounds: u64 = input.and_then(|input| input.state.as_deref()?.parse().ok()).unwrap_or(0);
    let value = arguments.value();
    if rounds < value["rounds"].as_u64().unwrap_or(1) {
        let requests = value.get("requests").map(|requests| requests.to_string().into());
        let state = Some((rounds + 1).to_string().into());
        let hold = value["ends_after_ms"].as_u64().map(|ms| {
            let over = Cancel::new();
            let (end, after) = (over.clone(), Duration::from_millis(ms));
            tokio::spawn(async move {
                tokio::time::sleep(after).await;
                end.cancel();
            });
            Hold::new(|| {}, over)
        });
        return done(Payload::InputRequired { requests, state, hold });
    }
    let responses = input.and_then(|input| input.responses.as_deref());
    text(&format!("{rounds} {}", responses.map_or("-".into(), String::from_utf8_lossy)))
}

fn relay(arguments: &Arguments, _: &Context) -> Result<Outcome, ToolError> {
    relayed(&arguments.value()["result"])
}

fn refuse(arguments: &Arguments, _: &Context) -> Result<Outcome, ToolError> {
    let value = arguments.value();
    Err(refused(value["code"].as_i64().unwrap_or_default(), value.get("data")))
}

fn refused(code: i64, data: Option<&Value>) -> ToolError {
    let message = "no".to_owned();
    let protocol = Protocol { code, message, data: data.map(Value::to_string) };
    ToolError::new("upstream_error", "the upstream said no").with_protocol(protocol)
}

fn log(_: &Arguments, cx: &Context) -> Result<Outcome, ToolError> {
    for level in ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"] {
        cx.log(json!({ "level": level, "data": 1 }).to_string().into());
    }
    text("logged")
}

fn job(arguments: &Arguments, _: &Context) -> Result<Outcome, ToolError> {
    done(Payload::Task { result: arguments.value()["result"].to_string().into(), id: "job-1".into() })
}

/// Asks who is there, once.
fn ask_first(cx: &Context) -> Option<Payload> {
    let requests = json!({ "who": { "method": "roots/list" } }).to_string().into();
    cx.input.is_none().then_some(Payload::InputRequired {
        requests: Some(requests),
        state: Some("1".into()),
        hold: None,
    })
}

/// What an action was handed, as one text.
fn handed(arguments: &Arguments, cx: &Context) -> String {
    let responses = cx.input.as_ref().and_then(|input| input.responses.as_deref());
    format!("{} {}", arguments.text(), responses.map_or("-".into(), String::from_utf8_lossy))
}

fn read(arguments: &Arguments, cx: &Context) -> Result<Outcome, ToolError> {
    let uri = arguments.value()["uri"].as_str().unwrap_or_default();
    match ask_first(cx) {
        Some(payload) if uri.ends_with("ask") => return done(payload),
        _ if uri.ends_with("gone") => return Err(refused(-32002, Some(&json!({ "uri": "their:gone" })))),
        _ => {}
    }
    let contents = json!([{ "uri": uri, "text": handed(arguments, cx) }]);
    relayed(&json!({ "contents": contents, "cacheScope": "public", "ttlMs": 5 }))
}

fn prompt(arguments: &Arguments, cx: &Context) -> Result<Outcome, ToolError> {
    match ask_first(cx) {
        Some(payload) if arguments.value()["name"] == "quiz" => return done(payload),
        _ => {}
    }
    let content = json!({ "type": "text", "text": handed(arguments, cx) });
    relayed(&json!({ "messages": [{ "role": "user", "content": content }] }))
}

fn complete(arguments: &Arguments, _: &Context) -> Result<Outcome, ToolError> {
    relayed(&json!({ "completion": { "values": [arguments.text()] } }))
}
