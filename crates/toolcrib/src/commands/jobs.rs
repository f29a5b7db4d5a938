//! `jobs`: calls that outlive their request, of every caller.

mod shown;
mod wake;

use std::time::{Duration, Instant};

use admin::jobs as operations;
use admin::jobs::{JobQuestion, JobsPart, fault};
use admin::{By, Operation as _};
use bytes::Bytes;
use daemon::administration;
use gate::Outcome;
use gate::jobs::{Job, State, StoredFailure, Whose};
use serde_json::{Value, json};
use terminal::{Ending, Trouble, print, runtime};
use units::Span;

use super::mcp::ask;
use super::start::start_nobody;
use super::tools::{json_given, outcome_shown};
use super::{forms, gated};
use crate::cli::{Cli, Jobs};
pub(super) use shown::told_of;
pub(super) use wake::{submitted, wake};

/// How long one look waits for more.
const LOOK_MS: u64 = 10 * 1000;

pub(super) fn run(cli: &Cli, command: Jobs) -> Result<Ending, Trouble> {
    let by = By::owner();
    if let Jobs::Again { id } = &command {
        let job = submitted(cli, async |crib| {
            let again = crib.shared.jobs.again(&crib.gate, Whose::Anyone, id).await;
            Ok(again.map_err(|failure| (failure, crib.shared.state.clone())))
        })?;
        return match job {
            Ok(job) => told_of(cli, &job),
            Err((failure, state)) => gated::told(&state, &failure, cli.json),
        };
    }
    let loaded = start_nobody(cli)?;
    let part = administration::jobs(&loaded.settings);
    let one = |job: Job| print::found(cli.json, &job, &shown::whole(&job));
    match command {
        Jobs::List { states, tool, caller, limit, cursor } => {
            let states = states.iter().map(|word| state(word)).collect::<Result<Vec<_>, _>>()?;
            let are_all = states.is_empty() && tool.is_none() && caller.is_none();
            let none = if are_all { "there is no job" } else { "there is no such job" };
            let asked = operations::List { states, tool, caller, limit, cursor };
            let found = asked.perform(&part, &by)?;
            let ending = print::list(cli.json, &found, &shown::table(&found.jobs), none)?;
            if let Some(cursor) = found.cursor.filter(|_| !cli.json) {
                print::remark(&format!("there may be more: --cursor {cursor}"));
            }
            Ok(ending)
        }
        Jobs::Show { id } => show(cli, &part, id),
        Jobs::Logs { id, follow, after } => logs(cli, &part, &id, (follow, after)),
        Jobs::Wait { id, timeout } => wait(cli, &part, &id, timeout),
        Jobs::Cancel { id } => one(operations::Cancel { id }.perform(&part, &by)?),
        Jobs::Pause { id } => one(operations::Pause { id }.perform(&part, &by)?),
        Jobs::Resume { id } => {
            let job = operations::Resume { id }.perform(&part, &by)?;
            wake(cli, &job)?;
            one(job)
        }
        Jobs::Answer { id, responses, number } => {
            let (number, responses) = match responses {
                Some(text) => (number, answers(&text)?),
                None => asked(&part, &id)?,
            };
            let responses = serde_json::from_slice(&responses).map_err(Trouble::because)?;
            let job = operations::Answer { id, number, responses }.perform(&part, &by)?;
            wake(cli, &job)?;
            one(job)
        }
        Jobs::Again { .. } => unreachable!("it is done above"),
        Jobs::Purge { id: Some(id), .. } => one(operations::Purge { id }.perform(&part, &by)?),
        Jobs::Purge { id: None, .. } => purge_all(cli, &part),
    }
}

fn state(word: &str) -> Result<State, Trouble> {
    State::parse(word).ok_or_else(|| {
        let all = State::ALL.map(State::as_str).join(", ");
        Trouble::Misused(format!("`{word}` is no state of a job; there are {all}"))
    })
}

/// The answers that are given behind the id.
fn answers(given: &str) -> Result<Bytes, Trouble> {
    let how = r#"leave them out to be asked one by one, or write '{"KEY":{"action":"accept","content":{"FIELD":"VALUE"}}}' with what `toolcrib jobs show` names"#;
    let text = json_given(given, "the answers", how)?;
    match serde_json::from_slice::<Value>(&text) {
        Ok(Value::Object(_)) => Ok(text),
        Ok(_) | Err(_) => Err(Trouble::Misused(format!("the answers must be one JSON object; {how}"))),
    }
}

