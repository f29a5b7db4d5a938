//! Programs that tools run and servers that they ask, through the whole gate: what they get and give, how they end, what is
//! said of them where, and that nothing runs and nobody is asked that should not.

#![expect(
    clippy::disallowed_methods,
    reason = "looks at the workspace and at /proc from outside, and is a server"
)]

mod asked;
mod beyond;
mod declared;
mod dry_run_first;
mod dry_runs;
mod ends;
mod hosts;
mod layers;
mod logs;
mod runs;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use gate::{Call, Caller, Cancel, Failure, Listener, Outcome, Payload, ProgramSettings, Scope, Scopes, Via};
use sandbox::Launcher;
use sandbox::confine::Confiner;
use serde_json::{Value, json};
use testkit::SampleGate;

/// A test that waits this long has failed.
const PATIENCE: Duration = Duration::from_secs(30);

/// Starts programs, without one system call if it is named.
fn confiner(denied: Option<&str>) -> Arc<Confiner> {
    let tests = std::env::current_exe().expect("a running test");
    let built = tests.parent().and_then(Path::parent).expect("a build folder");
    let guard: PathBuf = built.join("examples/sample_spawner");
    assert!(guard.is_file(), "build the examples first: cargo build -p testkit --examples");
    Arc::new(Confiner::new(Launcher { guard, guard_args: denied.map(str::to_owned).into_iter().collect() }))
}

fn sample(settings: ProgramSettings) -> SampleGate {
    SampleGate::with_programs(confiner(None), settings)
}

/// A caller who may do all.
fn owner() -> Caller {
    Caller::local_user(Via::Stdio)
}

/// One who may do this and nothing else.
fn holding(scopes: &[&str]) -> Caller {
    let scopes: Scopes = scopes.iter().map(|scope| Scope::parse(scope).expect("a scope")).collect();
    owner().with_scopes(scopes)
}

/// What comes of a script that is run by `tool`: what the tool says, or its error.
async fn run(sample: &SampleGate, caller: &Caller, tool: &str, script: &str) -> Result<Value, Failure> {
    told(call(sample, caller, tool, &json!({ "script": script }), (Cancel::new(), None)).await?)
}

async fn call(
    sample: &SampleGate,
    caller: &Caller,
    tool: &str,
    arguments: &Value,
    (cancel, listener): (Cancel, Option<Arc<dyn Listener>>),
) -> Result<Outcome, Failure> {
    let arguments = Some(arguments.to_string().into());
    sample.gate.call(caller, Call { cancel, listener, ..Call::tool(tool, arguments) }).await
}

fn told(outcome: Outcome) -> Result<Value, Failure> {
    let Payload::Ours { structured: Some(structured), .. } = outcome.payload else { panic!("{outcome:?}") };
    Ok(serde_json::from_slice(&structured).expect("it is JSON"))
}

/// The last record, as far as it tells of programs: its profile and what they ran without.
fn recorded(sample: &SampleGate) -> (Value, Value) {
    let record = sample.whole_records(1).remove(0);
    (record["profile"].clone(), record["degraded"].clone())
}

/// A figure of operators.
fn figure(sample: &SampleGate, line: &str) -> Option<u64> {
    let text = sample.gate.telemetry().metrics.text();
    text.lines().find_map(|counted| counted.strip_prefix(line)?.strip_prefix(' ')?.parse().ok())
}

/// What programs run without on this machine, whatever they are.
fn always_degraded() -> Vec<&'static str> {
    let has_groups = Path::new("/sys/fs/cgroup/memory").exists() && rustix::process::getuid().is_root();
    if has_groups { Vec::new() } else { vec!["memory"] }
}
