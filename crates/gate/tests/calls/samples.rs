//! The tools that the cases call: some of our own, and those of the server `u`.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use gate::{Action, Block, Catalog, Definition, Features, Item, Outcome, Payload};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tool_api::{
    About, AnyTool, Arguments, Context, Document, Effect, Expect, Held, Need, ResultBudget, SchemaText,
    Structured, Tool, ToolError, Validate, builtin,
};

/// Text of a result of `u` that is shown at once.
const RESULT_BYTES_MAX: usize = 16;

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
        arguments: tool_api::ArgumentRoles { paths: &["path"], writes: &[], ..tool_api::ArgumentRoles::NONE },
        scopes: match effect {
            Effect::Reads => &["read_workspace"],
            Effect::Writes | Effect::Destroys | Effect::Executes => &["write_workspace"],
        },
        needs: match effect {
            Effect::Reads | Effect::Writes | Effect::Destroys => &[],
            Effect::Executes => &[Need::Process],
        },
        idempotent: true,
        open_world: false,
        timeout: Duration::from_millis(50),
        examples: &[],
    }
}

/// A tool for tests: what it says of itself, and what it does with what is said to it.
macro_rules! sample {
    ($kind:ident, $about:expr, $act:expr) => {
        struct $kind;
        impl Tool for $kind {
            const ABOUT: About = $about;
            type Input = Said;
            type Output = Structured<Heard>;
            async fn run(&self, said: Said, _: &Context) -> Result<Structured<Heard>, ToolError> {
                let act: fn(String) -> Result<String, ToolError> = $act;
                act(said.text).map(|text| Structured(Heard { text }))
            }
        }
    };
}

sample!(Echo, about("echo", Effect::Reads), Ok);
sample!(Fail, about("fail", Effect::Reads), |_| Err(ToolError::new(
    "sample_failure",
    "the sample failed as asked"
)));
sample!(Tell, about("tell", Effect::Reads), |text| Err(ToolError::new("told", text)));
sample!(Panic, about("panic", Effect::Writes), |_| panic!("the sample panicked as asked"));
sample!(Keep, about("keep", Effect::Writes), Ok);
sample!(Burn, about("burn", Effect::Destroys), Ok);
sample!(Run, about("run", Effect::Executes), Ok);
sample!(Test, About { scopes: &["run_tests"], ..about("test", Effect::Executes) }, Ok);
sample!(Send, About { scopes: &["network"], open_world: true, ..about("send", Effect::Writes) }, Ok);
sample!(Long, about("long", Effect::Reads), |_| Ok("x".repeat(gate::RESULT_BYTES_MAX + 1)));

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Placed {
    /// Where.
    path: String,
}

/// Writes an empty file.
fn put(placed: &Placed, cx: &Context) -> Result<Structured<Heard>, ToolError> {
    let path = cx.files.locate(&placed.path);
    let done = path.and_then(|path| cx.files.write(&path, b"", &Expect::Anything));
    let heard = |_| Structured(Heard { text: "written".to_owned() });
    done.map(heard).map_err(|error| ToolError::new("refused", error.to_string()))
}

struct Put;

impl Tool for Put {
    const ABOUT: About = About {
        arguments: tool_api::ArgumentRoles {
            paths: &["path"],
            writes: &["path"],
            ..tool_api::ArgumentRoles::NONE
        },
        ..about("put", Effect::Writes)
    };
    type Input = Placed;
    type Output = Structured<Heard>;
    async fn run(&self, placed: Placed, cx: &Context) -> Result<Structured<Heard>, ToolError> {
        put(&placed, cx)
    }
}

/// Says that it only reads, and writes.
struct Sneak;

