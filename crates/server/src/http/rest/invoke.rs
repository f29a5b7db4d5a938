//! Invoking a tool: one call through the gate, answered whole or as events while it runs.
//!
//! A call that bears a request id goes on if its client hangs up: the client that asks again gets what came of it. Another
//! one is given up then.

use std::sync::Arc;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use data_encoding::HEXLOWER;
use futures_util::future::BoxFuture;
use gate::jobs::Wants;
use gate::{Call, Caller, Client, Earnest, Listener, REQUEST_ID_BYTES_MAX, approvals};
use hyper::StatusCode;
use hyper::body::Incoming;
use hyper::header::HeaderMap;
use serde::Deserialize;
use serde_json::value::RawValue;
use wire::HTTP_BODY_BYTES_MAX;

use super::super::answer::Answered;
use super::super::detached::Detached;
use super::super::endpoint::Endpoint;
use super::super::head;
use super::super::posted;
use super::super::problem::Problem;
use super::invoked::{Invoked, Metadata, result_of};
use super::verdict::{self, Word};
use super::{jobs, streamed};
use crate::Server;

/// How a body looks.
const SAMPLE: &str = r#"{"tool_id":"workspace_read","arguments":{"path":"a.txt"}}"#;

/// The bytes of a request id that is made here.
const OWN_ID_BYTES: usize = 12;

/// What is posted.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Posted {
    request_id: Option<String>,
    tool_id: String,
    arguments: Option<Box<RawValue>>,
    caller: Option<Box<RawValue>>,
    context: Option<Box<RawValue>>,
    #[serde(default, deserialize_with = "posted::word")]
    mode: Mode,
    #[serde(default)]
    dry_run: bool,
    plan_hash: Option<String>,
    priority: Option<i64>,
    retries: Option<u64>,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Mode {
    /// The answer is what came of it.
    #[default]
    Sync,
    /// The answer is the id of a job.
    Async,
    /// The answer is a stream of events: what the call tells while it runs, and what came of it.
    Stream,
}

/// Answers an invocation.
pub(super) async fn handle(
    endpoint: &Arc<Endpoint>,
    caller: Caller,
    body: Incoming,
    headers: &HeaderMap,
) -> Answered {
    let posted: Posted = posted::read(endpoint, body, HTTP_BODY_BYTES_MAX, SAMPLE).await?;
    if posted.dry_run && posted.plan_hash.is_some() {
        return Err(Problem::bad("a dry run follows no plan; leave `dry_run` or `plan_hash` away").into());
    }
    if posted.mode == Mode::Stream {
        head::takes_stream(headers)?;
    }
    let is_stream = posted.mode == Mode::Stream;
    let (told, heard) = streamed::channel();
    let listener = is_stream.then(|| Arc::new(told) as Arc<dyn Listener>);
    let running = start(endpoint, caller, posted, listener)?;
    Ok(match is_stream {
        true => streamed::answer(running, heard),
        false => running.await.answer(),
    })
}

/// The call, which goes on without its client if it bears a request id.
fn start(
    endpoint: &Arc<Endpoint>,
    caller: Caller,
    posted: Posted,
    listener: Option<Arc<dyn Listener>>,
) -> Result<BoxFuture<'static, Invoked>, Problem> {
    let wants = wants(&posted)?;
    let Posted {
        request_id: given, tool_id, arguments, caller: who, context, mode, dry_run, plan_hash, ..
    } = posted;
    let earnest = Earnest::of(dry_run, plan_hash);
    let given: Option<Arc<str>> = given.map(checked).transpose()?.map(Arc::from);
    let request_id = match &given {
        Some(given) => given.clone(),
        None => own_id()?,
    };
    let (server, is_kept) = (endpoint.server.clone(), given.is_some());
    if mode == Mode::Async {
        jobs::of(endpoint)?;
    }
    let claims = claims(who.as_deref(), context.as_deref());
    let arguments = arguments.map(into_bytes);
    let worker_id = endpoint.worker.clone();
    let work = Work { request_id, given, tool_id, arguments, claims, earnest, worker_id };
    let run = async move {
        match mode {
            Mode::Async => take(server, caller, work, wants).await,
            Mode::Sync | Mode::Stream => call(server, caller, work, listener).await,
        }
    };
    Ok(match is_kept {
        true => Box::pin(Detached::new(endpoint, Box::pin(run))),
        false => Box::pin(run),
    })
}

/// What a client declares that can be asked by a form.
const FILLS_IN_FORMS: &[u8] = br#"{"elicitation":{"form":{}}}"#;

