//! What an upstream's results mean for the one who called: an outcome, or a round more.

mod errors;

use std::sync::Arc;

use bytes::Bytes;
use tool_api::{Context, Hold, Outcome, Payload, ToolError};
use wire::message::Text;
use wire::subscriptions::WATCHED_BYTES_MAX;
use wire::uris::{self, Kind};
use wire::{Id, Object, patch, string};

pub(crate) use errors::{
    bad_request, broken, busy, changed, circuit_open, error, failed, held_back, is_code, no_slot, not_found,
    refused, says_unknown_tool, stays_gone, unavailable,
};

use crate::connection::{Answer, Question, Wanted};
use crate::fault::Fault;
use crate::settings::Mask;
use crate::uri_map::UriMap;

/// Longest result type or method that is repeated, in bytes.
const TYPE_BYTES_MAX: usize = 50;

/// Most that one answer may ask of a client.
const REQUESTS_MAX: usize = 100;

/// The extension under which modern servers run calls as tasks.
pub(crate) const TASKS: &str = "io.modelcontextprotocol/tasks";

/// What was asked, which says what may be answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asked {
    /// `tools/call`: may need a round more, or become a task.
    Call,
    /// `resources/read`: may need a round more.
    Read,
    /// `prompts/get`: may need a round more.
    Prompt,
    /// `tasks/get`: holds the result of a call, once that is there.
    Task,
    /// A method of the skills extension.
    Skills,
    /// Anything else.
    Other,
}

impl Asked {
    /// True if the answer may be that the client must answer something first.
    pub(crate) fn may_ask_back(self) -> bool {
        matches!(self, Asked::Call | Asked::Read | Asked::Prompt)
    }
}

/// Who answered what.
#[derive(Clone, Copy)]
pub(crate) struct Reader<'a> {
    pub(crate) upstream: &'a str,
    pub(crate) map: &'a UriMap,
    /// What is not shown of its words when it fails.
    pub(crate) mask: &'a Mask,
    /// Results of legacy servers have no types.
    pub(crate) is_modern: bool,
    pub(crate) asked: Asked,
}

/// The members of a result that mean something to us.
#[derive(Default)]
struct Parts<'t> {
    kind: Option<&'t str>,
    is_error: bool,
    structured: Option<&'t str>,
    requests: Option<&'t str>,
    state: Option<&'t str>,
    task: Option<&'t str>,
}

impl<'t> Parts<'t> {
    /// One pass, since results can be large.
    fn read(object: Object<'t>) -> Parts<'t> {
        let mut parts = Parts::default();
        for member in object.members() {
            match member.key().as_ref() {
                "resultType" => parts.kind = Some(member.value),
                "isError" => parts.is_error = member.value == "true",
                "structuredContent" if member.value != "null" => parts.structured = Some(member.value),
                "inputRequests" if member.value != "null" => parts.requests = Some(member.value),
                "requestState" if member.value != "null" => parts.state = Some(member.value),
                "taskId" => parts.task = Some(member.value),
                _ => {}
            }
        }
        parts
    }
}

impl Reader<'_> {
    /// The outcome in what came back; an error that the server sent is `refused`'s to word.
    pub(crate) fn outcome(self, answer: &Answer, cx: &Context) -> Result<Outcome, ToolError> {
        match answer {
            Answer::Result(result) => self.result(result, cx),
            Answer::Asked { requests, state, hold } => {
                Ok(required(Some(requests.clone()), Some(state.clone()), hold.clone()))
            }
            Answer::Error(error) => Err(errors::error(self.upstream, error, false)),
        }
    }

    fn result(self, result: &Text, cx: &Context) -> Result<Outcome, ToolError> {
        if result.object().is_none() {
            return Err(self.broken("its result is no JSON object"));
        }
        let result = self.outward(result);
        let parts = result.object().map(Parts::read).unwrap_or_default();
        let kind = parts.kind.filter(|_| self.is_modern).map(string::decode_if_string);
        match kind.as_ref().map(|kind| kind.as_deref()) {
            None | Some(Some("complete")) => {
                if let (Asked::Task, Some(requests)) = (self.asked, parts.requests) {
                    self.check_requests(&result, requests, cx)?;
                }
                let is_error = parts.is_error && self.asked == Asked::Call;
                // A failure is an error of the server, whatever form it has.
                let masked = is_error.then(|| self.mask.value(result.clone()));
                let (result, parts) = match &masked {
                    Some(masked) => (masked, masked.object().map(Parts::read).unwrap_or_default()),
                    None => (&result, parts),
                };
                let structured = parts.structured.filter(|_| self.asked == Asked::Call);
                let structured = structured.map(|value| result.slice(value).bytes());
                let payload = Payload::Relayed { result: result.clone().bytes(), structured };
                Ok(Outcome { is_error, ..Outcome::of(payload) })
            }
            Some(Some("input_required")) if self.asked.may_ask_back() => {
                self.input_required(&result, &parts, cx)
            }
            Some(Some("task")) if self.asked == Asked::Call && knows_tasks(cx) => self.task(&result, &parts),
            Some(Some(other)) => {
                let shown = self.mask.sentence(other, TYPE_BYTES_MAX);
                Err(self.broken(&format!("its result is of the type \"{shown}\", which it may not be here")))
            }
            Some(None) => Err(self.broken("the type of its result is no string")),
        }
    }

