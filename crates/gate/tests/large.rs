//! What one client's large values mean for the others: nothing. They are looked at on another thread.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

#[path = "samples/gate.rs"]
mod gates;
#[path = "samples/definition.rs"]
mod samples;

use std::pin::pin;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use gate::{
    Call, Caller, Catalog, Definition, Features, Outcome, Payload, RESULT_BYTES_MAX, RateConfig, ToolError,
    Via,
};
use tool_api::{AnyTool, Arguments, Context, Effect};

/// Gives back as many bytes as it is asked for.
struct Letters(Definition);

impl AnyTool for Letters {
    fn definition(&self) -> &Definition {
        &self.0
    }

    fn run<'a>(&'a self, arguments: Arguments, _: &'a Context) -> BoxFuture<'a, Result<Outcome, ToolError>> {
        let count = usize::try_from(arguments.value()["count"].as_u64().unwrap_or(1)).unwrap();
        let result = Bytes::from(format!("\"{}\"", "x".repeat(count)));
        let payload = Payload::Relayed { result, structured: None };
        async move { Ok(Outcome::of(payload)) }.boxed()
    }
}

/// One thread reads and answers all requests, as in the program.
#[tokio::test(flavor = "current_thread")]
async fn others_are_answered_while_a_large_value_is_looked_at() {
    let folder = tempfile::tempdir().unwrap();
    let catalog = Catalog::new(Vec::new());
    let tool: Arc<dyn AnyTool> = Arc::new(Letters(samples::definition(Some("a"), "t", Effect::Reads)));
    catalog.replace("a", vec![tool], Features::default());
    let gate = gates::gate(&folder, catalog, RateConfig { per_second: 0, burst: 1 });
    let caller = Caller::local_user(Via::Stdio);
    // The audit log is opened by the first call.
    assert!(gate.call(&caller, Call::tool("t", None)).await.is_ok());

    let large = [
        ("result", format!(r#"{{"count":{}}}"#, RESULT_BYTES_MAX - 2)),
        ("arguments", format!(r#"{{"text":"{}"}}"#, "y".repeat(RESULT_BYTES_MAX))),
    ];
    for (what, arguments) in large {
        let mut large = pin!(gate.call(&caller, Call::tool("t", Some(arguments.into()))));
        assert!(futures_util::poll!(&mut large).is_pending(), "large {what} are looked at here");
        let small = gate.call(&caller, Call::tool("t", None)).now_or_never();
        assert!(small.expect("it waits for nobody").is_ok());
        assert!(large.await.is_ok());
    }
}
