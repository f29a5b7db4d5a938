//! A source whose tools take the steps that a test allows them, for the tests of what happens around a running
//! call.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use gate::Catalog;
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use tool_api::{
    AnyTool, Arguments, Context, Definition, Effect, Features, Listing, Origin, Outcome, Payload, Progress,
    ToolError, ToolName, Validate,
};

/// The hand on the walking tools.
#[derive(Clone)]
pub struct Walk {
    steps: Arc<Semaphore>,
    begun: Arc<Semaphore>,
    given_up: Arc<Semaphore>,
}

impl Walk {
    /// Lets `steps` more steps be taken.
    pub fn allow(&self, steps: usize) {
        self.steps.add_permits(steps);
    }

    /// Resolves once for every call that has begun to walk. A call that came is not there yet: it waits for the disk
    /// before it runs.
    pub async fn begun(&self) {
        self.begun.acquire().await.expect("it is never closed").forget();
    }

    /// How many calls have begun that [`begun`](Self::begun) did not wait for.
    pub fn begun_unasked(&self) -> usize {
        self.begun.available_permits()
    }

    /// Resolves once for every call that had begun and was given up before its end.
    pub async fn given_up(&self) {
        self.given_up.acquire().await.expect("it is never closed").forget();
    }
}

/// Reports the source to a catalogue.
///
/// Its tools are `walk` (`{steps, bytes}`: reports each step when it is allowed, and ends with one more, giving as
/// many bytes of text), and `region` (`{region}`: its argument is repeated in the header `Mcp-Param-Region`).
pub fn offer_walk(catalog: &Catalog) -> Walk {
    let [steps, begun, given_up] = [(); 3].map(|()| Arc::new(Semaphore::new(0)));
    let walk = Walk { steps, begun, given_up };
    let region = json!({
        "type": "object",
        "properties": { "region": { "type": "string", "x-mcp-header": "Region" } },
    });
    let tools: Vec<Arc<dyn AnyTool>> = vec![
        Arc::new(Walker { definition: definition("walk", &json!({ "type": "object" })), walk: walk.clone() }),
        Arc::new(Region { definition: definition("region", &region) }),
    ];
    catalog.replace("walks", tools, Features::default());
    walk
}

/// Offers one more tool, or no longer.
pub fn offer_one_more(catalog: &Catalog, there: bool) {
    let region = |name| -> Arc<dyn AnyTool> { Arc::new(Region { definition: definition(name, &json!({})) }) };
    let tools = if there { vec![region("more")] } else { Vec::new() };
    catalog.replace("more", tools, Features::default());
}

fn definition(name: &str, schema: &Value) -> Definition {
    let listing = json!({ "name": name, "inputSchema": schema });
    Definition {
        name: ToolName::parse(name).expect("a sample's name is legal"),
        origin: Origin::Upstream("walks".into()),
        description: "a sample".into(),
        effect: Effect::Executes,
        marked_destructive: false,
        open_world: true,
        scopes: Arc::new(["upstream:call".into()]),
        timeout: Duration::from_secs(60),
        extends_to: None,
        input_schema: schema.to_string().into(),
        validate: Validate::Strict,
        output_schema: None,
        result_budget: tool_api::ResultBudget::Whole,
        listing: Listing::Relayed(listing.to_string().into()),
    }
}

fn text(text: &str) -> Outcome {
    let result = json!({ "content": [{ "type": "text", "text": text }] });
    Outcome::of(Payload::Relayed { result: Bytes::from(result.to_string()), structured: None })
}

struct Walker {
    definition: Definition,
    walk: Walk,
}

/// Counts a call that is dropped on the way.
struct OnTheWay<'a>(Option<&'a Semaphore>);

impl Drop for OnTheWay<'_> {
    fn drop(&mut self) {
        self.0.into_iter().for_each(|given_up| given_up.add_permits(1));
    }
}

impl AnyTool for Walker {
    fn definition(&self) -> &Definition {
        &self.definition
    }

    fn run<'a>(&'a self, arguments: Arguments, cx: &'a Context) -> BoxFuture<'a, Result<Outcome, ToolError>> {
        Box::pin(async move {
            self.walk.begun.add_permits(1);
            let mut on_the_way = OnTheWay(Some(&self.walk.given_up));
            let number = |key: &str| arguments.value()[key].as_u64().unwrap_or_default();
            let step = || async { self.walk.steps.acquire().await.expect("it is never closed").forget() };
            for done in 1..=number("steps") {
                step().await;
                cx.report(Progress::Step { done: done as f64, total: None, message: None });
            }
            step().await;
            on_the_way.0 = None;
            Ok(text(&"x".repeat(usize::try_from(number("bytes")).unwrap_or_default())))
        })
    }
}

struct Region {
    definition: Definition,
}

impl AnyTool for Region {
    fn definition(&self) -> &Definition {
        &self.definition
    }

    fn run<'a>(&'a self, arguments: Arguments, _: &'a Context) -> BoxFuture<'a, Result<Outcome, ToolError>> {
        Box::pin(async move { Ok(text(arguments.text())) })
    }
}
