//! `RemoteAction`: something done with what an upstream offers beside its tools, made to look like a tool, so
//! that it goes through the same gate.
//!
//! Its arguments are the parameters of the request as the caller sent them; names and URIs in them, and those in
//! what comes back, are translated here. Everything else passes as it is.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use bytes::Bytes;
use futures_util::future::BoxFuture;
use tool_api::{
    Action, AnyTool, Arguments, Context, Definition, Outcome, Payload, Protocol, ResultBudget, Sandboxed,
    ToolError,
};
use wire::completion::{self, Reference};
use wire::message::Text;
use wire::string::literal;
use wire::{Code, Object, patch, resources};

use crate::answer::{self, Asked, Reader};
use crate::closed::Closed;
use crate::connection::{Answer, Connection, Request};
use crate::naming;
use crate::remote_tool;
use crate::round;
use crate::settings::{Mask, Settings};
use crate::tasks;
use crate::upstream::{Bridged, Upstream};
use crate::uri_map::UriMap;

/// The one method of the skills extension that names nothing.
const SKILLS_LIST: &str = "skills/list";

/// What all actions of an upstream act on.
pub(crate) struct Target {
    /// Weak, since the upstream's offer holds its actions.
    pub(crate) upstream: Weak<Upstream>,
    pub(crate) map: UriMap,
    /// The prompts' own names by those offered.
    pub(crate) prompts: HashMap<Arc<str>, Box<str>>,
    /// Resources that are held back.
    pub(crate) closed: Closed,
}

pub(crate) struct RemoteAction {
    definition: Definition,
    /// Nothing for the method of an extension.
    action: Option<Action>,
    method: Box<str>,
    asked: Asked,
    /// True if doing it again changes nothing more.
    is_repeatable: bool,
    target: Arc<Target>,
}

/// What an action is about, and the parameters that say so, both in the upstream's terms.
struct Translated {
    /// For `Mcp-Name`.
    name: Option<String>,
    params: String,
}

impl RemoteAction {
    /// The action on `target`; nothing if the settings' prefix leaves it no name.
    pub(crate) fn new(action: Action, settings: &Settings, target: Arc<Target>) -> Option<RemoteAction> {
        let (method, asked, is_repeatable) = match action {
            Action::ReadResource => ("resources/read", Asked::Read, true),
            Action::Subscribe => ("resources/subscribe", Asked::Other, true),
            Action::Unsubscribe => ("resources/unsubscribe", Asked::Other, true),
            Action::GetPrompt => ("prompts/get", Asked::Prompt, true),
            Action::Complete => ("completion/complete", Asked::Other, true),
            Action::GetTask => ("tasks/get", Asked::Task, true),
            Action::UpdateTask => ("tasks/update", Asked::Other, false),
            Action::CancelTask => ("tasks/cancel", Asked::Other, true),
        };
        let mut definition = definition(action.name(), action.name(), settings)?;
        // A task holds the result of a call of a tool.
        definition.result_budget =
            if asked == Asked::Task { settings.result_budget } else { ResultBudget::Whole };
        let (action, method) = (Some(action), method.into());
        Some(RemoteAction { definition, action, method, asked, is_repeatable, target })
    }

    /// The method of an extension that the server declares. What its parameters and results mean is between the client
    /// and the server, so both pass as they are; also whether a second call changes something more.
    pub(crate) fn extension(method: &str, settings: &Settings, target: Arc<Target>) -> Option<RemoteAction> {
        let definition = definition(method, "a method of an extension", settings)?;
        let (method, asked) = (method.into(), Asked::Other);
        Some(RemoteAction { definition, action: None, method, asked, is_repeatable: false, target })
    }

    /// The method of the skills extension that the server declares. What its parameters and results name is known here under
    /// other URIs.
    pub(crate) fn skills(method: &str, settings: &Settings, target: Arc<Target>) -> Option<RemoteAction> {
        let action = RemoteAction::extension(method, settings, target)?;
        Some(RemoteAction { asked: Asked::Skills, is_repeatable: true, ..action })
    }

