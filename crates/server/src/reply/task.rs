//! How a job of ours is told: as a task in either era, as a result that names it, and what came of it.

use bytes::Bytes;
use gate::jobs::{Job, State, StoredFailure};
use gate::{Block, Failure, Outcome, Payload};
use jiff::Timestamp;
use serde_json::{Value, json};
use wire::meta::JOB;
use wire::tasks::{self, Detail, Status};
use wire::{Code, Id, Object, Revision, WireError};

use super::facts::{About, RequestFacts};
use super::modern::write_modern;
use super::{failure, our_meta, outcome_text, sandbox};
use crate::outgoing::Reply;

/// What there is to tell of a job beside itself.
pub(crate) enum Told {
    /// It waits or runs.
    Works,
    /// It asks its client: an `inputRequests` object as JSON text.
    Asks(Bytes),
    /// It has ended with this.
    Gave(Box<Outcome>),
    /// It has ended without a result.
    Failed(StoredFailure),
    /// Somebody has ended it.
    Cancelled,
}

/// The task that a job is for clients, and its status. `asks` is what it asks its client still, as its revision has it.
pub(crate) fn task(revision: Revision, job: &Job, told: &Told, asks: Option<&str>) -> (Status, String) {
    let facts = facts_of(revision, job);
    let (status, result) = match told {
        Told::Works => (Status::Working, Ok(None)),
        Told::Asks(_) => (Status::InputRequired, Ok(None)),
        Told::Cancelled => (Status::Cancelled, Ok(None)),
        Told::Gave(outcome) => (Status::Completed, Ok(Some(result_text(&facts, outcome)))),
        Told::Failed(stored) => match failed(&facts, job, stored.clone()) {
            Ok(result) => (Status::Completed, Ok(Some(result))),
            Err(error) => (Status::Failed, Err(tasks::error_text(&error))),
        },
    };
    let detail = match (&result, asks) {
        (_, Some(asks)) => Detail::Asks(asks),
        (Ok(Some(result)), None) => Detail::Result(result),
        (Ok(None), None) => Detail::None,
        (Err(error), None) => Detail::Error(error),
    };
    (status, with_shape(job, status, |task| task.seen(revision, detail)))
}

/// The answer to a call that goes on as a job, for clients that are given tasks.
pub(crate) fn begun(revision: Revision, id: &Id, job: &Job) -> Reply {
    let created = with_shape(job, Status::Working, |task| task.created(revision));
    Reply::result(id, &finished(revision, &created))
}

/// The same for others: a result that names the job. Where `promises_structure`, a result without the tool's own structure is
/// one of a call that failed, or strict clients would refuse it.
pub(crate) fn handle(revision: Revision, id: &Id, job: &Job, promises_structure: bool) -> Reply {
    let job_id = job.id.as_str();
    let text = format!(
        "This call goes on as the job {job_id}. Call {} with job_id: \"{job_id}\" until it is over, then {}.",
        gate::JOB_WAIT,
        gate::JOB_RESULT,
    );
    let named =
        json!({ "job_id": job_id, "state": job.state.as_str(), "poll_interval_ms": job.poll_interval_ms });
    let structured = (!promises_structure).then(|| with_words(named.clone(), &text));
    let payload = Payload::Ours { blocks: vec![Block::Text(text)], structured };
    let outcome = Outcome { is_error: promises_structure, ..Outcome::of(payload) };
    let result = result_text(&facts_of(revision, job), &outcome);
    let named = Object::parse(&result).map(|result| our_meta::with(result, JOB, &named.to_string()));
    Reply::result(id, named.unwrap_or(result).as_bytes())
}

/// The same for a command that goes on as a background task.
pub(crate) fn goes_on(revision: Revision, id: &Id, job: &Job) -> Reply {
    let number = job.background.unwrap_or_default();
    let text = format!(
        "The command still runs, and goes on as background task {number}. Read its output with {} (task_id: {number}).",
        gate::BACKGROUND_READ,
    );
    let structured = Some(with_words(json!({ "task_id": number }), &text));
    let outcome = Outcome::of(Payload::Ours { blocks: vec![Block::Text(text)], structured });
    Reply::result(id, result_text(&facts_of(revision, job), &outcome).as_bytes())
}

