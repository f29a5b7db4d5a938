//! Jobs: calls that outlive their request. A caller sees its own; who may audit sees all, and owners and maintainers act on all.

use std::sync::Arc;

use bytes::Bytes;
use gate::jobs::{Filter, Job, Jobs, State, StoredFailure, Whose};
use gate::{Caller, Failure, Outcome, Payload, Refusal, Role};
use hyper::StatusCode;
use hyper::body::Incoming;
use serde::de::{Error, Unexpected};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::json;
use serde_json::value::RawValue;

use super::super::answer::{Answered, fresh};
use super::super::endpoint::Endpoint;
use super::super::posted::{self, BODY_BYTES_MAX};
use super::super::problem::Problem;
use super::super::query::Query;
use super::auditors::{AUDIT_SCOPE, scope_denied};
use super::invoked::result_of;
use super::verdict;

/// Most jobs in one page.
const PAGE_MAX: u64 = 200;

/// Jobs in a page of which nobody says how long it is to be.
const PAGE: u64 = 100;

/// What is done with a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Act {
    Cancel,
    Pause,
    Resume,
    Again,
}

impl Act {
    pub(super) fn parse(word: &str) -> Option<Act> {
        Some(match word {
            "cancel" => Act::Cancel,
            "pause" => Act::Pause,
            "resume" => Act::Resume,
            "again" => Act::Again,
            _ => return None,
        })
    }
}

/// The jobs of this program.
pub(super) fn of(endpoint: &Endpoint) -> Result<&Arc<Jobs>, Problem> {
    let none = || Problem::new(StatusCode::NOT_FOUND, "there are no jobs here").with_code("no_jobs");
    endpoint.server.gate().jobs().ok_or_else(none)
}

/// Lists them, the newest first; of a workspace with a name its own.
pub(super) async fn list(
    endpoint: &Endpoint,
    caller: &Caller,
    query: Option<&str>,
    is_named: bool,
) -> Answered {
    let query = Query::read(query, &["status", "state", "tool", "caller", "limit", "cursor"])?;
    let whose_only = query.text("caller");
    let sees_all = caller.scopes().contains(AUDIT_SCOPE);
    if !sees_all && whose_only.is_some_and(|whose| whose != &**caller.id()) {
        return Err(scope_denied("seeing more than one's own jobs").into());
    }
    if query.text("status").and(query.text("state")).is_some() {
        return Err(Problem::bad("`state` is another word for `status`; send one of them").into());
    }
    let status = query.text("status").or_else(|| query.text("state")).map(|word| {
        let known =
            || Problem::bad(format!("`status` must be one of {}", State::ALL.map(State::as_str).join(", ")));
        State::parse(word).ok_or_else(known)
    });
    let limit = query.number("limit", 1..=PAGE_MAX)?.unwrap_or(PAGE);
    let gate = endpoint.server.gate();
    let filter = Filter {
        states: status.transpose()?.into_iter().collect(),
        tool: query.text("tool").map(str::to_owned),
        workspace: gate.workspace().filter(|_| is_named).map(ToString::to_string),
        caller: whose_only.map(str::to_owned),
        cursor: query.cursor()?.map(|number| number.to_string()),
        limit: usize::try_from(limit).unwrap_or(usize::MAX),
    };
    let page = of(endpoint)?.list(looked_at_by(caller), &filter).await.map_err(problem)?;
    Ok(fresh(&json!({ "jobs": page.jobs, "next_cursor": page.cursor })))
}

/// Shows one, with what came of it.
pub(super) async fn show(endpoint: &Endpoint, caller: &Caller, id: &str) -> Answered {
    let (jobs, whose) = (of(endpoint)?, looked_at_by(caller));
    let job = jobs.get(whose, id).await.map_err(problem)?;
    let result = jobs.result(whose, id).await.map_err(problem)?;
    Ok(fresh(&told(&job, result)))
}

/// What is answered: `inputResponses` in MCP.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Answers {
    /// As it is written: numbers of any length and form reach the tool as they came.
    #[serde(deserialize_with = "object")]
    input_responses: Bytes,
    /// The `last_event` of the job as it was when its questions were read: with it no later ones are answered.
    number: Option<u64>,
}

/// The text of an object.
fn object<'de, D: Deserializer<'de>>(from: D) -> Result<Bytes, D::Error> {
    let text = String::from(Box::<str>::from(Box::<RawValue>::deserialize(from)?));
    // What else it is, without its value.
    let came = match text.as_bytes().first() {
        Some(b'{') => return Ok(text.into()),
        Some(b'[') => Unexpected::Seq,
        Some(b'"') => Unexpected::Str(""),
        Some(b't' | b'f') => Unexpected::Bool(false),
        Some(b'n') | None => Unexpected::Unit,
        Some(_) => Unexpected::Float(0.0),
    };
    Err(D::Error::invalid_type(came, &"a map"))
}

/// How a body looks.
const SAMPLE: &str = r#"{"input_responses":{"name":{"action":"accept","content":{"name":"Ann"}}}}"#;