    async fn act(
        &self,
        upstream: &Upstream,
        arguments: &Arguments,
        cx: &Context,
    ) -> Result<Outcome, ToolError> {
        if let Some(task) = self.bridged(upstream, cx) {
            let answer = match self.action {
                Some(Action::UpdateTask) => task.update(upstream, arguments.text(), cx)?,
                Some(Action::CancelTask) => task.cancel(upstream, cx).await?,
                _ => task.get(upstream, cx).await?,
            };
            return self.reader(upstream, true).outcome(&answer, cx);
        }
        let translated = self.inward(arguments, cx)?;
        let (is_modern, answer) = match (self.action, &translated.name) {
            // The connection counts who watches, and remembers it for the next one.
            (Some(Action::Subscribe), Some(uri)) => (false, round::watch(upstream, uri).await?),
            (Some(Action::Unsubscribe), Some(uri)) => return Ok(unsubscribe(upstream, uri).await),
            _ => {
                let request = |connection: &Connection| match self.is_about_task() && !connection.is_modern()
                {
                    // It knows none by this name: it was begun in another session, or before we were started.
                    true => Err(tasks::unknown(upstream)),
                    false => Ok(self.request(connection, &translated, cx)),
                };
                let what = (&*self.method, &*self.method);
                let round = round::send(upstream, cx, what, self.is_repeatable, request).await?;
                if let (Asked::Task, Some(id), Ok(Answer::Result(task))) =
                    (self.asked, cx.key.as_deref(), &round.answer)
                {
                    // Not every server tells of a task's end by itself.
                    round.connection.note_task(id, &task.bytes());
                }
                (round.connection.is_modern(), round.answer)
            }
        };
        match answer {
            // Servers of the first revision cannot say whether they complete anything.
            Ok(Answer::Error(error))
                if self.action == Some(Action::Complete) && answer::is_code(&error, Code::MethodNotFound) =>
            {
                let mut nothing = Vec::new();
                completion::write_empty_result(&mut nothing);
                Ok(relayed(nothing.into()))
            }
            Ok(Answer::Error(error)) => Err(self.refused(&error, &translated, arguments)),
            Ok(answer) => self.reader(upstream, is_modern).outcome(&answer, cx),
            Err(fault) => Err(upstream.failure(&fault)),
        }
    }

    fn reader<'r>(&'r self, upstream: &'r Upstream, is_modern: bool) -> Reader<'r> {
        let (map, mask, asked) = (&self.target.map, upstream.settings.mask(), self.asked);
        Reader { upstream: self.upstream_name(), map, mask, is_modern, asked }
    }

    fn is_about_task(&self) -> bool {
        matches!(self.action, Some(Action::GetTask | Action::UpdateTask | Action::CancelTask))
    }

    /// The task of 2025-11-25 that it is about.
    fn bridged(&self, upstream: &Upstream, cx: &Context) -> Option<Arc<Bridged>> {
        upstream.bridged_tasks.get(cx.key.as_deref().filter(|_| self.is_about_task())?)
    }

