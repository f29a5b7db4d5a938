//! The gate's behaviour as data: `cases/*.toml` holds who calls what under which rules, and what comes of
//! it for the caller and for the book. One loop runs them all.

#![expect(clippy::disallowed_methods, reason = "the tests read their cases and the book they made")]
#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use gate::{Call, Caller, Cancel, Catalog, Failure, Gate, Outcome, Parts, Payload, RateConfig, Scopes, Via};
use policy::Scope;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tool_api::{About, Block, Context, Effect, Structured, Tool, ToolError, builtin};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    case: Vec<Case>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    /// Scopes of the caller; all of them if not given.
    scopes: Option<Vec<String>>,
    #[serde(default)]
    allow: Vec<String>,
    #[serde(default)]
    deny: Vec<String>,
    tool: String,
    arguments: Option<String>,
    /// How often the same call is made; the last one is looked at.
    #[serde(default = "once")]
    times: u32,
    #[serde(default)]
    cancelled: bool,
    /// Is the tool in the caller's list?
    listed: bool,
    /// What the caller gets.
    reply: String,
    /// What the book says: outcome, code, and the stages that were asked.
    record: String,
}

fn once() -> u32 {
    1
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Said {
    /// What to say.
    text: String,
}

#[derive(Serialize, JsonSchema)]
struct Heard {
    text: String,
}

impl std::fmt::Display for Heard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text)
    }
}

const fn about(name: &'static str, effect: Effect) -> About {
    About {
        name,
        title: name,
        summary: "a sample",
        effect,
        scopes: match effect {
            Effect::Reads => &["read_workspace"],
            Effect::Writes | Effect::Destroys | Effect::Executes => &["write_workspace"],
        },
        idempotent: true,
        open_world: false,
        timeout: Duration::from_millis(50),
        examples: &[],
    }
}

/// A tool for tests: its name, its effect, and what it does with what is said to it.
macro_rules! sample {
    ($kind:ident, $name:literal, $effect:expr, $act:expr) => {
        struct $kind;
        impl Tool for $kind {
            const ABOUT: About = about($name, $effect);
            type Input = Said;
            type Output = Structured<Heard>;
            async fn run(&self, said: Said, _: &Context) -> Result<Structured<Heard>, ToolError> {
                let act: fn(String) -> Result<String, ToolError> = $act;
                act(said.text).map(|text| Structured(Heard { text }))
            }
        }
    };
}

sample!(Echo, "echo", Effect::Reads, Ok);
sample!(Fail, "fail", Effect::Reads, |_| Err(ToolError::new("sample_failure", "the sample failed as asked")));
sample!(Panic, "panic", Effect::Writes, |_| panic!("the sample panicked as asked"));
sample!(Keep, "keep", Effect::Writes, Ok);
sample!(Burn, "burn", Effect::Destroys, Ok);
sample!(Run, "run", Effect::Executes, Ok);

/// Never answers by itself.
struct Wait;

impl Tool for Wait {
    const ABOUT: About = about("wait", Effect::Reads);
    type Input = Said;
    type Output = Structured<Heard>;
    async fn run(&self, _: Said, _: &Context) -> Result<Structured<Heard>, ToolError> {
        std::future::pending().await
    }
}

struct World {
    gate: Gate,
    caller: Caller,
    book: Arc<audit::Book>,
    state: tempfile::TempDir,
    _workspace: tempfile::TempDir,
}

impl World {
    fn new(case: &Case) -> World {
        let (state, workspace) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let book = Arc::new(audit::Book::at(state.path(), || 0));
        let tools = vec![
            builtin(Echo),
            builtin(Fail),
            builtin(Panic),
            builtin(Keep),
            builtin(Burn),
            builtin(Run),
            builtin(Wait),
        ];
        let rules = policy::Config { allow: case.allow.clone(), deny: case.deny.clone() };
        let gate = Gate::new(Parts {
            catalog: Catalog::new(tools),
            policy: policy::Policy::new(&rules).unwrap(),
            rate: RateConfig { per_second: 1, burst: 3 },
            book: book.clone(),
            files: tool_api::Root::open(workspace.path(), tool_api::Access::ReadWrite).unwrap(),
        })
        .unwrap();
        let caller = Caller::local_user(Via::Stdio);
        let caller = match &case.scopes {
            None => caller,
            Some(names) => {
                let scopes: Scopes = names.iter().map(|name| Scope::parse(name).unwrap()).collect();
                caller.with_scopes(scopes)
            }
        };
        World { gate, caller, book, state, _workspace: workspace }
    }

