//! The requests that go through the gate: tools, prompts, resources, completions, tasks.

use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use gate::approvals;
use gate::{Action, Call, Client, Failure, Input, Listener, Outcome, Payload, Refusal, Target};
use tracing::{Level, debug};
use wire::completion::{self, Reference};
use wire::message::Text;
use wire::relayed::Extras;
use wire::{ByteString, Code, Id, LogLevel, WireError, meta, prompts, resources, tools};

use super::request::Request;
use crate::outgoing::{Now, Outbox, Reply};
use crate::progress::{Furthest, Reporter};
use crate::reply::{self, About, RequestFacts};
use crate::rounds::{self, Asker};
use crate::session::{InFlight, Session};
use crate::{Server, abilities};

/// Members of requests that belong to the protocol and are handed on beside the parameters.
const PROTOCOL_MEMBERS: [&str; 3] = ["_meta", "inputResponses", "requestState"];

/// What the protocol's own methods begin with: no extension has methods among them.
const PROTOCOL_PREFIXES: [&str; 13] = [
    "completion",
    "elicitation",
    "logging",
    "notifications",
    "ping",
    "prompts",
    "resources",
    "roots",
    "sampling",
    "server",
    "subscriptions",
    "tasks",
    "tools",
];

/// Longest method of an extension, in bytes: it stands in records.
const METHOD_BYTES_MAX: usize = 128;

/// What is to be done, in the client's words.
enum Wanted {
    Tool(ByteString),
    Prompt(Action, String),
    Resource(Action, String),
    Task(Action, String),
    Extension(String),
}

impl Wanted {
    fn target(&self) -> Target<'_> {
        match self {
            Wanted::Tool(name) => Target::Tool(name),
            Wanted::Prompt(action, name) => Target::Prompt { action: *action, name },
            Wanted::Resource(action, uri) => Target::Resource { action: *action, uri },
            Wanted::Task(action, token) => Target::Task { action: *action, token },
            Wanted::Extension(method) => Target::Extension(method),
        }
    }

    /// What logs say of it: no URI, no token and no method that a client made up.
    fn logged(&self) -> &str {
        match self {
            Wanted::Tool(name) => name,
            Wanted::Extension(_) => "extension",
            Wanted::Prompt(action, _) | Wanted::Resource(action, _) | Wanted::Task(action, _) => {
                action.name()
            }
        }
    }
}

/// What a request says beside what it is about.
struct Said {
    arguments: Option<Bytes>,
    extras: Extras,
}

/// Answers `tools/call`.
pub(super) fn tool(request: Request<'_>) -> Now {
    let params = match tools::call_params(request.params.as_ref()) {
        Ok(params) => params,
        Err(error) => return request.refuse(&error),
    };
    let said = Said { arguments: params.arguments.map(Text::into_bytes), extras: params.extras };
    start(request, Wanted::Tool(params.name), About::Tool, said)
}

/// Answers `prompts/get`.
pub(super) fn get_prompt(request: Request<'_>) -> Now {
    let params = match prompts::get_params(request.params.as_ref()) {
        Ok(params) => params,
        Err(error) => return request.refuse(&error),
    };
    let arguments = own_params(request.params.as_ref(), &PROTOCOL_MEMBERS);
    let said = Said { arguments, extras: params.extras };
    start(request, Wanted::Prompt(Action::GetPrompt, params.name), About::Prompt, said)
}

/// Answers `resources/read`.
pub(super) fn read_resource(request: Request<'_>) -> Now {
    let params = match resources::uri_params("resources/read", request.params.as_ref()) {
        Ok(params) => params,
        Err(error) => return request.refuse(&error),
    };
    let arguments = own_params(request.params.as_ref(), &PROTOCOL_MEMBERS);
    let said = Said { arguments, extras: params.extras };
    let about = About::Resource(params.uri.clone());
    start(request, Wanted::Resource(Action::ReadResource, params.uri), about, said)
}

