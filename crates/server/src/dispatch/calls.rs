//! The requests that go through the gate: tools, prompts, resources, completions, tasks.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::future::BoxFuture;
use gate::approvals;
use gate::jobs::{Answered, Job, Wants};
use gate::{
    Action, Call, Client, DIRECTORY_READ, Earnest, Failure, Forms, Input, Listener, Outcome, Payload,
    Refusal, Target,
};
use tracing::field::display;
use tracing::{Level, debug};
use wire::completion;
use wire::message::Text;
use wire::relayed::Extras;
use wire::tasks::Status;
use wire::{Id, LogLevel, WireError, prompts, resources, tools};

use super::job_wish::{self, Form, Wish};
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

/// Answers `tools/call`.
pub(super) fn tool(request: &mut Request<'_>) -> Result<Now, WireError> {
    let mut params = tools::call_params(request.params.as_ref())?;
    let made = match job_wish::wish(request, &mut params)? {
        Wish::Waits => Made::Waiting,
        Wish::WaitsFor(patience, form) => Made::Patiently(patience, form),
        Wish::Job(wants, form) => Made::Job(wants, form),
    };
    let arguments = params.arguments.map(Text::into_bytes);
    start_as(request, made, About::Tool(params.name), arguments, params.extras)
}

/// Answers `prompts/get`.
pub(super) fn get_prompt(request: &mut Request<'_>) -> Result<Now, WireError> {
    let (name, extras) = prompts::get_params(request.params.as_ref())?;
    let arguments = own_params(request.params.as_ref(), &PROTOCOL_MEMBERS);
    start(request, About::Prompt(name), arguments, extras)
}

/// Answers `resources/read`.
pub(super) fn read_resource(request: &mut Request<'_>) -> Result<Now, WireError> {
    let (uri, extras) = resources::uri_params("resources/read", request.params.as_ref())?;
    let arguments = own_params(request.params.as_ref(), &PROTOCOL_MEMBERS);
    start(request, About::Resource(Action::ReadResource, uri), arguments, extras)
}

/// Answers `completion/complete`.
pub(super) fn complete(request: &mut Request<'_>) -> Result<Now, WireError> {
    let (reference, extras) = completion::complete_params(request.params.as_ref())?;
    let arguments = own_params(request.params.as_ref(), &PROTOCOL_MEMBERS);
    start(request, About::Completion(reference), arguments, extras)
}

/// Answers a request about the task of a source.
pub(super) fn relayed_task(
    request: &mut Request<'_>,
    action: Action,
    token: String,
) -> Result<Now, WireError> {
    // What a task is given is what this request is about, not an answer to a round of its own.
    let arguments = own_params(request.params.as_ref(), &["_meta", "requestState"]);
    let extras = only_meta(request);
    start(request, About::Task(action, token), arguments, extras)
}

/// Answers a method of an extension that a source declares, and says of any other that there is none.
pub(super) fn extension_method(request: &mut Request<'_>, method: &str) -> Result<Now, WireError> {
    let revision = request.revision();
    let is_declarable = revision.is_modern() || revision.has_execution();
    let is_protocols = method != DIRECTORY_READ
        && method.split_once('/').is_none_or(|(prefix, _)| PROTOCOL_PREFIXES.contains(&prefix));
    let offer = request.server.gate.catalog().offer();
    let is_declared = || {
        let mut all = offer.sources.iter().filter_map(|source| source.features.extension_methods.as_ref());
        all.any(|methods| methods(method).is_some())
    };
    if !is_declarable
        || is_protocols
        || method.len() > METHOD_BYTES_MAX
        || (offer.is_settled && !is_declared())
    {
        return Err(request.unknown_method(method));
    }
    let arguments = own_params(request.params.as_ref(), &PROTOCOL_MEMBERS);
    let extras = only_meta(request);
    start(request, About::Extension(method.to_owned()), arguments, extras)
}