    fn request<'r>(
        &'r self,
        connection: &Connection,
        translated: &'r Translated,
        cx: &'r Context,
    ) -> Request<'r> {
        let (responses, state) = round::input(connection, cx);
        let mut params = translated.params.clone();
        let state = state.filter(|_| self.asked.may_ask_back()).map(literal);
        let takes_answers = self.asked.may_ask_back() || self.action == Some(Action::UpdateTask);
        let responses = responses.filter(|_| takes_answers);
        for (key, value) in [("inputResponses", responses), ("requestState", state.as_deref())] {
            if let (Some(value), Some(object)) = (value, Object::parse(&params)) {
                params = patch::set(object, key, value);
            }
        }
        Request {
            method: &self.method,
            params: params.into_bytes(),
            cx: Some(cx),
            name: translated.name.as_deref(),
            ..Request::default()
        }
    }

    /// The parameters in the upstream's own terms.
    fn inward(&self, arguments: &Arguments, cx: &Context) -> Result<Translated, ToolError> {
        let Some(action) = self.action else {
            if self.asked == Asked::Skills && &*self.method != SKILLS_LIST {
                let named = self.named(arguments, "uri", |uri| self.open_uri(uri))?;
                return Ok(Translated { name: None, ..named });
            }
            return Ok(Translated { name: None, params: arguments.text().to_owned() });
        };
        match action {
            Action::ReadResource | Action::Subscribe => {
                self.named(arguments, "uri", |uri| self.open_uri(uri))
            }
            Action::Unsubscribe => self.named(arguments, "uri", |uri| self.own_uri(uri)),
            Action::GetPrompt => self.named(arguments, "name", |name| self.own_prompt(name)),
            Action::Complete => self.completion(arguments),
            Action::GetTask | Action::UpdateTask | Action::CancelTask => {
                let id = cx.key.as_deref().ok_or_else(|| self.invalid("Invalid params: unknown task"))?;
                self.named(arguments, "taskId", |_| Ok(id.to_owned()))
            }
        }
    }

    /// The parameters with the string at `key` as `own` says it.
    fn named(
        &self,
        arguments: &Arguments,
        key: &str,
        own: impl Fn(&str) -> Result<String, ToolError>,
    ) -> Result<Translated, ToolError> {
        let missing = || self.invalid(&format!("Invalid params: {} needs the string \"{key}\"", self.method));
        let object = Object::parse(arguments.text()).ok_or_else(missing)?;
        let offered = object.string(key).ok_or_else(missing)?;
        let own = own(&offered)?;
        let params = patch::set(object, key, &literal(&own));
        Ok(Translated { name: Some(own), params })
    }

    fn completion(&self, arguments: &Arguments) -> Result<Translated, ToolError> {
        let text = Text::check(Bytes::copy_from_slice(arguments.text().as_bytes()));
        let text = text.map_err(|fault| self.invalid(&format!("Invalid params: {fault}")))?;
        let read = completion::complete_params(Some(&text));
        let (reference, _) = read.map_err(|error| self.invalid(&error.message))?;
        let own = match &reference {
            Reference::Prompt(name) => self.own_prompt(name)?,
            Reference::Resource(uri) => self.open_uri(uri)?,
        };
        Ok(Translated { name: None, params: completion::redirected(&text, &own, None) })
    }

    /// The server's own URI of a resource or template that is not held back.
    fn open_uri(&self, uri: &str) -> Result<String, ToolError> {
        let own = self.own_uri(uri)?;
        match self.target.closed.objection(&own) {
            None => Ok(own),
            Some(why) => Err(answer::held_back(self.upstream_name(), why)),
        }
    }

    fn own_uri(&self, uri: &str) -> Result<String, ToolError> {
        let own = self.target.map.inward(uri).map(std::borrow::Cow::into_owned);
        own.ok_or_else(|| {
            let (upstream, start) = (self.upstream_name(), self.target.map.scheme());
            // The caller's own word.
            let shown = Mask::default().shown_name(uri);
            let message =
                format!("there is no resource `{shown}`; those of `{upstream}` begin with `{start}`");
            ToolError::new("unknown_resource", message).with_protocol(Protocol {
                code: Code::ResourceNotFound.number(),
                message: "Resource not found".to_owned(),
                data: Some(resources::not_found_data(uri)),
            })
        })
    }

    fn own_prompt(&self, name: &str) -> Result<String, ToolError> {
        let own = self.target.prompts.get(name).map(|own| own.to_string());
        own.ok_or_else(|| {
            // The caller's own word.
            let shown = Mask::default().shown_name(name);
            self.invalid(&format!("Invalid params: unknown prompt `{shown}`"))
        })
    }

    fn refused(&self, error: &Text, translated: &Translated, arguments: &Arguments) -> ToolError {
        let offered = Object::parse(arguments.text()).and_then(|params| params.string("uri"));
        match (self.action, &translated.name, offered) {
            (Some(Action::ReadResource | Action::Subscribe), Some(own), Some(offered)) => {
                answer::not_found(self.upstream_name(), error, own, &offered)
            }
            _ => answer::error(self.upstream_name(), error, false),
        }
    }

    fn invalid(&self, why: &str) -> ToolError {
        answer::bad_request(self.upstream_name(), Code::InvalidParams, why, None)
    }

    fn upstream_name(&self) -> &str {
        self.definition.upstream().unwrap_or_default()
    }
}

/// What the gate knows of an action of the name `own`; nothing if the prefix leaves it no name.
fn definition(own: &str, description: &str, settings: &Settings) -> Option<Definition> {
    // What stands behind a URI, a prompt or a method is as unknown as what stands behind a tool. It is never listed: it is
    // called by its method.
    Some(remote_tool::unknown(naming::offered(&settings.prefix, own)?, description, settings))
}

/// Watches a resource once less. Whoever leaves need not know how the server takes it, nor is it started for that.
async fn unsubscribe(upstream: &Upstream, uri: &str) -> Outcome {
    match upstream.live_connection() {
        Some(connection) => drop(connection.unsubscribe(uri).await),
        None => drop(upstream.subscribed.remove(uri)),
    }
    relayed(Bytes::from_static(b"{}"))
}

fn relayed(result: Bytes) -> Outcome {
    Outcome::of(Payload::Relayed { result, structured: None })
}

impl AnyTool for RemoteAction {
    fn definition(&self) -> &Definition {
        &self.definition
    }

    fn run<'a>(&'a self, arguments: Arguments, cx: &'a Context) -> BoxFuture<'a, Result<Outcome, ToolError>> {
        Box::pin(async move {
            let upstream = self.target.upstream.upgrade();
            let upstream = upstream.ok_or_else(|| ToolError::gone(self.upstream_name()))?;
            let _counted = upstream.count_call();
            let done = self.act(&upstream, &arguments, cx).await;
            done.map_err(|error| error.reworded(|text| upstream.settings.masked(text)))
        })
    }

    fn sandboxed(&self) -> Option<Sandboxed> {
        self.target.upstream.upgrade()?.sandboxed()
    }
}
