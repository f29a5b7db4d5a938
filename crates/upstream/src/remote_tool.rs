//! `RemoteTool`: one tool of an upstream, made to look like ours.
//!
//! Its definition leaves byte for byte as it came, but for the name, the URI of the resource that shows it, what its
//! user changes about it (`shape`), and secrets in what it says of itself. Its arguments go out as they are, with those that the user adds, and
//! its results come back with the URIs offered here; cleaning and cutting are left to the gate.

use std::borrow::Cow;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use bytes::Bytes;
use futures_util::future::BoxFuture;
use tool_api::{
    AnyTool, Arguments, Context, Definition, Effect, Listing, Origin, Outcome, Payload, ResultBudget,
    Sandboxed, ToolError, ToolName,
};
use wire::message::Text;
use wire::param_headers::ParamHeaders;
use wire::relayed::Relayed;
use wire::uris::{self, Maps};
use wire::{Code, Object, Revision, patch, tools};

use crate::answer::{self, Asked, Reader};
use crate::config::{Errors, Trust};
use crate::connection::{Answer, Connection, Era, Request};
use crate::kind::Kind;
use crate::listing::Entry;
use crate::round::{self, Round};
use crate::settings::{Endpoint, Mask, Settings};
use crate::tasks::{self, TaskSupport};
use crate::tool_filter::{Sent, ToolOverride};
use crate::upstream::Upstream;
use crate::uri_map::UriMap;

/// What a caller must have been given to use tools of upstreams.
pub const SCOPE: &str = "upstream:call";

pub(crate) struct RemoteTool {
    definition: Definition,
    /// Its name on the upstream.
    name: String,
    map: UriMap,
    /// Arguments that are added to every call's.
    sent: Option<Arc<Sent>>,
    /// Arguments that go into headers, too.
    param_headers: ParamHeaders,
    /// True if a second identical call changes nothing more.
    repeatable: bool,
    /// Whether a server of 2025-11-25 runs it as a task.
    task_support: TaskSupport,
    /// True once a modern server has refused to run it for a client that knows no tasks.
    demands_tasks: AtomicBool,
    /// Weak, since the upstream's offer holds its tools.
    upstream: Weak<Upstream>,
    /// The last of the upstream's lists in which this definition stood.
    generation: AtomicU64,
}

impl RemoteTool {
    /// The tool `listed` by a server of `era` under `name`, as it is `reshaped`.
    ///
    /// # Errors
    /// Why it cannot be offered.
    pub(crate) fn new(
        listed: &Entry,
        name: ToolName,
        reshaped: Option<&ToolOverride>,
        era: Option<Era>,
        settings: &Settings,
        upstream: Weak<Upstream>,
    ) -> Result<RemoteTool, String> {
        let unsound = || "its definition cannot be offered under another name".to_owned();
        if let Some(why) = reshaped.and_then(|reshaped| reshaped.obstacle(&listed.text)) {
            return Err(why);
        }
        let map = UriMap::new(&settings.prefix);
        let changed = reshaped.and_then(|reshaped| reshaped.definition(&listed.text));
        let changed = changed.as_ref().unwrap_or(&listed.text);
        // The schemas are cut from the renamed text, so that the page they came in can be freed.
        let renamed = Text::check(Bytes::from(tools::renamed(changed, name.as_str())));
        let text = without_secrets(outward(&renamed.map_err(|_| unsound())?, &map), settings.mask());
        let tool = tools::listed_tool(&text, text.as_str()).ok_or_else(unsound)?;
        let param_headers = match (&settings.endpoint, era) {
            (Endpoint::Program(_) | Endpoint::Socket(_), _)
            | (Endpoint::Address { .. }, Some(Era::Legacy)) => ParamHeaders::default(),
            (Endpoint::Address { .. }, Some(Era::Modern) | None) => {
                // The server's own schema: it wants the headers of arguments that callers do not see, too.
                let schema = listed.text.object().and_then(|tool| tool.object("inputSchema"));
                let schema = schema.ok_or_else(unsound)?;
                ParamHeaders::read(schema.text()).map_err(|fault| fault.to_string())?
            }
        };
        let stated = reshaped.and_then(|reshaped| reshaped.effect);
        let definition = Definition {
            effect: stated.unwrap_or_else(|| effect(&tool.hints, settings.trust)),
            marked_destructive: tool.hints.destructive == Some(true),
            input_schema: tool.input_schema.bytes().into(),
            output_schema: tool.output_schema.map(|schema| schema.bytes().into()),
            result_budget: settings.result_budget,
            listing: Listing::Relayed(text.bytes()),
            ..unknown(name, &tool.description, settings)
        };
        Ok(RemoteTool {
            definition,
            name: listed.key.clone(),
            map,
            sent: reshaped.and_then(|reshaped| reshaped.sent.clone()),
            param_headers,
            repeatable: tool.hints.idempotent == Some(true) || tool.hints.read_only == Some(true),
            task_support: TaskSupport::of(&text),
            demands_tasks: AtomicBool::new(false),
            upstream,
            generation: AtomicU64::new(0),
        })
    }