fn only_meta(request: &Request<'_>) -> Extras {
    let meta = request.object().and_then(|params| params.object("_meta"));
    let meta = meta.and_then(|meta| Some(request.params.as_ref()?.slice(meta.text())));
    Extras { meta, ..Extras::default() }
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
struct PendingCall {
    server: Arc<Server>,
    session: Arc<Session>,
    id: Id,
    facts: RequestFacts,
    /// What the client can do.
    capabilities: Bytes,
    handed: Handed,
    outbox: Option<Outbox>,
    in_flight: InFlight,
    made: Made,
}

/// How a call is made.
#[derive(Debug, Clone, Copy)]
enum Made {
    /// Its client waits for what comes of it.
    Waiting,
    /// Its client waits for a while; what then goes on as a job is told so.
    Patiently(Duration, Form),
    /// It is a job from the beginning.
    Job(Wants, Form),
}

/// What comes of it.
enum Passed {
    Outcome(Outcome),
    Job(Box<Job>, Form),
}

/// What the gate is handed in each round.
#[derive(Clone, Default)]
struct Handed {
    arguments: Option<Bytes>,
    meta: Option<Bytes>,
    client: Client,
    listener: Option<Arc<dyn Listener>>,
    input: Option<Input>,
    /// Of a tool's call.
    request_id: Option<Arc<str>>,
    /// Of any: what has no dry run is refused one.
    earnest: Earnest,
}

/// Has the gate do what the request is about. `extras` is what it carries besides.
fn start(
    request: &mut Request<'_>,
    about: About,
    arguments: Option<Bytes>,
    extras: Extras,
) -> Result<Now, WireError> {
    start_as(request, Made::Waiting, about, arguments, extras)
}

fn start_as(
    request: &mut Request<'_>,
    made: Made,
    about: About,
    arguments: Option<Bytes>,
    extras: Extras,
) -> Result<Now, WireError> {
    let in_flight = request.begin()?;
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
    let request_id = extras.request_id.filter(|_| matches!(about, About::Tool(_))).map(Arc::from);
    let earnest = Earnest::of(extras.dry_run, extras.plan_hash);
    let meta = extras.meta.map(Text::into_bytes);
    let pending = PendingCall {
        server: request.server.clone(),
        session: request.session.clone(),
        id: request.id.clone(),
        facts: RequestFacts { revision, about, has_state },
        capabilities: client.capabilities.clone(),
        handed: Handed { arguments, meta, client, listener, input, request_id, earnest },
        outbox,
        in_flight,
        made,
    };
    // Allocate the box first: the future is large and would otherwise be moved.
    let room = Box::new_uninit();
    let later = Box::into_pin(Box::write(room, pending.run()));
    Ok(Now::Later(later))
}

/// False if there is nobody who might send log messages.
fn may_log(server: &Server) -> bool {
    let offer = server.gate.catalog().offer();
    !offer.is_settled || offer.sources.iter().any(|source| source.features.abilities.logging)
}

impl PendingCall {
    #[expect(
        clippy::manual_async_fn,
        reason = "an async function would hold the job twice: as what it was given and as its own"
    )]
    fn run(mut self) -> impl Future<Output = Option<Reply>> + Send {
        async move {
            debug!(target: "mcp", id = %self.id, tool = self.facts.about.logged(), "received call");
            let since = tracing::enabled!(target: "mcp", Level::DEBUG).then(Instant::now);
            let result = self.pass().await;
            let success = match &result {
                Ok(Passed::Outcome(outcome)) => !outcome.is_error,
                Ok(Passed::Job(..)) => true,
                Err(_) => false,
            };
            let tool = self.facts.about.logged();
            let duration = since.map(|since| display(format!("{}ms", since.elapsed().as_millis())));
            debug!(target: "mcp", id = %self.id, tool, duration, success, "tool execution completed");
            match result {
                Err(failure) if failure.is_cancelled() => None,
                Err(Failure::Refused(Refusal::Unsupported { .. }))
                    if matches!(self.facts.about, About::Completion(_)) =>
                {
                    // Clients ask for completions as a person types; that there are none is no error.
                    Some(reply::no_completions(&self.facts, &self.id))
                }
                Err(failure) => Some(reply::answer(&self.facts, &self.id, Err(failure))),
                Ok(Passed::Job(job, form)) => Some(self.goes_on_as(&job, form)),
                Ok(Passed::Outcome(outcome)) => Some(match self.fitting(outcome) {
                    Err(error) => Reply::error(&self.id, &error),
                    Ok(outcome) => reply::answer(&self.facts, &self.id, Ok(outcome)),
                }),
            }
        }
    }

    /// All rounds of the request. A modern client makes further ones by itself; a legacy one is asked here.
    async fn pass(&mut self) -> Result<Passed, Failure> {
        if self.facts.revision.is_modern() {
            let handed = std::mem::take(&mut self.handed);
            return self.make(handed).await;
        }
        let mut number = 0;
        // What the tool keeps for the round to come. If there is none, however that comes about, it lets go.
        let mut _held;
        loop {
            let outcome = match self.make(self.handed.clone()).await? {
                Passed::Outcome(outcome) => outcome,
                job @ Passed::Job(..) => return Ok(job),
            };
            let Payload::InputRequired { requests, state, hold } = outcome.payload else {
                return Ok(Passed::Outcome(outcome));
            };
            number += 1;
            let over = async {
                match &hold {
                    Some(hold) => hold.over().await,
                    None => std::future::pending().await,
                }
            };
            let responses = tokio::select! {
                biased;
                // What is asked is withdrawn, and the next round says what has become of the call.
                () = over => None,
                answers = self.answers(requests.as_ref(), number) => answers?,
            };
            _held = hold;
            self.handed.input = Some(Input { responses, state });
        }
    }

    /// One round of the call. Boxed where it may be a job, so that all others hold no room for that.
    async fn make(&self, handed: Handed) -> Result<Passed, Failure> {
        let (gate, caller, call) = (&self.server.gate, &self.session.caller, self.call(handed));
        match (self.made, gate.jobs()) {
            (Made::Job(wants, form), Some(_)) => {
                let job = Box::pin(gate.submit(caller, call, wants)).await?;
                Ok(Passed::Job(Box::new(job), form))
            }
            (Made::Patiently(patience, form), Some(jobs)) => {
                match Box::pin(jobs.call(
                    gate,
                    caller,
                    call,
                    patience,
                    Wants { background: form == Form::Background, ..Wants::default() },
                ))
                .await
                {
                    Answered::Done(result) => result.map(Passed::Outcome),
                    Answered::Job(job) => Ok(Passed::Job(job, form)),
                }
            }
            (Made::Waiting | Made::Patiently(..) | Made::Job(..), _) => {
                gate.call(caller, call).await.map(Passed::Outcome)
            }
        }
    }

    /// Tells the client that its call goes on as a job.
    fn goes_on_as(&self, job: &Job, form: Form) -> Reply {
        let revision = self.facts.revision;
        match form {
            Form::Extension => reply::begun(revision, &self.id, job),
            Form::Core => {
                self.watch(job);
                reply::begun(revision, &self.id, job)
            }
            Form::Background => reply::goes_on(revision, &self.id, job),
            Form::Handle => {
                let offer = self.server.gate.catalog().offer();
                let tool = offer.get(&job.tool);
                let promises = tool.is_some_and(|tool| tool.definition().output_schema.is_some());
                reply::handle(revision, &self.id, job, promises)
            }
        }
    }

    /// Has the client of a core task told of it.
    fn watch(&self, job: &Job) {
        if let Some(jobs) = self.server.gate.jobs()
            && self.session.tasks.add(&job.id, Some(Status::Working))
        {
            jobs.watch(&job.id, &self.session);
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
        let Handed { arguments, meta, client, listener, input, request_id, earnest } = handed;
        let cancel = self.in_flight.cancel.clone();
        let askers = self.session.askers();
        let target = self.facts.about.target();
        let header_check = match target {
            Target::Tool(_) => self.session.header_check.get().cloned(),
            _ => None,
        };
        // A modern client is asked by a result alone, and a call that runs has none.
        let forms = (!self.facts.revision.is_modern()).then_some(self as &dyn Forms);
        Call {
            target,
            arguments,
            meta,
            header_check,
            cancel,
            listener,
            client,
            input,
            askers,
            request_id,
            claims: None,
            earnest,
            forms,
            job: None,
        }
    }

    fn asker(&self) -> Asker<'_> {
        Asker {
            session: &self.session,
            redactor: self.server.gate.redactor(),
            capabilities: &self.capabilities,
            revision: self.facts.revision,
            outbox: self.outbox.as_ref(),
            cancel: &self.in_flight.cancel,
            related: None,
        }
    }

    /// What the client may be given of it: only what it has declared.
    fn fitting(&self, mut outcome: Outcome) -> Result<Outcome, WireError> {
        match &mut outcome.payload {
            Payload::InputRequired { requests, hold, .. } => {
                if let Some(all) = requests {
                    *all = rounds::for_modern(all, &self.capabilities)?;
                }
                // A modern client keeps nothing open between two rounds; it may take its time.
                hold.iter().for_each(|hold| hold.leave());
            }
            Payload::Task { .. } if self.facts.revision.is_modern() => {
                abilities::check_tasks(std::str::from_utf8(&self.capabilities).unwrap_or("{}"))?;
            }
            Payload::Task { .. } => abilities::check_tasks("{}")?,
            Payload::Ours { .. } | Payload::Relayed { .. } => {}
        }
        Ok(outcome)
    }
}

/// The round that a question counts as which is asked while a call runs: the tool has begun none with it.
const NO_ROUND: u32 = 0;

impl Forms for PendingCall {
    fn ask(&self, requests: Bytes) -> BoxFuture<'_, Option<Bytes>> {
        Box::pin(async move {
            let answers = self.asker().ask(Some(&requests), NO_ROUND).await;
            // One that cannot be asked leaves the question to others.
            answers.ok().flatten()
        })
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