/// What stands beside a text that says how to go on. Some clients show their model nothing else.
fn with_words(mut structured: Value, text: &str) -> Bytes {
    structured["message"] = text.into();
    structured.to_string().into()
}

/// What the call of a job would have been answered with, for a client of 2025-11-25.
pub(crate) fn payload(
    revision: Revision,
    id: &Id,
    job: &Job,
    kept: Option<Result<Outcome, StoredFailure>>,
) -> Reply {
    let facts = facts_of(revision, job);
    let result = match kept {
        Some(Ok(outcome)) => Ok(result_text(&facts, &outcome)),
        Some(Err(stored)) => failed(&facts, job, stored),
        None => Err(WireError::new(Code::InternalError, "nothing is kept of what came of this task")),
    };
    match result {
        Ok(result) => {
            let related = Object::parse(&result).map(|result| tasks::related(result, job.id.as_str()));
            Reply::result(id, related.unwrap_or(result).as_bytes())
        }
        Err(error) => Reply::error(id, &error),
    }
}

/// A result with what only the modern revision has, for a client of that.
pub(crate) fn finished(revision: Revision, result: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(result.len() + 128);
    match revision.is_modern() {
        true => write_modern(&mut out, result),
        false => out.extend_from_slice(result.as_bytes()),
    }
    out
}

/// Why a job has no result: as the result of a tool that failed, or as an error where the call would have had one.
fn failed(facts: &RequestFacts, job: &Job, stored: StoredFailure) -> Result<String, WireError> {
    // What no tool can be blamed for.
    if job.state == State::Interrupted || stored.code == "internal" {
        let data = json!({ "code": stored.code }).to_string();
        return Err(WireError::new(Code::InternalError, stored.message).with_data(data));
    }
    let why = Failure::from(stored);
    let details = failure::answer(facts, &why)?;
    let mut out = Vec::with_capacity(256);
    failure::write_result(&mut out, facts.revision, &why, details);
    sandbox::add(&mut out, 0, why.sandboxed());
    Ok(text(out))
}

fn result_text(facts: &RequestFacts, outcome: &Outcome) -> String {
    let mut out = Vec::with_capacity(outcome.payload.bytes() + 256);
    outcome_text(&mut out, facts, outcome);
    text(out)
}

fn text(out: Vec<u8>) -> String {
    String::from_utf8(out).unwrap_or_else(|_| "{}".to_owned())
}

fn facts_of(revision: Revision, job: &Job) -> RequestFacts {
    RequestFacts { revision, about: About::Tool(job.tool.as_str().into()), has_state: false }
}

fn with_shape<T>(job: &Job, status: Status, write: impl FnOnce(&tasks::Task<'_>) -> T) -> T {
    let time = |ms| Timestamp::from_millisecond(ms).unwrap_or_default().to_string();
    // A task's time counts from its beginning, ours from its end.
    let until_ms = job.ended_at_ms.unwrap_or(job.updated_at_ms);
    let since_ms = u64::try_from(until_ms.saturating_sub(job.created_at_ms)).unwrap_or(0);
    write(&tasks::Task {
        id: job.id.as_str(),
        status,
        message: Some(message(job)).as_deref(),
        created_at: &time(job.created_at_ms),
        updated_at: &time(job.updated_at_ms),
        ttl_ms: job.ttl_ms.saturating_add(since_ms),
        poll_ms: job.poll_interval_ms,
    })
}

/// What a job is doing: what it says itself, or its state.
fn message(job: &Job) -> String {
    let progress = job.progress.as_ref().and_then(|progress| progress.message.as_deref());
    let told = job.message.as_deref().or(progress.filter(|_| !job.state.is_final()));
    told.map_or_else(|| job.state.as_str().replace('_', " "), str::to_owned)
}
