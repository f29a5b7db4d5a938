//! What operators see of calls: each ending is counted under its tool, refusals under their step and code, and those that
//! are turned away unseen as well.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

#[path = "samples/gate.rs"]
mod gates;
#[path = "samples/definition.rs"]
mod samples;

use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use gate::{Call, Caller, Catalog, Definition, Gate, Outcome, Payload, RateConfig, ToolError, Via};
use tool_api::{AnyTool, Arguments, Context, Effect};

/// More than one caller may bring about at once.
const REFUSED_CALLS: u32 = 5_000;

/// A known secret.
const PLANTED: &str = "planted-0123456789abcdef";

struct Tool(Definition);

impl AnyTool for Tool {
    fn definition(&self) -> &Definition {
        &self.0
    }

    fn run<'a>(&'a self, arguments: Arguments, _: &'a Context) -> BoxFuture<'a, Result<Outcome, ToolError>> {
        let fails = arguments.bytes().starts_with(b"{\"fails\"");
        let payload = Payload::Relayed { result: arguments.bytes(), structured: None };
        let done = if fails { Err(ToolError::gone("`a` has gone")) } else { Ok(Outcome::of(payload)) };
        async move { done }.boxed()
    }
}

fn gate(folder: &tempfile::TempDir) -> Gate {
    let tool: Arc<dyn AnyTool> = Arc::new(Tool(samples::definition(Some("a"), "t", Effect::Reads)));
    gates::gate(folder, Catalog::new(vec![tool]), RateConfig { per_second: 1, burst: 2 })
}

/// What has been counted, without how long it took.
fn counted(gate: &Gate) -> Vec<String> {
    const COUNTS: [&str; 5] =
        ["calls_total", "refusals_total", "calls_running", "redactions_total", "call_duration_seconds_count"];
    let text = gate.telemetry().metrics.text();
    let lines = text.lines().filter_map(|line| line.strip_prefix("toolcrib_"));
    let of_interest = |line: &&str| COUNTS.iter().any(|name| line.starts_with(name)) && !line.ends_with(" 0");
    let mut lines: Vec<String> = lines.filter(of_interest).map(str::to_owned).collect();
    lines.sort();
    lines
}

/// The figure of the line that begins so.
fn figure(lines: &[String], line: &str) -> u32 {
    let found = lines.iter().find_map(|counted| counted.strip_prefix(line)?.strip_prefix(' '));
    found.map_or(0, |figure| figure.parse().unwrap())
}

async fn after(calls: &[(&str, &'static str)]) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let gate = gate(&folder);
    gate.redactor().know("test", vec![redact::Known { name: "PLANTED".into(), value: PLANTED.into() }]);
    let caller = Caller::local_user(Via::Stdio);
    for (name, arguments) in calls {
        // What comes of it is counted.
        let _ = gate.call(&caller, Call::tool(name, Some((*arguments).into()))).await;
    }
    counted(&gate)
}

#[tokio::test]
async fn every_ending_is_counted_where_it_belongs() {
    let check = async |calls: &[(&str, &'static str)], expected: &[&str]| {
        assert_eq!(after(calls).await, expected, "{calls:?}");
    };
    check(&[], &[]).await;
    check(
        &[("t", "{}"), ("t", "{}")],
        &[r#"call_duration_seconds_count{tool="t"} 2"#, r#"calls_total{tool="t",outcome="result"} 2"#],
    )
    .await;
    check(
        &[("t", r#"{"fails":1}"#)],
        &[r#"call_duration_seconds_count{tool="t"} 1"#, r#"calls_total{tool="t",outcome="tool_error"} 1"#],
    )
    .await;
    let planted = r#"{"a":"planted-0123456789abcdef","b":"planted-0123456789abcdef"}"#;
    check(
        &[("t", planted)],
        &[
            r#"call_duration_seconds_count{tool="t"} 1"#,
            r#"calls_total{tool="t",outcome="result"} 1"#,
            "redactions_total 2",
        ],
    )
    .await;
    check(
        &[("nosuch", "{}")],
        &[
            r#"call_duration_seconds_count{tool="other"} 1"#,
            r#"calls_total{tool="other",outcome="refused"} 1"#,
            r#"refusals_total{check="none",code="unknown_tool"} 1"#,
        ],
    )
    .await;
}

#[tokio::test]
async fn who_is_turned_away_is_counted_as_well() {
    let lines = after(&[("nosuch", "{}"); REFUSED_CALLS as usize]).await;
    assert_eq!(figure(&lines, r#"calls_total{tool="other",outcome="refused"}"#), REFUSED_CALLS);
    let unknown = figure(&lines, r#"refusals_total{check="none",code="unknown_tool"}"#);
    let turned_away = figure(&lines, r#"refusals_total{check="rate",code="rate_limited"}"#);
    assert!(turned_away > 0, "{lines:?}");
    assert_eq!(unknown + turned_away, REFUSED_CALLS);
    assert_eq!(figure(&lines, "calls_running"), 0);
}
