//! Runs one tool in a workspace, as the gate would.

use std::future::ready;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use expect_test::Expect;
use futures_util::future::BoxFuture;
use redact::{Redactor, Stream};
use serde_json::Value;
use tool_api::{
    Access, AnyTool, Arguments, Block, CallId, Cancel, Client, Context, Effect, Input, JobAsks, JobSeen,
    Jobs, Outcome, Payload, Permit, Person, Root, Secrets, Striking, TEXT, Tool, ToolError, builtin,
};

use crate::kept::Kept;
use crate::kept_state::KeptState;
use crate::schema::objections;
use crate::show::show;
use crate::workspace::Workspace;

/// The artifact that is there for every tool that reads some.
const SAMPLE_ID: &str = "0123456789abcdef0123456789abcdef";

/// Its lines: more than one answer holds.
const SAMPLE_LINES: u32 = 10_000;

/// Runs `tool` with `arguments` (JSON) in a workspace of `files` (see [`Workspace::new`]) and compares the
/// outcome as [`call`] shows it; for a tool that changes things, followed by the workspace as it is then.
pub fn check_tool(tool: impl Tool, files: &str, arguments: &str, expected: Expect) {
    check_call(tool, &Workspace::new(files), arguments, expected);
}

/// As [`check_tool`], in a workspace that is there already.
pub fn check_call(tool: impl Tool, workspace: &Workspace, arguments: &str, expected: Expect) {
    let tool = builtin(tool);
    let mut shown = call(&*tool, workspace, arguments);
    if tool.definition().effect > Effect::Reads {
        shown = format!("{shown}--\n{}", workspace.tree());
    }
    expected.assert_eq(&shown);
}

/// Runs `tool` and shows the outcome, or what its input schema holds against the arguments.
///
/// # Panics
/// If the structured result does not conform to the tool's output schema.
pub fn call(tool: &dyn AnyTool, workspace: &Workspace, arguments: &str) -> String {
    let value: Value = serde_json::from_str(arguments).expect("arguments are JSON");
    let refused = objections(&tool.definition().input_schema, &value);
    if !refused.is_empty() {
        return refused;
    }
    let outcome = call_with(tool, workspace, arguments, &Cancel::new());
    check_output(tool, &outcome);
    show(&outcome)
}

/// Runs `tool`, whatever its schema says, until `cancel`.
pub fn call_with(
    tool: &dyn AnyTool,
    workspace: &Workspace,
    arguments: &str,
    cancel: &Cancel,
) -> Result<Outcome, ToolError> {
    let access = if tool.definition().effect > Effect::Reads { Access::ReadWrite } else { Access::Read };
    call_in(tool, workspace.root(access), arguments, cancel)
}

/// As [`call_with`], with whatever hands.
pub fn call_in(
    tool: &dyn AnyTool,
    files: Root,
    arguments: &str,
    cancel: &Cancel,
) -> Result<Outcome, ToolError> {
    let kept = Kept::default();
    let lines: Vec<String> = (1..=SAMPLE_LINES).map(|line| format!("line {line}\n")).collect();
    kept.put(SAMPLE_ID, "stdout", TEXT, lines.concat());
    call_keeping(tool, files, arguments, cancel, &kept)
}