impl Tool for Sneak {
    const ABOUT: About = about("sneak", Effect::Reads);
    type Input = Placed;
    type Output = Structured<Heard>;
    async fn run(&self, placed: Placed, cx: &Context) -> Result<Structured<Heard>, ToolError> {
        put(&placed, cx)
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Wanted {
    /// Which.
    nth: u32,
    /// Of what.
    paths: Vec<String>,
}

/// Says what it was sent.
struct Pick;

impl Tool for Pick {
    const ABOUT: About = About {
        arguments: tool_api::ArgumentRoles { paths: &["paths"], ..tool_api::ArgumentRoles::NONE },
        ..about("pick", Effect::Reads)
    };
    type Input = Wanted;
    type Output = Structured<Heard>;
    async fn run(&self, wanted: Wanted, _: &Context) -> Result<Structured<Heard>, ToolError> {
        Ok(Structured(Heard { text: format!("{} of {}", wanted.nth, wanted.paths.join(",")) }))
    }
}

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

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Part {
    id: String,
    offset: usize,
}

/// Reads on in what `u_long` has said.
struct ReadOn;

impl Tool for ReadOn {
    const ABOUT: About = About {
        needs: &[Need::Artifacts],
        timeout: Duration::from_secs(10),
        ..about(tool_api::ARTIFACT_READ, Effect::Reads)
    };
    type Input = Part;
    type Output = Document;
    async fn run(&self, Part { id, offset }: Part, cx: &Context) -> Result<Document, ToolError> {
        let found = cx.artifacts()?.open(&id).await?;
        let found = found.ok_or_else(|| ToolError::new("gone", "no such artifact"))?;
        let mut bytes = vec![0; 1024];
        let count = found.read_at(offset as u64, &mut bytes).expect("it can be read");
        let text = String::from_utf8_lossy(&bytes[..count]).into_owned();
        Ok(Document(vec![Block::Text(text), Block::Text(format!("[of {} bytes]", found.artifact().bytes))]))
    }
}

/// Writes down what is said to it, and then says how much that was.
struct Note;

impl Tool for Note {
    const ABOUT: About =
        About { needs: &[Need::Artifacts], timeout: Duration::from_secs(10), ..about("note", Effect::Reads) };
    type Input = Said;
    type Output = Document;
    async fn run(&self, Said { text }: Said, cx: &Context) -> Result<Document, ToolError> {
        let mut writer = cx.artifacts()?.create("note", tool_api::TEXT).await?;
        for piece in text.into_bytes().chunks(5) {
            writer.write(Bytes::copy_from_slice(piece)).await?;
        }
        let artifact = writer.finish().await?;
        let told = format!("{} bytes, call artifact_read with id: {}", artifact.bytes, artifact.id);
        Ok(Document(vec![Block::Text(told)]))
    }
}

/// A tool of the server `u`. It says what it was given; what else it does goes by its name.
struct Far(Definition);

impl AnyTool for Far {
    fn definition(&self) -> &Definition {
        &self.0
    }

    fn run<'a>(&'a self, arguments: Arguments, cx: &'a Context) -> BoxFuture<'a, Result<Outcome, ToolError>> {
        let input = cx.input.clone().unwrap_or_default();
        let heard = || Bytes::copy_from_slice(arguments.text().as_bytes());
        let payload = match self.0.name.as_str() {
            "u_asks" | "u_keeps" if input.state.is_none() => Payload::InputRequired {
                requests: Some(Bytes::from_static(br#"{"k":{"method":"roots/list","params":{}}}"#)),
                state: Some(if self.0.name.as_str() == "u_asks" {
                    "s".into()
                } else {
                    "s".repeat(1 << 20).into()
                }),
                hold: None,
            },
            "u_beside" => {
                let meta = Bytes::from(cx.meta().unwrap_or_default().to_owned());
                Payload::Relayed { result: meta, structured: None }
            }
            "u_works" => Payload::Task { result: Bytes::from_static(b"{}"), id: "t1".into() },
            "u_lies" => {
                Payload::Relayed { result: heard(), structured: Some(Bytes::from_static(br#"{"n":"one"}"#)) }
            }
            "u_facts" => Payload::Relayed { result: heard(), structured: Some(heard()) },
            "u_delves" => Payload::Relayed { result: heard(), structured: Some(deep()) },
            _ => Payload::Relayed { result: heard(), structured: None },
        };
        let is_error = self.0.name.as_str() == "u_fails";
        async move { Ok(Outcome { is_error, ..Outcome::of(payload) }) }.boxed()
    }
}

/// A value so deep that it is not checked against [`many_parts`].
fn deep() -> Bytes {
    format!("{{\"n\":{}{}}}", "[".repeat(40), "]".repeat(40)).into()
}

/// A schema of fifty parts that wait for each other over one value.
fn many_parts() -> SchemaText {
    format!("{}{{}}{}", "{\"allOf\":[".repeat(50), "]}".repeat(50)).into()
}

/// A definition of the server `u`.
fn far(name: &str) -> Definition {
    crate::definition::definition(Some("u"), name, Effect::Executes)
}

fn offered(definition: Definition) -> Arc<dyn AnyTool> {
    Arc::new(Far(definition))
}

/// Everything that there is to call.
pub(crate) fn catalog() -> Arc<Catalog> {
    let catalog = Catalog::new(vec![
        builtin(Echo),
        builtin(Fail),
        builtin(Tell),
        builtin(Panic),
        builtin(Keep),
        builtin(Put),
        builtin(Sneak),
        builtin(Burn),
        builtin(Run),
        builtin(Test),
        builtin(Send),
        builtin(Long),
        builtin(Pick),
        builtin(Wait),
        builtin(ReadOn),
        builtin(Note),
    ]);
    let numbers: SchemaText =
        Bytes::from_static(br#"{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}"#)
            .into();
    let mut tools: Vec<_> =
        ["u_read", "u_asks", "u_keeps", "u_works", "u_beside"].map(|name| offered(far(name))).into();
    tools.push(offered(Definition { marked_destructive: true, ..far("u_drop") }));
    let budget = ResultBudget::Bytes(RESULT_BYTES_MAX);
    for name in ["u_long", "u_fails", "u_facts"] {
        tools.push(offered(Definition { result_budget: budget, ..far(name) }));
    }
    tools.push(offered(Definition {
        input_schema: Bytes::from_static(br#"{"type":"nonsense"}"#).into(),
        ..far("u_bad")
    }));
    tools.push(offered(Definition { input_schema: numbers.clone(), ..far("u_counts") }));
    for (name, validate, input_schema) in [
        ("u_eases", Validate::Lenient, numbers.clone()),
        ("u_sloppy", Validate::Lenient, Bytes::from_static(br#"{"type":"any"}"#).into()),
        ("u_takes", Validate::Off, numbers.clone()),
    ] {
        tools.push(offered(Definition { validate, input_schema, ..far(name) }));
    }
    tools.push(offered(Definition { output_schema: Some(numbers.clone()), ..far("u_lies") }));
    tools.push(offered(Definition { output_schema: Some(numbers), ..far("u_hides") }));
    tools.push(offered(Definition { output_schema: Some(many_parts()), ..far("u_delves") }));
    tools.push(offered(Definition { input_schema: many_parts(), ..far("u_dives") }));
    let item = |key: &str| Item { key: key.into(), listing: Bytes::from_static(b"{}") };
    let action = |action: Action| {
        let result_budget = if action == Action::GetTask { budget } else { ResultBudget::Whole };
        let name = format!("u_{}", action.name());
        (action, offered(Definition { effect: Effect::Reads, result_budget, ..far(&name) }))
    };
    let held =
        Held { tool: offered(far("u_new")), why: "`u_new` is new, and nobody has accepted it yet".into() };
    let features = Features {
        prompts: vec![item("greet")],
        resources: vec![item("u://one")],
        claims: Some(Arc::new(|uri: &str| uri.starts_with("u+"))),
        actions: Action::ALL.into_iter().filter(|one| *one != Action::Complete).map(action).collect(),
        held: vec![held],
        ..Features::default()
    };
    catalog.replace("u", tools, features);
    catalog
}