    fn input_required(self, result: &Text, parts: &Parts<'_>, cx: &Context) -> Result<Outcome, ToolError> {
        if let Some(requests) = parts.requests {
            self.check_requests(result, requests, cx)?;
        }
        let requests = parts.requests.map(|requests| result.slice(requests).bytes());
        let state = match parts.state.map(string::decode_if_string) {
            Some(None) => return Err(self.broken("its `requestState` is no string")),
            state => state.flatten().map(Arc::from),
        };
        if requests.is_none() && state.is_none() {
            return Err(self.broken("it asks for input and does not say for what"));
        }
        Ok(required(requests, state, None))
    }

    /// Nothing may be asked of a client that it has not declared with this very call.
    fn check_requests(self, result: &Text, requests: &str, cx: &Context) -> Result<(), ToolError> {
        let requests = Object::parse(requests);
        let requests = requests.ok_or_else(|| self.broken("its `inputRequests` are no JSON object"))?;
        for (index, request) in requests.members().enumerate() {
            if index == REQUESTS_MAX {
                return Err(self.broken(&format!("it asks for more than {REQUESTS_MAX} things at once")));
            }
            let entry = Object::parse(request.value);
            let method = entry.and_then(|entry| entry.string("method"));
            let method = method.ok_or_else(|| self.broken("one of its `inputRequests` names no method"))?;
            let Some(kind) = Wanted::of(&method) else {
                let shown = self.mask.sentence(&method, TYPE_BYTES_MAX);
                return Err(self.broken(&format!("it asks for \"{shown}\", which no client answers")));
            };
            let params = entry.and_then(|entry| entry.object("params"));
            let params = params.map(|params| result.slice(params.text()));
            let question = Question { id: Id::number(0), kind, params, of: None };
            if let Some(lacking) = question.lacks(&cx.client.capabilities) {
                return Err(errors::failed(self.upstream, &Fault::Lacking(lacking)));
            }
        }
        Ok(())
    }

    fn task(self, result: &Text, parts: &Parts<'_>) -> Result<Outcome, ToolError> {
        let id = parts.task.and_then(string::decode_if_string).filter(|id| !id.is_empty());
        let id = id.ok_or_else(|| self.broken("its task has no id"))?;
        if id.len() > WATCHED_BYTES_MAX {
            return Err(self.broken("the id of its task is too long"));
        }
        let payload = Payload::Task { result: result.bytes(), id: id.into() };
        Ok(Outcome::of(payload))
    }

    /// The result with the URIs offered here.
    fn outward(self, result: &Text) -> Text {
        if self.map.is_plain() {
            return result.clone();
        }
        let outward = |uri: &str| self.map.outward(uri).into_owned();
        match self.asked {
            Asked::Call => uris::rewrite(result, Kind::CallResult, &outward),
            Asked::Read => uris::rewrite(result, Kind::ReadResult, &outward),
            Asked::Prompt => uris::rewrite(result, Kind::PromptResult, &outward),
            Asked::Skills => uris::rewrite(result, Kind::SkillResult, &outward),
            Asked::Task => task_outward(self.map, result),
            Asked::Other => result.clone(),
        }
    }

    fn broken(self, why: &str) -> ToolError {
        errors::broken(self.upstream, why)
    }
}

/// A task that may hold its result, with the URIs offered here.
pub(crate) fn task_outward(map: &UriMap, task: &Text) -> Text {
    if map.is_plain() {
        return task.clone();
    }
    let outward = |uri: &str| map.outward(uri).into_owned();
    let rewritten = task.object().and_then(|object| {
        let inner = task.slice(object.get("result").filter(|result| result.starts_with('{'))?);
        let inner = uris::rewrite(&inner, Kind::CallResult, &outward);
        Text::check(Bytes::from(patch::set(object, "result", inner.as_str()))).ok()
    });
    rewritten.unwrap_or_else(|| task.clone())
}

/// The client must answer first.
fn required(requests: Option<Bytes>, state: Option<Arc<str>>, hold: Option<Hold>) -> Outcome {
    Outcome::of(Payload::InputRequired { requests, state, hold })
}

/// True if the client of a call has declared with it that it knows tasks.
pub(crate) fn knows_tasks(cx: &Context) -> bool {
    let declared = std::str::from_utf8(&cx.client.capabilities).ok().and_then(Object::parse);
    let extensions = declared.and_then(|declared| declared.object("extensions"));
    extensions.is_some_and(|extensions| extensions.object(TASKS).is_some())
}

#[cfg(test)]
pub(crate) mod tests;