    async fn call(
        &self,
        upstream: &Upstream,
        arguments: Arguments,
        cx: &Context,
    ) -> Result<Outcome, ToolError> {
        let arguments = match &self.sent {
            Some(sent) => sent.with(arguments.text()),
            None => Cow::Borrowed(arguments.text()),
        };
        let state = cx.input.as_ref().and_then(|input| input.state.as_deref());
        if let Some(run) = state.and_then(|state| upstream.suspended_tasks.take(state)) {
            let answer = tasks::resume(upstream, run, cx).await?;
            return self.reader(upstream, true).outcome(&answer, cx);
        }
        let mut round = self.send(upstream, &arguments, cx).await?;
        if matches!(&round.answer, Ok(Answer::Error(error)) if answer::is_code(error, Code::HeaderMismatch)) {
            // Its slot is over. What goes into headers follows from the list, so ours may be old.
            drop(round);
            upstream.refresh(Kind::Tools).await;
            round = self.send(upstream, &arguments, cx).await?;
        }
        if self.is_new_demand(&round, cx) {
            drop(round);
            round = self.send(upstream, &arguments, cx).await?;
        }
        // Its slot is held while a task is followed.
        let Round { connection, slot: _slot, answer } = round;
        let is_modern = connection.is_modern();
        let answer = match answer {
            Ok(Answer::Error(error)) => return Err(self.refused(upstream, &error)),
            Ok(Answer::Result(created)) if self.runs_as_task(&connection, cx) => {
                if tasks::can_be_given(&connection, cx)
                    && let Some(outcome) = tasks::begin(upstream, &connection, &created, cx)?
                {
                    return Ok(outcome);
                }
                tasks::follow_legacy(upstream, &connection, created, cx).await?
            }
            Ok(Answer::Result(result)) => match self.declared(&connection, cx) {
                Some(declared) => tasks::follow_modern(upstream, &connection, result, declared, cx).await?,
                None => Answer::Result(result),
            },
            Ok(answer) => answer,
            Err(fault) => return Err(upstream.failure(&fault)),
        };
        let outcome = self.reader(upstream, is_modern).outcome(&answer, cx)?;
        if let Payload::Task { id, .. } = &outcome.payload {
            connection.follow_task(id);
        }
        Ok(outcome)
    }

    fn reader<'r>(&'r self, upstream: &'r Upstream, is_modern: bool) -> Reader<'r> {
        let (mask, asked) = (upstream.settings.mask(), Asked::Call);
        Reader { upstream: upstream.name(), map: &self.map, mask, is_modern, asked }
    }

    async fn send(&self, upstream: &Upstream, arguments: &str, cx: &Context) -> Result<Round, ToolError> {
        let what = ("tools/call", &*self.name);
        round::send(upstream, cx, what, self.repeatable, |connection| {
            self.check_unchanged(upstream)?;
            let declared = self.declared(connection, cx);
            Ok(self.request(connection, arguments, declared, cx))
        })
        .await
    }