/// Answers `completion/complete`.
pub(super) fn complete(request: Request<'_>) -> Now {
    let params = match completion::complete_params(request.params.as_ref()) {
        Ok(params) => params,
        Err(error) => return request.refuse(&error),
    };
    let arguments = own_params(request.params.as_ref(), &PROTOCOL_MEMBERS);
    let said = Said { arguments, extras: params.extras };
    let wanted = match params.reference {
        Reference::Prompt(name) => Wanted::Prompt(Action::Complete, name),
        Reference::Resource(uri) => Wanted::Resource(Action::Complete, uri),
    };
    start(request, wanted, About::Completion, said)
}

/// Answers the three requests about tasks.
pub(super) fn task(request: Request<'_>, action: Action) -> Now {
    let capabilities = request.envelope.as_ref().map_or("{}", |envelope| envelope.capabilities.as_str());
    if !abilities::has_extension(capabilities, abilities::TASKS) {
        return request.refuse(&meta::missing_capability(abilities::NEEDS_TASKS));
    }
    let params = request.params.as_ref().and_then(Text::object);
    let Some(token) = params.and_then(|params| params.string("taskId")).map(std::borrow::Cow::into_owned)
    else {
        let why = "Invalid params: a request about a task needs the string \"taskId\"";
        return request.refuse(&WireError::new(Code::InvalidParams, why));
    };
    // What a task is given is what this request is about, not an answer to a round of its own.
    let meta = params
        .and_then(|params| params.object("_meta"))
        .and_then(|meta| Some(request.params.as_ref()?.slice(meta.text())));
    let said = Said {
        arguments: own_params(request.params.as_ref(), &["_meta", "requestState"]),
        extras: Extras { meta, ..Extras::default() },
    };
    start(request, Wanted::Task(action, token.clone()), About::Task(token), said)
}

/// Answers a method of an extension that a source declares, and says of any other that there is none.
pub(super) fn extension_method(request: Request<'_>, method: &str) -> Now {
    let revision = request.revision();
    let is_declarable = revision.is_modern() || revision.has_execution();
    let is_protocols = method.split_once('/').is_none_or(|(prefix, _)| PROTOCOL_PREFIXES.contains(&prefix));
    let offer = request.server.gate.catalog().offer();
    let is_declared = || {
        let mut all = offer.sources().iter().filter_map(|source| source.features.extension_methods.as_ref());
        all.any(|methods| methods(method).is_some())
    };
    if !is_declarable
        || is_protocols
        || method.len() > METHOD_BYTES_MAX
        || (offer.is_settled() && !is_declared())
    {
        return request.refuse_method(method);
    }
    let params = request.params.as_ref().and_then(Text::object);
    let meta = params.and_then(|params| params.object("_meta"));
    let extras = Extras {
        meta: meta.and_then(|meta| Some(request.params.as_ref()?.slice(meta.text()))),
        ..Extras::default()
    };
    let said = Said { arguments: own_params(request.params.as_ref(), &PROTOCOL_MEMBERS), extras };
    start(request, Wanted::Extension(method.to_owned()), About::Extension, said)
}

/// The parameters without those members. Where there are none of them it is the same bytes.
fn own_params(params: Option<&Text>, without: &[&str]) -> Option<Bytes> {
    let params = params?;
    let object = params.object()?;
    let is_kept = |member: &wire::object::Member<'_>| !without.iter().any(|key| member.is(key));
    if object.members().all(|member| is_kept(&member)) {
        return Some(params.bytes());
    }
    let mut out = Vec::with_capacity(object.text().len());
    for member in object.members().filter(is_kept) {
        out.push(if out.is_empty() { b'{' } else { b',' });
        out.extend_from_slice(member.key_literal().as_bytes());
        out.push(b':');
        out.extend_from_slice(member.value.as_bytes());
    }
    out.extend_from_slice(if out.is_empty() { b"{}" } else { b"}" });
    Some(out.into())
}

/// One request on its way through the gate.
struct Job {
    server: Arc<Server>,
    session: Arc<Session>,
    id: Id,
    wanted: Wanted,
    facts: RequestFacts,
    /// What the client can do.
    capabilities: Bytes,
    handed: Handed,
    outbox: Option<Outbox>,
    in_flight: InFlight,
}

/// What the gate is handed in each round.
#[derive(Clone, Default)]
struct Handed {
    arguments: Option<Bytes>,
    meta: Option<Bytes>,
    client: Client,
    listener: Option<Arc<dyn Listener>>,
    input: Option<Input>,
}

