//! `RemoteExtension`: a method of an extension that an upstream declares, made to look like a tool, so that it goes
//! through the same gate.
//!
//! What an extension's parameters and results mean is between the client and the server, so both pass as they are: no
//! name or URI in them is translated.

use std::sync::{Arc, Weak};

use bytes::Bytes;
use futures_util::future::BoxFuture;
use tool_api::{AnyTool, Arguments, Context, Definition, Effect, Listing, Origin, Outcome, ToolError};

use crate::Upstream;
use crate::answer::{self, Asked, Reader};
use crate::connection::{Answer, Request};
use crate::naming;
use crate::remote_tool::SCOPE;
use crate::round;
use crate::settings::Settings;
use crate::uri_map::UriMap;

pub(crate) struct RemoteExtension {
    definition: Definition,
    method: Box<str>,
    /// Weak, since the upstream's offer makes it.
    upstream: Weak<Upstream>,
    map: UriMap,
}

impl RemoteExtension {
    /// The method, under the name by which rules know it; nothing if the prefix leaves it none.
    pub(crate) fn new(
        method: &str,
        settings: &Settings,
        upstream: Weak<Upstream>,
    ) -> Option<RemoteExtension> {
        let definition = Definition {
            name: naming::offered(&settings.prefix, method)?,
            origin: Origin::Upstream(settings.name.clone()),
            description: "a method of an extension".into(),
            // Nothing is known of what it does.
            effect: Effect::Executes,
            marked_destructive: false,
            open_world: true,
            scopes: Arc::new([SCOPE.into()]),
            timeout: settings.limits.call,
            extends_to: Some(settings.limits.call_max),
            input_schema: Bytes::from_static(b"{}"),
            output_schema: None,
            // Never listed: it is called by its method.
            listing: Listing::Relayed(Bytes::from_static(b"{}")),
        };
        Some(RemoteExtension { definition, method: method.into(), upstream, map: settings.uri_map() })
    }

    fn upstream_name(&self) -> &str {
        self.definition.upstream().unwrap_or_default()
    }

    async fn call(
        &self,
        upstream: &Upstream,
        arguments: &Arguments,
        cx: &Context,
    ) -> Result<Outcome, ToolError> {
        // Not repeatable: whether a second call changes something more is for the extension to say.
        let round = round::send(upstream, cx, false, |_| {
            Ok(Request {
                method: &self.method,
                params: arguments.text().as_bytes().to_vec(),
                cx: Some(cx),
                name: None,
                param_headers: Vec::new(),
            })
        });
        let round = round.await?;
        let is_modern = round.connection.is_modern();
        match round.answer {
            Ok(Answer::Error(error)) => Err(answer::error(self.upstream_name(), &error, false)),
            Ok(answer) => {
                let (upstream, map, mask) = (self.upstream_name(), &self.map, upstream.settings().mask());
                Reader { upstream, map, mask, is_modern, asked: Asked::Other }.outcome(&answer, cx)
            }
            Err(fault) => Err(upstream.failure(&fault)),
        }
    }
}

impl AnyTool for RemoteExtension {
    fn definition(&self) -> &Definition {
        &self.definition
    }

    fn run<'a>(&'a self, arguments: Arguments, cx: &'a Context) -> BoxFuture<'a, Result<Outcome, ToolError>> {
        Box::pin(async move {
            let upstream = self.upstream.upgrade();
            let upstream = upstream.ok_or_else(|| ToolError::gone(self.upstream_name()))?;
            let done = self.call(&upstream, &arguments, cx).await;
            done.map_err(|error| error.reworded(|text| upstream.settings().masked(text)))
        })
    }
}
