//! Jobs as people see them.

use gate::jobs::{Job, JobEvent, JobProgress, Numbered, StoredFailure};
use gate::{Outcome, Payload};
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use terminal::paint::{Painted, Words as _};
use terminal::print::{self, Table};
use terminal::times::shown;
use terminal::{Ending, Trouble};
use wire::Revision;

use crate::cli::Cli;
use crate::commands::tools::result_text;

const TITLES: [&str; 6] = ["ID", "STATE", "TOOL", "CALLER", "TAKEN", "PROGRESS"];

pub(super) fn table(jobs: &[Job]) -> Table {
    Table::titled(TITLES, jobs.iter().map(row))
}

fn row(job: &Job) -> Vec<String> {
    vec![
        job.id.to_string(),
        job.state.to_string(),
        job.tool.clone(),
        job.caller.clone(),
        shown(job.created_at_ms),
        job.progress.as_ref().filter(|_| !job.state.is_final()).map(in_a_line).unwrap_or_default(),
    ]
}

/// Tells of a job that was just taken: its id alone on standard output, for a script.
pub(in crate::commands) fn told_of(cli: &Cli, job: &Job) -> Result<Ending, Trouble> {
    let ending = print::found(cli.json, job, job.id.as_str())?;
    if !cli.json {
        let how = format!("{} is {}; `toolcrib jobs wait {}` gives its result", job.tool, job.state, job.id);
        print::remark(&how);
    }
    Ok(ending)
}

pub(super) fn whole(job: &Job) -> Table {
    let time = |ms: Option<i64>| ms.map(shown);
    let facts = [
        ("id", Some(job.id.to_string())),
        ("state", Some(job.state.to_string())),
        ("tool", Some(job.tool.clone())),
        ("caller", Some(job.caller.clone())),
        ("workspace", Some(job.workspace.clone())),
        ("taken", time(Some(job.created_at_ms))),
        ("started", time(job.started_at_ms)),
        ("ended", time(job.ended_at_ms)),
        ("attempt", (job.attempt > 1).then(|| job.attempt.to_string())),
        ("priority", (job.priority != 0).then(|| job.priority.to_string())),
        ("progress", job.progress.as_ref().map(how_far)),
        ("message", job.message.clone()),
        ("code", job.code.clone()),
        ("approval", job.approval.clone()),
        ("output lost", (job.events_lost > 0).then(|| format!("{} pieces", job.events_lost))),
    ];
    let facts = facts.into_iter().filter_map(|(name, fact)| Some(vec![name.to_owned(), fact?]));
    Table::plain(facts.collect::<Vec<_>>())
}

/// What it says of itself may have several lines, and a table has one for it.
fn in_a_line(progress: &JobProgress) -> String {
    let words = how_far(progress);
    let words: Vec<&str> = words.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    words.join(" ").replace('\t', " ")
}

/// A job, and what came of it or what it asks, for programs.
#[derive(Serialize)]
pub(super) struct Facts<'a> {
    #[serde(flatten)]
    job: &'a Job,
    #[serde(skip_serializing_if = "Option::is_none")]
    input_requests: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Value>,
}

impl Facts<'_> {
    /// What a tool has said stands in it byte for byte.
    pub(super) fn text(&self) -> String {
        serde_json::to_string_pretty(self).expect("a job has text for keys")
    }
}

/// A job, and what came of it or what it asks: for programs, and for people.
pub(super) fn with_result(job: &Job, result: Option<Result<Outcome, StoredFailure>>) -> (Facts<'_>, Painted) {
    let mut facts = Facts { job, input_requests: None, result: None, error: None };
    let text = match result {
        None => String::new(),
        Some(Ok(Outcome { payload: Payload::InputRequired { requests, .. }, .. })) => {
            let requests = requests.and_then(|it| raw(it.into())).unwrap_or_else(nothing);
            let text = format!("it asks: {:#}", read(&requests));
            facts.input_requests = Some(requests);
            text
        }
        Some(Ok(outcome)) => {
            let result = raw(server::outcome_json(Revision::LATEST_LEGACY, &outcome)).unwrap_or_else(nothing);
            let text = result_text(&read(&result));
            facts.result = Some(result);
            text
        }
        // People have read its code and its sentence among the facts.
        Some(Err(failure)) => {
            facts.error = Some(json!({ "code": failure.code, "message": failure.message }));
            String::new()
        }
    };
    let mut words = whole(job).painted();
    if !text.is_empty() {
        words = words.and("\n\n".painted()).and(text.painted());
    }
    (facts, words)
}

fn raw(text: Vec<u8>) -> Option<Box<RawValue>> {
    RawValue::from_string(String::from_utf8(text).ok()?).ok()
}

fn nothing() -> Box<RawValue> {
    RawValue::from_string("{}".to_owned()).expect("an object is JSON")
}

fn read(text: &RawValue) -> Value {
    serde_json::from_str(text.get()).unwrap_or_default()
}

fn how_far(progress: &JobProgress) -> String {
    steps(progress.done, progress.total, progress.message.as_deref())
}

fn steps(done: f64, total: Option<f64>, message: Option<&str>) -> String {
    let of = total.map(|total| format!(" of {total}")).unwrap_or_default();
    let message = message.map(|message| format!(" {message}")).unwrap_or_default();
    format!("{done}{of}{message}")
}

/// One event in a line; output as it is, but each state of a line that is written over as a line: whoever follows a log has them
/// one below the other.
pub(super) fn event(numbered: &Numbered) -> String {
    match &numbered.event {
        JobEvent::Started { attempt: 1 } => "started".to_owned(),
        JobEvent::Started { attempt } => format!("started, attempt {attempt}"),
        JobEvent::Progress { done, total, message } => {
            format!("… {}", steps(*done, *total, message.as_deref()))
        }
        JobEvent::Output { chunk, .. } => tools::each_a_line(chunk).trim_end_matches('\n').to_owned(),
        JobEvent::Artifact { id, name, bytes, .. } => format!("artifact {id}: {name}, {bytes} bytes"),
        JobEvent::OutputCut {} => {
            "… more output is not kept here; what its tool keeps of it is in artifacts".to_owned()
        }
        JobEvent::State { status, message: Some(message) } => format!("{status}: {message}"),
        JobEvent::State { status, message: None } => status.to_string(),
        JobEvent::InputRequired {} => "its tool wants an answer".to_owned(),
        JobEvent::Finished { status } => status.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    #[test]
    fn what_came_of_a_job_is_shown_byte_for_byte() {
        let job = json!({
            "id": "0123456789abcdef0123456789abcdef", "tool": "t", "caller": "local", "workspace": "/w",
            "state": "succeeded", "created_at_ms": 0, "updated_at_ms": 0, "poll_interval_ms": 1, "ttl_ms": 1,
        });
        let job: Job = serde_json::from_value(job).expect("a job");
        let said = r#"{"n": 123456789012345678901, "x": 1.10}"#;
        let ours =
            Payload::Ours { blocks: Vec::new(), structured: Some(Bytes::from_static(said.as_bytes())) };
        let asks = Payload::InputRequired {
            requests: Some(Bytes::from_static(said.as_bytes())),
            state: None,
            hold: None,
        };
        for (payload, member) in [(ours, "result"), (asks, "input_requests")] {
            let text = with_result(&job, Some(Ok(Outcome::of(payload)))).0.text();
            assert!(text.contains(said) && text.contains(r#""state": "succeeded""#), "{text}");
            let read: Value = serde_json::from_str(&text).expect("JSON");
            assert!(read[member].is_object(), "{text}");
        }
    }
}
