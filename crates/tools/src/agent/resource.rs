//! What an agent's tools keep, as resources: read and watched without a call of the tool. Reading takes nothing away.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use serde_json::json;
use tool_api::{
    Abilities, Action, AnyTool, Arguments, Context, Definition, Effect, Features, Item, JSON, Outcome,
    Payload, STATE_SCHEME, State, Tool, ToolError, builtin, noted,
};

use super::callback::{self, SetCallback};
use super::callbacks::Callbacks;
use super::task_list::TaskList;
use super::tasks::{self, TaskManager};

/// The media type of what models read.
const MARKDOWN: &str = "text/markdown";

/// The tasks of the caller in this workspace.
pub fn task_features() -> Features {
    features(TaskManager, tasks::NAME, "Your tasks and their steps, as TaskManager keeps them.", Kept::Tasks)
}

/// The callbacks of the caller in this workspace.
pub fn callback_features() -> Features {
    let description = "Callbacks that are due and not taken yet, and those to come. callback_wait takes one.";
    features(SetCallback, callback::NAME, description, Kept::Callbacks)
}

fn features(tool: impl Tool, name: &'static str, description: &str, kept: Kept) -> Features {
    let uri: Arc<str> = format!("{STATE_SCHEME}{name}").into();
    let listing = json!({ "uri": &*uri, "name": name, "description": description, "mimeType": MARKDOWN });
    // Its arguments are the parameters of the request.
    let definition = Definition {
        input_schema: Bytes::from_static(b"{}").into(),
        output_schema: None,
        effect: Effect::Reads,
        ..builtin(tool).definition().clone()
    };
    let action = |does: Does| {
        Arc::new(OfKept { definition: definition.clone(), uri: uri.clone(), kept, does }) as Arc<dyn AnyTool>
    };
    let claimed = uri.clone();
    Features {
        resources: vec![Item { key: uri.clone(), listing: listing.to_string().into() }],
        claims: Some(Arc::new(move |uri: &str| uri == &*claimed)),
        actions: vec![
            (Action::ReadResource, action(Does::Read)),
            (Action::Subscribe, action(Does::Watch)),
            (Action::Unsubscribe, action(Does::Nothing)),
        ],
        abilities: Abilities { resources: true, subscribe: true, ..Abilities::default() },
        ..Features::default()
    }
}

#[derive(Clone, Copy)]
enum Kept {
    Tasks,
    Callbacks,
}

#[derive(Clone, Copy)]
enum Does {
    Read,
    /// Who has subscribed is told by whoever carries the subscription; what is to come has to be set up again after a restart.
    Watch,
    Nothing,
}

/// What is done with one of them. Policy and records know it as the tool.
struct OfKept {
    definition: Definition,
    uri: Arc<str>,
    kept: Kept,
    does: Does,
}

impl OfKept {
    /// The same as Markdown and as JSON.
    async fn read(&self, state: &dyn State) -> Result<[(&'static str, String); 2], ToolError> {
        let (text, facts) = match self.kept {
            Kept::Tasks => {
                let list: TaskList = noted(state, tasks::NAME).await?;
                (list.to_string(), json!(list))
            }
            Kept::Callbacks => {
                let (all, now_ms): (Callbacks, _) = (noted(state, callback::NAME).await?, state.now_ms());
                let seen = all.seen(now_ms);
                (seen.to_string(), json!(seen))
            }
        };
        Ok([(MARKDOWN, text), (JSON, facts.to_string())])
    }
}

impl AnyTool for OfKept {
    fn definition(&self) -> &Definition {
        &self.definition
    }

    fn run<'a>(&'a self, _: Arguments, cx: &'a Context) -> BoxFuture<'a, Result<Outcome, ToolError>> {
        Box::pin(async move {
            let result = match (self.does, self.kept) {
                (Does::Read, _) => {
                    let uri = &*self.uri;
                    let contents = self.read(cx.state()?).await?;
                    let contents =
                        contents.map(|(mime, text)| json!({ "uri": uri, "mimeType": mime, "text": text }));
                    json!({ "contents": contents })
                }
                (Does::Watch, Kept::Callbacks) => {
                    callback::remind(cx.state()?).await;
                    json!({})
                }
                (Does::Watch, Kept::Tasks) | (Does::Nothing, _) => json!({}),
            };
            Ok(Outcome::of(Payload::Relayed { result: result.to_string().into(), structured: None }))
        })
    }
}
