//! A missing layer: no program runs, and the layer is named; one that an operator waives is said everywhere.

use std::path::PathBuf;
use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use gate::{Cancel, Definition, Failure, Features, Outcome, Payload, ProgramSettings, Sandboxed, ToolError};
use sandbox::Launcher;
use sandbox::confine::{Confiner, Layer};
use serde_json::{Value, json};
use testkit::SampleGate;
use tool_api::{AnyTool, Arguments, Context, Origin, ToolName};

use super::{always_degraded, call, confiner, figure, owner, recorded, run, told};

#[tokio::test]
async fn no_program_runs_where_a_layer_is_missing() {
    let nowhere = Launcher { guard: PathBuf::from("/no/such/program"), guard_args: Vec::new() };
    let cases = [
        (confiner(Some("landlock")), "landlock", vec![]),
        (confiner(Some("sethostname")), "uts_namespace", vec![Layer::Landlock]),
        (Arc::new(Confiner::new(nowhere)), "spawner", vec![Layer::Landlock]),
    ];
    for (confiner, layer, waived) in cases {
        let sample =
            SampleGate::with_programs(confiner, ProgramSettings { waived, ..ProgramSettings::default() });
        let failure = run(&sample, &owner(), "sh_run", "touch made").await.expect_err("it must not run");
        let Failure::Tool(error) = &failure else { panic!("{failure:?}") };
        let details = error.details().expect("facts");
        assert_eq!((&**error.code(), &details["layer"]), ("sandbox_unavailable", &json!(layer)));
        for fact in ["why", "fix"] {
            assert!(error.to_string().contains(details[fact].as_str().expect("a text")), "{error}");
        }
        assert!(!sample.workspace().join("made").exists(), "nothing ran without {layer}");
        assert_eq!(recorded(&sample), (Value::Null, Value::Null));
        assert_eq!(sample.records(1), ["sh_run tool_error sandbox_unavailable"]);
        let refused = format!("toolcrib_programs_refused_total{{layer=\"{layer}\"}}");
        assert_eq!(figure(&sample, &refused), Some(1));
    }
}

#[tokio::test]
async fn a_program_without_a_waived_layer_is_called_degraded() {
    let settings = ProgramSettings { waived: vec![Layer::UtsNamespace], ..ProgramSettings::default() };
    let sample = SampleGate::with_programs(confiner(Some("sethostname")), settings);
    let expected: Vec<_> = std::iter::once("uts_namespace").chain(always_degraded()).collect();
    for (tool, profile) in [("sh_look", "shell"), ("sh_run", "write")] {
        let arguments = json!({ "script": "true" });
        let outcome = call(&sample, &owner(), tool, &arguments, (Cancel::new(), None)).await.expect("it ran");
        let sandboxed = outcome.sandboxed.clone().expect("programs ran");
        assert_eq!((sandboxed.profile, &sandboxed.degraded), (profile, &expected));
        assert_eq!(told(outcome).expect("a result")["degraded"], json!(expected));
        assert_eq!(recorded(&sample), (json!(profile), json!(expected)));
    }
    // A call that runs nothing says nothing.
    let arguments = json!({ "text": "hello" });
    let outcome = call(&sample, &owner(), "echo", &arguments, (Cancel::new(), None)).await.expect("it ran");
    assert_eq!((outcome.sandboxed, recorded(&sample)), (None, (Value::Null, Value::Null)));
}

/// A tool of a server that runs without a layer, and fails if it is told to.
struct Remote(Definition);

impl AnyTool for Remote {
    fn definition(&self) -> &Definition {
        &self.0
    }

    fn run<'a>(&'a self, arguments: Arguments, _: &'a Context) -> BoxFuture<'a, Result<Outcome, ToolError>> {
        let fails = arguments.text().contains("fail");
        let result = Payload::Relayed { result: "{}".into(), structured: None };
        let done = if fails { Err(ToolError::new("sample", "no")) } else { Ok(Outcome::of(result)) };
        async move { done }.boxed()
    }

    fn sandboxed(&self) -> Option<Sandboxed> {
        Some(Sandboxed { profile: "upstream", launcher: "own", degraded: vec!["landlock"] })
    }
}

#[tokio::test]
async fn a_server_without_a_waived_layer_is_called_degraded_by_every_call() {
    let sample = SampleGate::new();
    let echo = sample.gate.find(&owner(), "echo").await.expect("it is there");
    let name = ToolName::parse("up_echo").expect("a name");
    let origin = Origin::Upstream("up".into());
    let remote = Remote(Definition { name, origin, output_schema: None, ..echo.definition().clone() });
    sample.gate.catalog().replace("up", vec![Arc::new(remote)], Features::default());
    let degraded = Sandboxed { profile: "upstream", launcher: "own", degraded: vec!["landlock"] };
    for text in ["fine", "fail"] {
        let done = call(&sample, &owner(), "up_echo", &json!({ "text": text }), (Cancel::new(), None)).await;
        let sandboxed = match &done {
            Ok(outcome) => outcome.sandboxed.as_deref(),
            Err(failure) => failure.sandboxed(),
        };
        assert_eq!(sandboxed, Some(&degraded), "{text}: {done:?}");
        assert_eq!(recorded(&sample), (json!("upstream"), json!(["landlock"])), "{text}");
    }
}