fn start(request: Request<'_>, wanted: Wanted, about: About, said: Said) -> Now {
    let Said { arguments, extras } = said;
    let in_flight = match request.begin() {
        Ok(in_flight) => in_flight,
        Err(error) => return request.refuse(&error),
    };
    let (client, can_be_asked) = request.client();
    let revision = request.revision();
    let level = client.log_level.and_then(LogLevel::parse).filter(|_| may_log(request.server));
    let tells = extras.progress_token.is_some() || level.is_some();
    let outbox = (tells || can_be_asked).then(|| (request.outbox)()).flatten();
    let listener = outbox.as_ref().filter(|_| tells).map(|outbox| {
        let (outbox, furthest) = (outbox.clone(), Furthest::default());
        let reporter = Reporter { token: extras.progress_token, level, revision, outbox, furthest };
        Arc::new(reporter) as Arc<dyn Listener>
    });
    // Legacy requests have no rounds; what looks like it is none of ours.
    let input = Input {
        responses: extras.input_responses.map(Text::into_bytes),
        state: extras.request_state.map(Arc::from),
    };
    let input = Some(input)
        .filter(|input| revision.is_modern() && (input.responses.is_some() || input.state.is_some()));
    let has_state = input.as_ref().is_some_and(|input| input.state.is_some());
    let job = Job {
        server: request.server.clone(),
        session: request.session.clone(),
        id: request.id,
        wanted,
        facts: RequestFacts { revision, about, has_state },
        capabilities: client.capabilities.clone(),
        handed: Handed { arguments, meta: extras.meta.map(Text::into_bytes), client, listener, input },
        outbox,
        in_flight,
    };
    // The room comes first, so that the future, which is large, is made in it and not moved there.
    let room = Box::new_uninit();
    let later = Box::into_pin(Box::write(room, job.run()));
    Now::Later(later)
}

/// False if there is nobody who might send log messages.
fn may_log(server: &Server) -> bool {
    let offer = server.gate.catalog().offer();
    !offer.is_settled() || offer.sources().iter().any(|source| source.features.abilities.logging)
}