/// Answers all that one asks, so that it goes on.
pub(super) async fn answer(endpoint: &Endpoint, caller: &Caller, id: &str, body: Incoming) -> Answered {
    let jobs = of(endpoint)?;
    let answers: Answers = posted::read(endpoint, body, BODY_BYTES_MAX, SAMPLE).await?;
    let number = answers.number;
    let answered = jobs.answer_for_client(acted_on_by(caller), id, number, &answers.input_responses).await;
    let job = answered.map_err(problem)?;
    Ok(fresh(&told(&job, None)))
}

/// Does something with one.
pub(super) async fn act(
    endpoint: &Endpoint,
    caller: &Caller,
    (id, act): (&str, Act),
    body: Incoming,
) -> Answered {
    posted::read_none(endpoint, body).await?;
    let (jobs, gate) = (of(endpoint)?, endpoint.server.gate());
    let whose = acted_on_by(caller);
    let job = match act {
        Act::Cancel => {
            gate.cancel_job(caller, whose, id).await.map(|cancelled| cancelled.job).map_err(Failure::from)
        }
        Act::Pause => jobs.pause(whose, id).await.map_err(Failure::from),
        Act::Resume => jobs.resume(whose, id).await.map_err(Failure::from),
        Act::Again => jobs.again(gate, whose, id).await,
    };
    let job = job.map_err(|failure| verdict::of_failure(&failure).problem())?;
    Ok(fresh(&told(&job, None)))
}

fn acted_on_by(caller: &Caller) -> Whose<'_> {
    match [Role::Owner, Role::Maintainer].into_iter().any(|role| caller.roles().contains(role)) {
        true => Whose::Anyone,
        false => Whose::Of(caller),
    }
}

pub(super) fn looked_at_by(caller: &Caller) -> Whose<'_> {
    if caller.scopes().contains(AUDIT_SCOPE) { Whose::Anyone } else { Whose::Of(caller) }
}

pub(super) fn problem(refusal: Refusal) -> Problem {
    verdict::of_failure(&refusal.into()).problem()
}

/// A job, and what came of it if it is over, or what it asks.
#[derive(Serialize)]
struct Told<'a> {
    job: &'a Job,
    #[serde(skip_serializing_if = "Option::is_none")]
    input_requests: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Problem>,
}

fn told(job: &Job, result: Option<Result<Outcome, StoredFailure>>) -> Told<'_> {
    let mut told = Told { job, input_requests: None, result: None, error: None };
    match result {
        None => {}
        Some(Ok(Outcome { payload: Payload::InputRequired { requests, .. }, .. })) => {
            let requests = requests.as_deref().unwrap_or(b"{}");
            told.input_requests = serde_json::from_slice(requests).ok();
        }
        Some(Ok(outcome)) => told.result = result_of(&outcome),
        Some(Err(failure)) => told.error = Some(verdict::of_kept(failure).problem()),
    }
    told
}

#[cfg(test)]
mod tests {
    use serde_json::from_value;

    use super::*;

    #[test]
    fn answers_reach_a_job_byte_for_byte() {
        let said =
            r#"{"n": {"action":"accept","content":{"a":9007199254740993,"b":1e400,"c":0.10,"d":"\u0061"}}}"#;
        let read = |said: &str| {
            let body = format!(r#"{{"input_responses": {said} ,"number":7}}"#);
            posted::parse::<Answers>(body.into(), SAMPLE).map(|answers| {
                assert_eq!(answers.number, Some(7));
                answers.input_responses
            })
        };
        assert_eq!(read(said).expect("an object"), said);
        for (wrong, kind) in [
            ("[]", "a list"),
            ("null", "null"),
            ("1e400", "a number"),
            (r#""{}""#, "a text"),
            ("true", "true or false"),
        ] {
            let problem = json!(read(wrong).expect_err(wrong));
            let why = format!(
                "`/input_responses` must be an object, and is {kind}; send an object such as {SAMPLE}"
            );
            assert_eq!(problem["detail"], why);
        }
    }

    #[test]
    fn what_came_of_a_job_is_told_byte_for_byte() {
        let job = json!({
            "id": "0123456789abcdef0123456789abcdef", "tool": "t", "caller": "local", "workspace": "/w",
            "state": "succeeded", "created_at_ms": 0, "updated_at_ms": 0, "poll_interval_ms": 1, "ttl_ms": 1,
        });
        let job: Job = from_value(job).expect("a job");
        let said = r#"{"n": 123456789012345678901, "x": 1.10}"#;
        let ours =
            Payload::Ours { blocks: Vec::new(), structured: Some(Bytes::from_static(said.as_bytes())) };
        let asks = Payload::InputRequired {
            requests: Some(Bytes::from_static(said.as_bytes())),
            state: None,
            hold: None,
        };
        for payload in [ours, asks] {
            let text = serde_json::to_string(&told(&job, Some(Ok(Outcome::of(payload))))).expect("JSON");
            assert!(text.contains(said), "{text}");
        }
    }
}