    fn request<'r>(
        &'r self,
        connection: &Connection,
        arguments: &str,
        capabilities: Option<Arc<str>>,
        cx: &'r Context,
    ) -> Request<'r> {
        let (input_responses, request_state) = round::input(connection, cx);
        let task = self.runs_as_task(connection, cx).then_some("{}");
        let relayed = Relayed { meta: None, input_responses, request_state, task };
        let param_headers = match self.param_headers.is_empty() || !connection.is_modern() {
            true => Vec::new(),
            false => self.param_headers.values(Object::parse(arguments)),
        };
        Request {
            method: "tools/call",
            params: tools::write_call(&self.name, Some(arguments), &relayed),
            cx: Some(cx),
            capabilities,
            name: Some(&self.name),
            param_headers,
        }
    }

    /// True if the call is to be made as a task of 2025-11-25: if it must be, or if its client can be given one.
    fn runs_as_task(&self, connection: &Connection, cx: &Context) -> bool {
        connection.identity.revision == Revision::V2025_11_25
            && match self.task_support {
                TaskSupport::Never => false,
                TaskSupport::Optional => tasks::can_be_given(connection, cx),
                TaskSupport::Required => true,
            }
    }

    /// What a modern server that demands it is told of a client which knows no tasks: we do, for it.
    fn declared(&self, connection: &Connection, cx: &Context) -> Option<Arc<str>> {
        let is_told =
            cx.client.knows_no_tasks && connection.is_modern() && self.demands_tasks.load(Ordering::Relaxed);
        is_told.then(|| tasks::declaring(&cx.client.capabilities))
    }

    /// True if the server refused the call for want of what only now is known that it can be told.
    fn is_new_demand(&self, round: &Round, cx: &Context) -> bool {
        let is_demand = matches!(&round.answer, Ok(Answer::Error(error)) if tasks::is_demanded(error));
        is_demand
            && cx.client.knows_no_tasks
            && round.connection.is_modern()
            && !self.demands_tasks.swap(true, Ordering::Relaxed)
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
            Listing::Ours(_) | Listing::Declared(_) => Bytes::new(),
        };
        if now.is_some_and(|now| listing(now.definition()) == listing(&self.definition)) {
            self.generation.store(generation, Ordering::Relaxed);
            return Ok(());
        }
        if let Some(why) = upstream.held_tool(&self.definition.name) {
            return Err(answer::held_back(upstream.name(), &why));
        }
        Err(answer::changed(upstream.name(), self.definition.name.as_str()))
    }

    fn refused(&self, upstream: &Upstream, error: &Text) -> ToolError {
        let unknown = answer::says_unknown_tool(error);
        if unknown {
            upstream.look_again();
        }
        let told = answer::error(upstream.name(), error, unknown);
        match upstream.settings.errors {
            Errors::Results => told,
            Errors::Protocol => told.telling_protocol(),
        }
    }
}

/// A definition of which nothing is known but its name.
pub(crate) fn unknown(name: ToolName, description: &str, settings: &Settings) -> Definition {
    Definition {
        name,
        origin: Origin::Upstream(settings.name.clone()),
        description: description.into(),
        effect: Effect::Executes,
        marked_destructive: false,
        open_world: true,
        scopes: Arc::new([SCOPE.into()]),
        timeout: settings.limits.call,
        extends_to: Some(settings.limits.call_max),
        input_schema: Bytes::from_static(b"{}").into(),
        validate: settings.validate,
        output_schema: None,
        result_budget: ResultBudget::Whole,
        listing: Listing::Relayed(Bytes::from_static(b"{}")),
    }
}

/// What a tool is taken to do whose effect its owner does not state. What a server says of itself could only loosen this, so it is not asked, unless a person
/// has said that everything it says is to be believed.
fn effect(hints: &tools::Hints, trust: Trust) -> Effect {
    let reads = hints.read_only == Some(true) && hints.destructive != Some(true);
    match trust {
        Trust::Trust if reads => Effect::Reads,
        Trust::Trust | Trust::Pin | Trust::Review => Effect::Executes,
    }
}

/// A tool with the resource that shows it as that is offered here.
fn outward(tool: &Text, map: &UriMap) -> Text {
    let outward = |uri: &str| map.outward(uri).into_owned();
    match map.is_plain() {
        true => tool.clone(),
        false => uris::rewrite_list_entry(tool, Maps { uri: Some(&outward), ..Maps::default() }),
    }
}

/// A tool whose title and description do not tell the secrets of its server. Its schemas say what may be sent, and stay.
fn without_secrets(tool: Text, mask: &Mask) -> Text {
    ["title", "description"].into_iter().fold(tool, |tool, key| {
        let masked = tool.object().and_then(|object| {
            let text = object.get(key).filter(|text| text.starts_with('"'))?;
            match mask.json(text) {
                Cow::Borrowed(_) => None,
                Cow::Owned(masked) => Text::check(Bytes::from(patch::set(object, key, &masked))).ok(),
            }
        });
        masked.unwrap_or(tool)
    })
}

impl AnyTool for RemoteTool {
    fn definition(&self) -> &Definition {
        &self.definition
    }

    fn run<'a>(&'a self, arguments: Arguments, cx: &'a Context) -> BoxFuture<'a, Result<Outcome, ToolError>> {
        Box::pin(async move {
            let upstream = self.upstream.upgrade();
            let upstream =
                upstream.ok_or_else(|| ToolError::gone(self.definition.upstream().unwrap_or_default()))?;
            let _counted = upstream.count_call();
            let done = self.call(&upstream, arguments, cx).await;
            done.map_err(|error| error.reworded(|text| upstream.settings.masked(text)))
        })
    }

    fn sandboxed(&self) -> Option<Sandboxed> {
        self.upstream.upgrade()?.sandboxed()
    }
}