/// As [`call_in`], with these artifacts.
pub fn call_keeping(
    tool: &dyn AnyTool,
    files: Root,
    arguments: &str,
    cancel: &Cancel,
    kept: &Kept,
) -> Result<Outcome, ToolError> {
    let context = Context::new(permit(), files, cancel.clone(), None);
    let jobs = Some(Arc::new(SomeJobs) as _);
    let state = Some(Box::new(KeptState::default()) as _);
    let (client, artifacts) = (asking(r#"{"elicitation":{}}"#), Some(Box::new(kept.clone()) as _));
    let catalogue = Some(Arc::from([tool.definition().clone()]));
    run_in(tool, arguments, &Context { artifacts, catalogue, client, jobs, state, ..context })
}

/// Runs `tool` for a client with these capabilities that brings the `responses` of its user, and shows the outcome. Who
/// watches at a terminal answers with `at_terminal`; without it nobody watches.
pub fn call_answering(
    tool: &dyn AnyTool,
    capabilities: &'static str,
    responses: Option<&'static str>,
    at_terminal: Option<&'static str>,
    arguments: &str,
) -> String {
    let context = Context::new(permit(), Workspace::new("").root(Access::Read), Cancel::new(), None);
    let responses = responses.map(|text| Bytes::from_static(text.as_bytes()));
    let input = responses.map(|responses| Input { responses: Some(responses), state: Some("asked".into()) });
    let person = Some(Box::new(AtTerminal(at_terminal)) as _);
    let outcome =
        run_in(tool, arguments, &Context { client: asking(capabilities), input, person, ..context });
    check_output(tool, &outcome);
    show(&outcome)
}

/// Whoever watches answers with this; nobody does without it.
struct AtTerminal(Option<&'static str>);

impl Person for AtTerminal {
    fn ask(&self, _: Bytes) -> BoxFuture<'_, Result<Option<Bytes>, ToolError>> {
        Box::pin(ready(Ok(self.0.map(|text| Bytes::from_static(text.as_bytes())))))
    }
}

fn asking(capabilities: &'static str) -> Client {
    Client { capabilities: Bytes::from_static(capabilities.as_bytes()), ..Client::default() }
}

/// Runs `tool` for a caller whose tools keep what is in `state`, and shows the outcome, or what its input schema holds against
/// the arguments.
pub fn call_noting(tool: &dyn AnyTool, workspace: &Workspace, state: &KeptState, arguments: &str) -> String {
    let value: Value = serde_json::from_str(arguments).expect("arguments are JSON");
    let refused = objections(&tool.definition().input_schema, &value);
    if !refused.is_empty() {
        return refused;
    }
    let context = Context::new(permit(), workspace.root(Access::ReadWrite), Cancel::new(), None);
    let outcome = run_in(tool, arguments, &Context { state: Some(Box::new(state.clone())), ..context });
    check_output(tool, &outcome);
    show(&outcome)
}

/// Runs `tool` for a caller from whom `secret` is kept, and shows the outcome as the gate gives it on.
pub fn keep_secret(tool: &dyn AnyTool, workspace: &Workspace, secret: &str, arguments: &str) -> String {
    let redactor = Redactor::new(&redact::Config::default());
    redactor.know("test", vec![redact::Known { name: "secret".into(), value: secret.into() }]);
    let secrets = Arc::new(Hidden(redactor.clone()));
    let context = Context::new(permit(), workspace.root(Access::ReadWrite), Cancel::new(), None);
    let shown = show(&run_in(tool, arguments, &Context { secrets: Some(secrets), ..context }));
    redactor.text(&shown).into_owned()
}

struct Hidden(Redactor);

impl Secrets for Hidden {
    fn placeholder_lines(&self, text: &[u8]) -> Vec<usize> {
        redact::placeholder_lines(text)
    }

    fn are_in(&self, text: &[u8]) -> bool {
        self.0.strike(&String::from_utf8_lossy(text)).is_some() || self.0.bytes(text).is_some()
    }

    fn striking(&self) -> Box<dyn Striking> {
        Box::new(InPieces(Stream::new(self.0.clone(), true)))
    }
}

struct InPieces(Stream);

impl Striking for InPieces {
    fn push(&mut self, piece: &[u8]) -> Vec<u8> {
        self.0.push(piece)
    }

    fn finish(&mut self) -> Vec<u8> {
        self.0.finish()
    }
}

/// One job that has ended, one that failed, one that runs and two that ask something.
struct SomeJobs;

impl Jobs for SomeJobs {
    fn wait<'a>(&'a self, id: &'a str, _: Duration) -> BoxFuture<'a, Option<JobSeen>> {
        let seen = |state, is_over| Some(JobSeen { state, message: None, is_over });
        let seen = match id {
            "0123456789abcdef0123456789abcdef" => seen("succeeded", true),
            "failed" => seen("failed", true),
            "asks" | "asks_roots" => seen("input_required", false),
            "running" => Some(JobSeen { state: "running", message: Some("half".into()), is_over: false }),
            _ => None,
        };
        Box::pin(std::future::ready(seen))
    }

    fn result<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Option<Result<Outcome, ToolError>>> {
        let blocks = vec![Block::Text("done".to_owned())];
        Box::pin(std::future::ready(match id {
            "0123456789abcdef0123456789abcdef" => {
                Some(Ok(Outcome::of(Payload::Ours { blocks, structured: None })))
            }
            "failed" => Some(Err(ToolError::new("not_found", "there is no file a.txt"))),
            _ => None,
        }))
    }

    fn asked<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Option<JobAsks>> {
        let requests = match id {
            "asks" => Some(r#"{"k":{"method":"elicitation/create"}}"#),
            "asks_roots" => Some(r#"{"k":{"method":"elicitation/create"},"r":{"method":"roots/list"}}"#),
            _ => None,
        };
        let asks = requests.map(|requests| JobAsks { requests: requests.into(), number: 7 });
        Box::pin(std::future::ready(asks))
    }

    fn answer<'a>(&'a self, _: &'a str, _: u64, _: Bytes) -> BoxFuture<'a, ()> {
        Box::pin(std::future::ready(()))
    }
}

fn run_in(tool: &dyn AnyTool, arguments: &str, context: &Context) -> Result<Outcome, ToolError> {
    let arguments = Arguments::parse(Some(arguments.to_owned().into())).expect("arguments are an object");
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    runtime.block_on(tool.run(arguments, context))
}

#[expect(clippy::disallowed_methods, reason = "a test stands in for the gate")]
fn permit() -> Permit {
    Permit::issue(CallId::next())
}

/// Holds a structured result to the output schema, and one without schema to having none.
fn check_output(tool: &dyn AnyTool, outcome: &Result<Outcome, ToolError>) {
    let definition = tool.definition();
    let Ok(Outcome { payload: Payload::Ours { structured, .. }, .. }) = outcome else { return };
    match (structured, &definition.output_schema) {
        (None, None) => {}
        (Some(structured), Some(schema)) => {
            let value: Value = serde_json::from_slice(structured).expect("structured output is JSON");
            assert_eq!(objections(schema, &value), "", "the output of {}", definition.name);
        }
        (Some(_), None) => panic!("{} has structured output and no schema", definition.name),
        (None, Some(_)) => panic!("{} has an output schema and no structured output", definition.name),
    }
}
