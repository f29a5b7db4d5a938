//! A call whose time is up is told to stop, also where its tool works on a thread of its own.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

#[path = "samples/gate.rs"]
mod gates;
#[path = "samples/definition.rs"]
mod samples;

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use gate::{Call, Caller, Catalog, Definition, Failure, Outcome, RateConfig, ToolError, Via};
use tokio::sync::mpsc;
use tool_api::{AnyTool, Arguments, Context, Effect};

/// A thread that hears of nothing would go on for so long.
const HEARS_WITHIN: Duration = Duration::from_secs(20);

/// Works on a thread until it is told to stop, and says whether it was.
struct Works(Definition, mpsc::Sender<bool>);

impl AnyTool for Works {
    fn definition(&self) -> &Definition {
        &self.0
    }

    fn run<'a>(&'a self, _: Arguments, cx: &'a Context) -> BoxFuture<'a, Result<Outcome, ToolError>> {
        let (cancel, told) = (cx.cancel.clone(), self.1.clone());
        let work = move || {
            let wait = async { tokio::time::timeout(HEARS_WITHIN, cancel.cancelled()).await.is_ok() };
            told.blocking_send(tokio::runtime::Handle::current().block_on(wait)).unwrap();
            Err(ToolError::cancelled())
        };
        async move { cx.blocking(work).await }.boxed()
    }
}

#[tokio::test(flavor = "current_thread")]
async fn a_thread_is_told_to_stop() {
    let folder = tempfile::tempdir().unwrap();
    let (told, mut hears) = mpsc::channel(1);
    let timeout = Duration::from_millis(20);
    let definition = Definition { timeout, ..samples::definition(None, "works", Effect::Reads) };
    let catalog = Catalog::new(vec![Arc::new(Works(definition, told)) as Arc<dyn AnyTool>]);
    let gate = gates::gate(&folder, catalog, RateConfig { per_second: 0, burst: 1 });
    let failed = gate.call(&Caller::local_user(Via::Stdio), Call::tool("works", None)).await.unwrap_err();
    assert!(matches!(&failed, Failure::Tool(error) if error.code() == "timeout"), "{failed:?}");
    let heard = hears.recv().await.unwrap();
    assert!(heard, "it went on");
}