/// Asks the person at the terminal what a job asks, as a tool does in the middle of a call; which question it was, and the answers.
fn asked(part: &JobsPart, id: &str) -> Result<(Option<u64>, Bytes), Trouble> {
    if !ask::is_possible() {
        let how = "nobody is at a terminal to be asked; give the answers as JSON behind the id";
        return Err(Trouble::Misused(how.to_owned()));
    }
    let JobQuestion { number, requests } =
        operations::Asked { id: id.to_owned() }.perform(part, &By::owner())?;
    if !forms::are_all(&requests) {
        let what = Value::Object(requests);
        let how = format!("this is asked of a program, so give the answers as JSON behind the id: {what}");
        return Err(Trouble::Misused(how));
    }
    let answers = runtime::run(forms::answered(requests))??;
    Ok((Some(number), answers))
}

/// Prints a job, and what came of it or what it asks.
fn show(cli: &Cli, part: &JobsPart, id: String) -> Result<Ending, Trouble> {
    let job = operations::Show { id }.perform(part, &By::owner())?;
    let result = result(part, &job)?;
    let (facts, words) = shown::with_result(&job, result);
    match cli.json {
        true => print::json_text(&facts.text())?,
        false => print::painted(&words)?,
    }
    Ok(Ending::Good)
}

/// What came of a job, or what it asks; nothing while there is nothing.
fn result(part: &JobsPart, job: &Job) -> Result<Option<Result<Outcome, StoredFailure>>, Trouble> {
    let result = runtime::run(part.jobs.result(Whose::Anyone, job.id.as_str()))?;
    result.map_err(|refusal| fault(&refusal).into())
}

/// Prints events as they come, one in a line.
fn logs(cli: &Cli, part: &JobsPart, id: &str, (follow, mut after): (bool, u64)) -> Result<Ending, Trouble> {
    loop {
        let wait_ms = if follow { LOOK_MS } else { 0 };
        let asked = operations::Events { id: id.to_owned(), after, wait_ms };
        let found = asked.perform(part, &By::owner())?;
        for event in &found.events {
            match cli.json {
                true => print::line(&json!(event).to_string())?,
                false => print::line(&shown::event(event))?,
            }
        }
        let was_all = found.events.is_empty();
        after = found.last;
        if found.is_last || (was_all && !follow) {
            return Ok(Ending::Good);
        }
    }
}

fn wait(cli: &Cli, part: &JobsPart, id: &str, timeout: Option<Span>) -> Result<Ending, Trouble> {
    let until = timeout.map(|Span(time)| Instant::now() + time);
    let mut job = operations::Show { id: id.to_owned() }.perform(part, &By::owner())?;
    let mut is_told = false;
    loop {
        let left = until.map_or(Duration::MAX, |until| until.saturating_duration_since(Instant::now()));
        if job.state.is_final() {
            return ended(cli, part, &job);
        }
        if job.state == State::InputRequired || left.is_zero() {
            print::found(cli.json, &job, &shown::whole(&job))?;
            return Ok(Ending::Failed);
        }
        // Who ran it may be gone, before or in the middle: then somebody else must, or this waits for ever.
        let is_of_here = job.state == State::Paused || wake(cli, &job)?;
        if !is_of_here && !is_told {
            is_told = true;
            print::remark(&elsewhere(&job));
        }
        let wait_ms = u64::try_from(left.as_millis()).unwrap_or(u64::MAX).min(LOOK_MS);
        job = operations::Wait { id: id.to_owned(), wait_ms }.perform(part, &By::owner())?;
    }
}

/// What is said of a job that no process of this folder runs.
fn elsewhere(job: &Job) -> String {
    let (folder, id) = (&job.workspace, &job.id);
    format!(
        "the job is of the folder {folder} and runs while a Toolcrib serves it; `toolcrib jobs wait {id}` there starts one"
    )
}

/// Prints what came of a job, as a call that was waited for would be.
fn ended(cli: &Cli, part: &JobsPart, job: &Job) -> Result<Ending, Trouble> {
    match result(part, job)? {
        Some(Ok(outcome)) => outcome_shown(outcome, cli.json),
        Some(Err(failure)) => {
            if cli.json {
                print::json(&json!({ "error": { "code": failure.code, "message": failure.message } }))?;
            } else {
                print::error(&format!("{}: {}", job.state, failure.message));
            }
            Ok(if failure.is_refused { Ending::Refused } else { Ending::Failed })
        }
        None => Err(Trouble::Failed(format!("the job is {} again", job.state))),
    }
}

fn purge_all(cli: &Cli, part: &JobsPart) -> Result<Ending, Trouble> {
    let over: Vec<State> = State::ALL.into_iter().filter(|state| state.is_final()).collect();
    let mut purged = 0_usize;
    loop {
        let asked = operations::List { states: over.clone(), ..operations::List::default() };
        let found = asked.perform(part, &By::owner())?;
        if found.jobs.is_empty() {
            break;
        }
        for job in found.jobs {
            operations::Purge { id: job.id.to_string() }.perform(part, &By::owner())?;
            purged += 1;
        }
    }
    print::found(cli.json, &json!({ "purged": purged }), &format!("{purged} jobs were forgotten"))
}