/// What is to be called.
struct Work {
    request_id: Arc<str>,
    /// The same, if the caller has sent it.
    given: Option<Arc<str>>,
    tool_id: String,
    arguments: Option<Bytes>,
    claims: Option<Arc<str>>,
    earnest: Earnest,
    worker_id: Arc<str>,
}

impl Work {
    fn call(&self) -> Call<'_> {
        Call {
            client: Client { knows_no_tasks: true, ..Client::default() },
            request_id: self.given.clone(),
            claims: self.claims.clone(),
            earnest: self.earnest.clone(),
            ..Call::tool(&self.tool_id, self.arguments.clone())
        }
    }

    fn answered(self, since: &Since, status: Word, error: Option<Problem>) -> Invoked {
        let Work { request_id, tool_id, worker_id, .. } = self;
        let duration_ms = u64::try_from(since.clock.elapsed().as_millis()).unwrap_or(u64::MAX);
        let (started_at, completed_at) = (since.at.clone(), now());
        let metadata = Metadata { tool_id, worker_id, started_at, completed_at, duration_ms };
        Invoked { request_id, status, result: None, error, job_id: None, metadata }
    }
}

/// When something began.
struct Since {
    at: String,
    clock: Instant,
}

impl Since {
    fn now() -> Since {
        Since { at: now(), clock: Instant::now() }
    }
}

/// Calls it.
async fn call(
    server: Arc<Server>,
    caller: Caller,
    work: Work,
    listener: Option<Arc<dyn Listener>>,
) -> Invoked {
    let since = Since::now();
    let result = server.gate().call(&caller, Call { listener, ..work.call() }).await;
    let told = verdict::of(&result);
    let result = result.ok().and_then(|outcome| result_of(&outcome));
    Invoked { result, ..work.answered(&since, told.word, told.error) }
}

/// Takes it as a job, once for a request id.
async fn take(server: Arc<Server>, caller: Caller, work: Work, wants: Wants) -> Invoked {
    let (since, gate) = (Since::now(), server.gate());
    let mut call = work.call();
    // What its tool asks is answered by another request. One of a person's key would be asked for approvals, too.
    if !caller.is_person() {
        call.client.capabilities = Bytes::from_static(FILLS_IN_FORMS);
    }
    match gate.submit(&caller, call, wants).await {
        Ok(job) => {
            Invoked { job_id: Some(job.id.to_string()), ..work.answered(&since, Word::Accepted, None) }
        }
        Err(failure) => {
            let told = verdict::of_failure(&failure);
            work.answered(&since, told.word, told.error)
        }
    }
}

/// What is wanted of the job, if it is to be one.
fn wants(posted: &Posted) -> Result<Wants, Problem> {
    let &Posted { priority, retries, mode, .. } = posted;
    if mode != Mode::Async && (priority.is_some() || retries.is_some()) {
        return Err(Problem::bad("`priority` and `retries` are those of a job; set `mode` to `async`"));
    }
    Wants::asked(priority, retries).map_err(Problem::bad)
}

fn checked(id: String) -> Result<String, Problem> {
    match (1..=REQUEST_ID_BYTES_MAX).contains(&id.len()) {
        true => Ok(id),
        false => Err(Problem::bad(format!("`request_id` must have 1 to {REQUEST_ID_BYTES_MAX} bytes"))),
    }
}

/// An id for a caller that sends none. It is known by nobody else, so nothing is remembered under it.
fn own_id() -> Result<Arc<str>, Problem> {
    let mut bytes = [0; OWN_ID_BYTES];
    let none = |_| Problem::new(StatusCode::SERVICE_UNAVAILABLE, "the system gives no randomness");
    getrandom::fill(&mut bytes).map_err(none)?;
    Ok(HEXLOWER.encode(&bytes).into())
}

/// What the caller says of itself and of its call, for the record.
fn claims(caller: Option<&RawValue>, context: Option<&RawValue>) -> Option<Arc<str>> {
    let said = [("caller", caller), ("context", context)].into_iter();
    let said: Vec<String> =
        said.filter_map(|(name, value)| Some(format!("\"{name}\":{}", value?.get()))).collect();
    (!said.is_empty()).then(|| format!("{{{}}}", said.join(",")).into())
}

fn into_bytes(value: Box<RawValue>) -> Bytes {
    String::from(Box::<str>::from(value)).into()
}

/// The time, as people read it.
fn now() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    approvals::time(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}
