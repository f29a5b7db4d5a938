//! A call whose server leaves before it has begun: who may take it over, and who may not.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

#[path = "samples/definition.rs"]
mod samples;

use std::sync::Arc;

use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use gate::{
    Approvals, Call, Caller, Catalog, Definition, Features, Gate, Outcome, Parts, Payload, RateConfig,
    Redactor, Ruleset, ToolError, Via,
};
use tool_api::{AnyTool, Arguments, Context, Effect};

/// What is offered once the one before has left.
#[derive(Clone, Copy)]
enum Next {
    /// The same tool of another server.
    Same,
    /// A tool of this description.
    Other(&'static str),
    /// The same, but after a while.
    Late,
    /// One that has left, too.
    LeftToo,
    /// Nothing.
    Nothing,
}

/// How a call ends at a tool.
#[derive(Clone, Copy)]
enum Ends {
    /// What it belongs to has left, and it has done nothing.
    Left,
    /// What it belongs to has ended, and nobody knows what was done.
    Lost,
    /// Well.
    Well,
}

struct Tool {
    definition: Definition,
    ends: Ends,
    /// What happens when it is called.
    leaves: Option<(Arc<Catalog>, Next)>,
}

impl AnyTool for Tool {
    fn definition(&self) -> &Definition {
        &self.definition
    }

    fn run<'a>(&'a self, arguments: Arguments, _: &'a Context) -> BoxFuture<'a, Result<Outcome, ToolError>> {
        if let Some((catalog, next)) = &self.leaves {
            leave(catalog, *next);
        }
        let said = Payload::Relayed { result: arguments.text().to_owned().into(), structured: None };
        let done = match self.ends {
            Ends::Left => Err(ToolError::new("left", "it has left").of_orphan()),
            Ends::Lost => Err(ToolError::new("lost", "it is lost")),
            Ends::Well => Ok(Outcome { payload: said, is_error: false }),
        };
        async move { done }.boxed()
    }
}

fn leave(catalog: &Arc<Catalog>, next: Next) {
    let offer = |description: &str, ends: Ends| {
        let tool = Tool { definition: definition(description), ends, leaves: None };
        catalog.replace("a", vec![Arc::new(tool)], Features::default());
    };
    match next {
        Next::Same => offer("", Ends::Well),
        Next::Other(description) => offer(description, Ends::Well),
        Next::LeftToo => offer("", Ends::Left),
        Next::Nothing => catalog.remove("a"),
        Next::Late => {
            catalog.remove("a");
            catalog.expect("a");
            let catalog = catalog.clone();
            tokio::spawn(async move {
                catalog.wanted().await;
                leave(&catalog, Next::Same);
            });
        }
    }
}

fn definition(description: &str) -> Definition {
    Definition { description: description.into(), ..samples::definition(Some("a"), "t", Effect::Reads) }
}

/// How a call ends whose tool ends so, and leaves this behind.
async fn check(ends: Ends, next: Next, expected: &str) {
    let folder = tempfile::tempdir().unwrap();
    let catalog = Catalog::new(Vec::new());
    let first = Tool { definition: definition(""), ends, leaves: Some((catalog.clone(), next)) };
    catalog.replace("a", vec![Arc::new(first)], Features::default());
    let gate = Gate::new(Parts {
        catalog,
        ruleset: Ruleset::new(
            policy::Policy::new(&policy::Config::default()).unwrap(),
            RateConfig { per_second: 0, burst: 1 },
        ),
        redactor: Redactor::new(&redact::Config::default()),
        approvals: Approvals::new(Arc::new(store::SqliteStore::at(folder.path()))),
        audit_log: Arc::new(audit::AuditLog::at(folder.path(), || 0)),
        files: tool_api::Root::open(folder.path(), tool_api::Access::Read).unwrap(),
    });
    let call = Call::tool("t", Some(Bytes::from_static(br#"{"x":1}"#)));
    let said = match gate.unwrap().call(&Caller::local_user(Via::Stdio), call).await {
        Ok(Outcome { payload: Payload::Relayed { result, .. }, .. }) => {
            String::from_utf8(result.to_vec()).unwrap()
        }
        Ok(other) => panic!("{:?}", other.payload),
        Err(failure) => failure.code().to_owned(),
    };
    assert_eq!(said, expected);
}

#[tokio::test]
async fn what_has_not_begun_goes_to_whatever_took_the_place() {
    let done = r#"{"x":1}"#;
    check(Ends::Left, Next::Same, done).await;
    check(Ends::Left, Next::Late, done).await;
}

#[tokio::test]
async fn what_was_not_admitted_or_may_have_begun_does_not() {
    check(Ends::Left, Next::Other("does more"), "left").await;
    check(Ends::Left, Next::Nothing, "left").await;
    // Only once: two that leave at each other's heels are no reason to go on for ever.
    check(Ends::Left, Next::LeftToo, "left").await;
    check(Ends::Lost, Next::Same, "lost").await;
}