    async fn call(&self, case: &Case) -> Result<Outcome, Failure> {
        let cancel = Cancel::new();
        if case.cancelled {
            cancel.cancel();
        }
        let arguments = case.arguments.clone().map(bytes::Bytes::from);
        self.gate.call(&self.caller, Call { cancel, ..Call::tool(&case.tool, arguments) }).await
    }

    fn lists(&self, tool: &str) -> bool {
        let offer = self.gate.catalog().offer();
        let named = offer.tools().iter().find(|offered| offered.definition().name.as_str() == tool);
        named.is_some_and(|offered| self.gate.may_see(&self.caller, offered))
    }

    /// The records in the book, as one line each.
    fn records(&self) -> Vec<String> {
        self.book.flush().unwrap();
        let text = std::fs::read_to_string(self.state.path().join(audit::FILE)).unwrap();
        text.lines().map(|line| record(&serde_json::from_str(line).unwrap())).collect()
    }
}

fn record(line: &Value) -> String {
    let verdicts = line["verdicts"].as_array().unwrap().iter().map(|verdict| {
        let stage = verdict[0].as_str().unwrap();
        if verdict[1] == "pass" { stage.to_owned() } else { format!("!{stage}") }
    });
    let stages = verdicts.collect::<Vec<_>>().join(" ");
    let code = line["code"].as_str().map_or(String::new(), |code| format!(" {code}"));
    format!("{}{code} [{stages}]", line["outcome"].as_str().unwrap())
}

fn reply(result: Result<Outcome, Failure>) -> String {
    match result {
        Ok(Outcome { payload: Payload::Ours { blocks, structured }, is_error: false }) => {
            let blocks: Vec<_> = blocks
                .into_iter()
                .map(|block| match block {
                    Block::Text(text) => text,
                    other => format!("{other:?}"),
                })
                .collect();
            let structured = structured.map(|text| String::from_utf8(text.into()).unwrap());
            format!("{} {}", blocks.join(" "), structured.unwrap_or_default())
        }
        Ok(other) => format!("{other:?}"),
        Err(Failure::Internal(_)) => "internal: the log has the cause".to_owned(),
        Err(failure) => format!("{}: {failure}", failure.code()),
    }
}

/// The only place that knows how a call is made and looked at.
async fn check(case: &Case) {
    let world = World::new(case);
    assert_eq!(world.lists(&case.tool), case.listed, "{}: in the list", case.name);
    for _ in 1..case.times {
        let _ = world.call(case).await;
    }
    let told = reply(world.call(case).await);
    assert_eq!(told, case.reply, "{}: the reply", case.name);
    let records = world.records();
    assert_eq!(records.len(), case.times as usize, "{}: one record for each call", case.name);
    assert_eq!(records.last().unwrap(), &case.record, "{}: the record", case.name);
}

#[tokio::test]
async fn calls_end_as_the_cases_say() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases");
    let mut count = 0;
    for file in std::fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        let file: File = toml::from_str(&std::fs::read_to_string(&path).unwrap())
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        for case in &file.case {
            check(case).await;
            count += 1;
        }
    }
    assert!(count > 10, "the cases were found");
}

#[tokio::test]
async fn a_dropped_call_is_in_the_book_as_abandoned() {
    let file = include_str!("cases/endings.toml");
    let cases: File = toml::from_str(file).unwrap();
    let case = cases.case.into_iter().find(|case| case.tool == "wait").unwrap();
    let world = World::new(&case);
    let patient = Case { cancelled: false, ..case };
    let call = world.call(&patient);
    // Polled once, then dropped: its caller has gone.
    assert!(futures_util::FutureExt::now_or_never(call).is_none());
    assert_eq!(world.records(), ["abandoned [scope policy input_schema rate]"]);
}

#[tokio::test]
async fn without_a_book_nothing_runs() {
    let file = include_str!("cases/endings.toml");
    let cases: File = toml::from_str(file).unwrap();
    let case = &cases.case[0];
    let mut world = World::new(case);
    let nowhere = world.state.path().join("file");
    std::fs::write(&nowhere, "").unwrap();
    // A folder cannot be made below a file.
    let book = Arc::new(audit::Book::at(&nowhere.join("state"), || 0));
    let gate = Gate::new(Parts {
        catalog: world.gate.catalog().clone(),
        policy: policy::Policy::new(&policy::Config::default()).unwrap(),
        rate: RateConfig::default(),
        book,
        files: tool_api::Root::open(world.state.path(), tool_api::Access::Read).unwrap(),
    });
    world.gate = gate.unwrap();
    let told = reply(world.call(case).await);
    assert!(told.starts_with("book_unavailable: the audit book cannot be written"), "{told}");
}
