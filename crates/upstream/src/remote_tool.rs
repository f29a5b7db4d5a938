//! `RemoteTool`: one tool of an upstream, made to look like ours.
//!
//! Its definition leaves byte for byte as it came, but for the name. Its arguments go out and its results
//! come back as they are; cleaning and cutting are left to the gate.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use bytes::Bytes;
use futures_util::future::BoxFuture;
use tool_api::{AnyTool, Arguments, Context, Definition, Effect, Listing, Outcome, ToolError, ToolName};
use wire::message::Text;
use wire::tools::{self, ListedTool};

use crate::Upstream;
use crate::answer;
use crate::connection::Fault;
use crate::settings::Settings;

/// What a caller must have been given to use tools of upstreams.
pub const SCOPE: &str = "upstream:call";

pub(crate) struct RemoteTool {
    definition: Definition,
    /// Its name on the upstream.
    name: String,
    /// Weak, since the upstream's offer holds its tools.
    upstream: Weak<Upstream>,
    /// The last of the upstream's lists in which this definition stood.
    generation: AtomicU64,
}

impl RemoteTool {
    /// The tool `listed` under `name`.
    pub(crate) fn new(
        listed: &ListedTool,
        name: ToolName,
        settings: &Settings,
        upstream: Weak<Upstream>,
    ) -> Option<RemoteTool> {
        // The schemas are cut from the renamed text, so that the page they came in can be freed.
        let text = Text::check(Bytes::from(tools::renamed(&listed.text, name.as_str()))).ok()?;
        let renamed = tools::listed_tool(&text, text.as_str())?;
        let definition = Definition {
            name,
            upstream: Some(settings.name.clone()),
            description: renamed.description.into(),
            // What a server says of itself could only loosen this, so it is not asked.
            effect: Effect::Executes,
            marked_destructive: renamed.hints.destructive == Some(true),
            open_world: true,
            scopes: Arc::new([SCOPE.into()]),
            timeout: settings.timeout,
            progress_extends: true,
            input_schema: renamed.input_schema.bytes(),
            output_schema: renamed.output_schema.map(|schema| schema.bytes()),
            listing: Listing::Relayed(text.bytes()),
        };
        Some(RemoteTool { definition, name: listed.name.clone(), upstream, generation: AtomicU64::new(0) })
    }

    async fn call(&self, arguments: Arguments, cx: &Context) -> Result<Outcome, ToolError> {
        let upstream = self.upstream.upgrade().ok_or_else(|| answer::removed(self.upstream_name()))?;
        let reply = match self.send(&upstream, &arguments, cx).await? {
            // The server has not seen the call: it ended, or forgot our session, since the last one.
            Err(Fault::NotSent(_)) => self.send(&upstream, &arguments, cx).await?,
            reply => reply,
        };
        match reply {
            Ok(Ok(result)) => answer::outcome(upstream.name(), &result),
            Ok(Err(error)) => Err(self.refused(&upstream, &error)),
            Err(fault) => Err(answer::failed(upstream.name(), &fault)),
        }
    }

    /// Sends the call once. A connection that shows itself to be of no use is given up.
    async fn send(
        &self,
        upstream: &Arc<Upstream>,
        arguments: &Arguments,
        cx: &Context,
    ) -> Result<Result<Result<Text, Text>, Fault>, ToolError> {
        let connection = upstream.connection().await;
        let connection = connection.map_err(|error| answer::unavailable(upstream.name(), &error))?;
        self.check_unchanged(upstream)?;
        let reply = connection.call(&self.name, arguments.text(), cx).await;
        if let Err(fault) = &reply
            && matches!(fault, Fault::NotSent(_) | Fault::Access(_))
        {
            upstream.give_up(connection.exchange(), &fault.to_string());
        }
        Ok(reply)
    }

    /// What was admitted is this definition. If the server now lists another under the name (it may just
    /// have been started, and this one remembered), nobody has looked at that one yet.
    fn check_unchanged(&self, upstream: &Upstream) -> Result<(), ToolError> {
        if upstream.generation() == self.generation.load(Ordering::Relaxed) {
            return Ok(());
        }
        let (generation, offer) = upstream.offer_now();
        let now = offer.iter().find(|tool| tool.definition().name == self.definition.name);
        let listing = |definition: &Definition| match &definition.listing {
            Listing::Relayed(text) => text.clone(),
            Listing::Ours(_) => Bytes::new(),
        };
        if now.is_some_and(|now| listing(now.definition()) == listing(&self.definition)) {
            self.generation.store(generation, Ordering::Relaxed);
            return Ok(());
        }
        Err(answer::changed(upstream.name(), self.definition.name.as_str()))
    }

    fn refused(&self, upstream: &Upstream, error: &Text) -> ToolError {
        let unknown = answer::says_unknown_tool(error);
        if unknown {
            upstream.look_again();
        }
        answer::error(upstream.name(), error, unknown)
    }

    fn masked(&self, error: ToolError) -> ToolError {
        match self.upstream.upgrade() {
            Some(upstream) => error.reworded(|text| upstream.settings().masked(text)),
            None => error,
        }
    }

    fn upstream_name(&self) -> &str {
        self.definition.upstream.as_deref().unwrap_or_default()
    }
}

impl AnyTool for RemoteTool {
    fn definition(&self) -> &Definition {
        &self.definition
    }

    fn run<'a>(&'a self, arguments: Arguments, cx: &'a Context) -> BoxFuture<'a, Result<Outcome, ToolError>> {
        Box::pin(async move { self.call(arguments, cx).await.map_err(|error| self.masked(error)) })
    }
}
