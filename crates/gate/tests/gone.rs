//! A call whose server is exchanged before the call was sent: the caller is told so and may call again; the gate sends the
//! call nowhere else.

#[path = "samples/gate.rs"]
mod gates;
#[path = "samples/definition.rs"]
mod samples;

use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use gate::{
    Call, Caller, Catalog, Definition, Failure, Features, Outcome, Payload, RateConfig, ToolError, Via,
};
use tool_api::{AnyTool, Arguments, Context, Effect};

struct Tool {
    definition: Definition,
    /// The first one is exchanged for another while it is called.
    exchanged: Option<Arc<Catalog>>,
}

impl Tool {
    fn offered(exchanged: Option<Arc<Catalog>>) -> Vec<Arc<dyn AnyTool>> {
        let definition = samples::definition(Some("a"), "t", Effect::Reads);
        vec![Arc::new(Tool { definition, exchanged })]
    }
}

impl AnyTool for Tool {
    fn definition(&self) -> &Definition {
        &self.definition
    }

    fn run<'a>(&'a self, arguments: Arguments, _: &'a Context) -> BoxFuture<'a, Result<Outcome, ToolError>> {
        let done = match &self.exchanged {
            Some(catalog) => {
                catalog.replace("a", Tool::offered(None), Features::default());
                Err(ToolError::gone("`a` has gone"))
            }
            None => {
                let payload = Payload::Relayed { result: arguments.bytes(), structured: None };
                Ok(Outcome::of(payload))
            }
        };
        async move { done }.boxed()
    }
}

#[tokio::test]
async fn a_call_that_was_not_sent_says_so_and_the_next_one_finds_the_server_in_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let catalog = Catalog::new(Vec::new());
    catalog.replace("a", Tool::offered(Some(catalog.clone())), Features::default());
    let gate = gates::gate(&folder, catalog, RateConfig { per_second: 0, burst: 1 });
    let caller = Caller::local_user(Via::Stdio);
    let Err(Failure::Tool(error)) = gate.call(&caller, Call::tool("t", None)).await else {
        panic!("the call was sent elsewhere")
    };
    assert_eq!((error.code().as_ref(), &error.details().unwrap()["retry"]), ("gone", &true.into()));
    assert!(gate.call(&caller, Call::tool("t", None)).await.is_ok());
}