impl Job {
    #[expect(
        clippy::manual_async_fn,
        reason = "an async function would hold the job twice: as what it was given and as its own"
    )]
    fn run(mut self) -> impl Future<Output = Option<Reply>> + Send {
        async move {
            debug!(target: "mcp", id = %self.id, tool = self.wanted.logged(), "received call");
            let since = tracing::enabled!(target: "mcp", Level::DEBUG).then(Instant::now);
            let result = self.pass().await;
            let success = matches!(&result, Ok(outcome) if !outcome.is_error);
            let (tool, duration) = (self.wanted.logged(), since.map(|since| since.elapsed()));
            debug!(target: "mcp", id = %self.id, tool, ?duration, success, "tool execution completed");
            match result {
                Err(failure) if failure.is_cancelled() => None,
                Err(Failure::Refused(Refusal::Unsupported { .. }))
                    if matches!(self.facts.about, About::Completion) =>
                {
                    // Clients ask for completions as a person types; that there are none is no error.
                    Some(reply::no_completions(&self.facts, &self.id))
                }
                result => Some(self.reply(result)),
            }
        }
    }

    /// All rounds of the request. A modern client makes further ones by itself; a legacy one is asked here.
    async fn pass(&mut self) -> Result<Outcome, Failure> {
        if self.facts.revision.is_modern() {
            let handed = std::mem::take(&mut self.handed);
            return self.server.gate.call(&self.session.caller, self.call(handed)).await;
        }
        let mut number = 0;
        // What the tool keeps for the round to come. If there is none, however that comes about, it lets go.
        let mut _held;
        loop {
            let call = self.call(self.handed.clone());
            let outcome = self.server.gate.call(&self.session.caller, call).await?;
            let Payload::InputRequired { requests, state, hold } = outcome.payload else {
                return Ok(outcome);
            };
            _held = hold;
            number += 1;
            let responses = self.answers(requests.as_ref(), number).await?;
            self.handed.input = Some(Input { responses, state });
        }
    }

    /// What a legacy client answers. Whether its user allows a call can be answered elsewhere meanwhile, or instead.
    async fn answers(&self, requests: Option<&Bytes>, number: u32) -> Result<Option<Bytes>, Failure> {
        let asks_for_approval = requests.is_some_and(|requests| approvals::is_question(requests));
        let asker = self.asker();
        if !asks_for_approval {
            return asker.ask(requests, number).await;
        }
        let elsewhere = self.server.gate.approvals().settled_elsewhere(requests.map_or(b"", |it| it));
        tokio::select! {
            biased;
            answered = asker.ask(requests, number) => match answered {
                Err(failure) if !failure.is_cancelled() => Ok(Some(approvals::unanswered())),
                answered => answered,
            },
            () = elsewhere => Ok(Some(approvals::unanswered())),
        }
    }

    fn call(&self, handed: Handed) -> Call<'_> {
        let Handed { arguments, meta, client, listener, input } = handed;
        let cancel = self.in_flight.cancel.clone();
        let askers = self.session.askers();
        let header_check = match self.wanted {
            Wanted::Tool(_) => self.session.header_check.get().cloned(),
            Wanted::Prompt(..) | Wanted::Resource(..) | Wanted::Task(..) | Wanted::Extension(_) => None,
        };
        let target = self.wanted.target();
        Call { target, arguments, meta, header_check, cancel, listener, client, input, askers }
    }

    fn asker(&self) -> Asker<'_> {
        Asker {
            session: &self.session,
            redactor: self.server.gate.redactor(),
            capabilities: &self.capabilities,
            revision: self.facts.revision,
            outbox: self.outbox.as_ref(),
            cancel: &self.in_flight.cancel,
        }
    }

    fn reply(&self, result: Result<Outcome, Failure>) -> Reply {
        let refused = match &result {
            Ok(Outcome { payload: Payload::InputRequired { requests: Some(requests), .. }, .. }) => {
                rounds::for_modern(requests, &self.capabilities)
            }
            Ok(Outcome { payload: Payload::Task { .. }, .. }) if !self.may_have_tasks() => {
                Err(meta::missing_capability(abilities::NEEDS_TASKS))
            }
            _ => Ok(None),
        };
        if let (Ok(_), Ok(Outcome { payload: Payload::InputRequired { hold: Some(hold), .. }, .. })) =
            (&refused, &result)
        {
            // A modern client keeps nothing open between two rounds; it may take its time.
            hold.leave();
        }
        match (refused, result) {
            (Err(error), _) => Reply::error(&self.id, &error),
            (Ok(Some(requests)), Ok(Outcome { payload: Payload::InputRequired { state, .. }, is_error })) => {
                let payload = Payload::InputRequired { requests: Some(requests), state, hold: None };
                reply::answer(&self.facts, &self.id, Ok(Outcome { payload, is_error }))
            }
            (Ok(_), result) => reply::answer(&self.facts, &self.id, result),
        }
    }

    fn may_have_tasks(&self) -> bool {
        let capabilities = std::str::from_utf8(&self.capabilities).unwrap_or("{}");
        self.facts.revision.is_modern() && abilities::has_extension(capabilities, abilities::TASKS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_of_the_protocol_are_not_handed_on() {
        let own = |json: &str, without: &[&str]| {
            let params = Text::check(Bytes::copy_from_slice(json.as_bytes())).expect("a sample is sound");
            let own = own_params(Some(&params), without).expect("an object");
            String::from_utf8(own.to_vec()).expect("UTF-8")
        };
        let all = &PROTOCOL_MEMBERS;
        assert_eq!(own(r#"{ "uri":"u", "x":1.0 }"#, all), r#"{ "uri":"u", "x":1.0 }"#);
        assert_eq!(
            own(r#"{"_meta":{},"uri":"u","requestState":"s","x":1.0}"#, all),
            r#"{"uri":"u","x":1.0}"#
        );
        assert_eq!(own(r#"{"inputResponses":{}}"#, all), "{}");
        assert_eq!(own(r#"{"inputResponses":{},"\u005fmeta":{}}"#, &["_meta"]), r#"{"inputResponses":{}}"#);
        assert_eq!(own_params(None, all), None);
    }
}
