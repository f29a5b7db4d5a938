//! Jobs as people see them.

use gate::jobs::{Job, JobEvent, JobProgress, Numbered};
use terminal::print::Table;
use terminal::times::shown;

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
        job.progress.as_ref().map(how_far).unwrap_or_default(),
    ]
}

/// What is told of a job that was just taken.
pub(in crate::commands) fn taken(job: &Job) -> String {
    format!("{}\n{} is {}; `toolcrib jobs wait {}` gives its result", job.id, job.tool, job.state, job.id)
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

fn how_far(progress: &JobProgress) -> String {
    steps(progress.done, progress.total, progress.message.as_deref())
}

fn steps(done: f64, total: Option<f64>, message: Option<&str>) -> String {
    let of = total.map(|total| format!(" of {total}")).unwrap_or_default();
    let message = message.map(|message| format!(" {message}")).unwrap_or_default();
    format!("{done}{of}{message}")
}

/// One event in a line; output as it is.
pub(super) fn event(numbered: &Numbered) -> String {
    match &numbered.event {
        JobEvent::Started { attempt: 1 } => "started".to_owned(),
        JobEvent::Started { attempt } => format!("started, attempt {attempt}"),
        JobEvent::Progress { done, total, message } => {
            format!("… {}", steps(*done, *total, message.as_deref()))
        }
        JobEvent::Output { chunk, .. } => chunk.trim_end_matches('\n').to_owned(),
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
