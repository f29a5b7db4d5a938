//! Whether a call is to be a job, and how its client can be told of one.

use std::time::Duration;

use bytes::Bytes;
use gate::jobs::{Jobs, Wants};
use gate::{BASH, JOB_RESULT, JOB_WAIT};
use serde::Deserialize;
use wire::message::Text;
use wire::meta::JOB;
use wire::relayed::Extras;
use wire::tools::CallParams;
use wire::{Code, Object, WireError, patch, tasks};

use super::request::Request;
use crate::abilities;

/// What a client may say of the job that it wants.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Asked {
    priority: Option<i64>,
    retries: Option<u64>,
}

/// How a client is told that its call goes on as a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// As a task of the extension.
    Extension,
    /// As a core task of 2025-11-25.
    Core,
    /// As a result that names the job.
    Handle,
    /// As one that names it as a background task.
    Background,
}

/// Whether a call is to be a job.
pub(super) enum Wish {
    /// It runs while its client waits.
    Waits,
    /// It runs while its client waits so long, and goes on as a job then.
    WaitsFor(Duration, Form),
    /// It is one from the beginning.
    Job(Wants, Form),
}

/// What a client wants of its call. What it says of it in `_meta` is said to us, and goes no further.
///
/// # Errors
/// A call that cannot be a job is asked for as one, or runs as a task alone and its client knows none.
pub(super) fn wish(request: &Request<'_>, params: &mut CallParams) -> Result<Wish, WireError> {
    let asked = take_job_key(&mut params.extras)?;
    let jobs = request.server.gate.jobs();
    let is_modern = request.revision().is_modern();
    let core = params.task.take().filter(|_| request.revision().has_execution() && jobs.is_some());
    let Some(jobs) = jobs else {
        return if asked.is_some() { Err(no_jobs()) } else { Ok(Wish::Waits) };
    };
    let knows_extension = is_modern && abilities::has_tasks(request.capabilities());
    if jobs.must_become(&params.name) && is_modern {
        abilities::check_tasks(request.capabilities())?;
    }
    let is_to_be = (knows_extension && jobs.should_become(&params.name)) || jobs.must_become(&params.name);
    if asked.is_none() && core.is_none() && !is_to_be {
        return Ok(waits(request, jobs, &params.name, knows_extension));
    }
    if !jobs.may_become(&params.name) {
        let why = format!("Method not found: `{}` cannot be called as a task", params.name);
        return Err(WireError::new(Code::MethodNotFound, why));
    }
    let ttl = core.as_ref().map(tasks::wanted_ttl).transpose()?.flatten();
    let form = match (knows_extension, core.is_some()) {
        (true, _) => Form::Extension,
        (false, true) => Form::Core,
        (false, false) => Form::Handle,
    };
    // A handle is of no use to whoever cannot wait for its job.
    if form == Form::Handle && !request.server.gate.may_wait_for_jobs(&request.session.caller) {
        return Err(no_way_to_wait(&params.name));
    }
    Ok(Wish::Job(Wants { ttl: ttl.map(Duration::from_millis), ..asked.unwrap_or_default() }, form))
}

/// How long the client of a call that nobody wants as a job waits for it: for its end, if it cannot be given a job. Whoever
/// knows no tasks must be able to wait for one otherwise.
fn waits(request: &Request<'_>, jobs: &Jobs, tool: &str, knows_extension: bool) -> Wish {
    let gate = &request.server.gate;
    let Some(patience) = jobs.patience(tool).filter(|_| jobs.may_become(tool)) else { return Wish::Waits };
    match knows_extension {
        true => Wish::WaitsFor(patience, Form::Extension),
        false if tool == BASH && gate.may_read_tasks(&request.session.caller) => {
            Wish::WaitsFor(patience, Form::Background)
        }
        false if gate.may_wait_for_jobs(&request.session.caller) => Wish::WaitsFor(patience, Form::Handle),
        false => Wish::Waits,
    }
}

/// Takes our key out of the `_meta` of a call; gives what is wanted of a job, if one is. True asks for one, and so does an
/// object that says what is wanted of it.
fn take_job_key(extras: &mut Extras) -> Result<Option<Wants>, WireError> {
    let Some(value) = extras.job.take() else { return Ok(None) };
    let wants = match value.as_str() {
        "true" => Some(Wants::default()),
        object if object.starts_with('{') => Some(wanted(object)?),
        _ => None,
    };
    let rest = extras.meta.as_ref().and_then(Text::object).map(|meta: Object<'_>| patch::remove(meta, JOB));
    extras.meta = rest.and_then(|rest| Text::known(Bytes::from(rest)));
    Ok(wants)
}

fn wanted(object: &str) -> Result<Wants, WireError> {
    let asked: Result<Asked, _> = serde_json::from_str(object);
    let wants = asked.map_err(|error| error.to_string());
    let wants = wants.and_then(|Asked { priority, retries }| Wants::asked(priority, retries));
    wants.map_err(|why| {
        let sample = r#"{"priority":5,"retries":2}"#;
        let why = format!("Invalid params: `{JOB}` must be true or such as {sample}: {why}");
        WireError::new(Code::InvalidParams, why)
    })
}

fn no_way_to_wait(tool: &str) -> WireError {
    let why = format!(
        "Invalid params: as a job the call of `{tool}` could not be waited for: this client is given no tasks, and the tools \
         `{JOB_WAIT}` and `{JOB_RESULT}` are not on offer; add \"jobs\" to `offer` of [tools], or ask for a task"
    );
    WireError::new(Code::InvalidParams, why)
}

fn no_jobs() -> WireError {
    let why = format!("Invalid params: `{JOB}` asks for a job, and there are none here; call without it");
    WireError::new(Code::InvalidParams, why)
}

#[cfg(test)]
mod tests {
    use wire::tools;

    use super::*;

    #[test]
    fn our_key_is_taken_out_and_the_rest_keeps_its_bytes() {
        let plain = Some(Wants::default());
        let urgent = Some(Wants { priority: -3, retries: 2, ..Wants::default() });
        for (meta, wants, rest) in [
            (r#"{"x":1.0}"#, None, r#"{"x":1.0}"#),
            (r#"{"toolcrib/job":true}"#, plain, "{}"),
            (r#"{"x":1.0,"toolcrib/job":true,"y":{}}"#, plain, r#"{"x":1.0,"y":{}}"#),
            (r#"{"toolcrib/job":{}}"#, plain, "{}"),
            (r#"{"toolcrib/job":{"priority":-3,"retries":2}}"#, urgent, "{}"),
            (r#"{"toolcrib/job":false}"#, None, "{}"),
            (r#"{"toolcrib/job":"true"}"#, None, "{}"),
            (r#"{"x":"toolcrib/job"}"#, None, r#"{"x":"toolcrib/job"}"#),
            (r#"{"toolcrib\/job":true,"y":{}}"#, plain, r#"{"y":{}}"#),
        ] {
            let params = format!(r#"{{"name":"t","_meta":{meta}}}"#);
            let params = Text::check(params.into()).expect("a sample is sound");
            let mut extras = tools::call_params(Some(&params)).expect("a call").extras;
            assert_eq!(take_job_key(&mut extras), Ok(wants), "{meta}");
            assert_eq!(extras.meta.as_ref().map(Text::as_str), Some(rest), "{meta}");
        }
        assert_eq!(take_job_key(&mut Extras::default()), Ok(None));
    }

    #[test]
    fn what_cannot_be_wanted_of_a_job_is_said() {
        for (object, says) in [
            (r#"{"priority":11}"#, "`priority` must be between -10 and 10, not 11"),
            (r#"{"priority":-11}"#, "`priority` must be between -10 and 10, not -11"),
            (r#"{"retries":6}"#, "`retries` must be between 0 and 5, not 6"),
            (r#"{"retries":-1}"#, "invalid value: integer `-1`"),
            (r#"{"urgency":1}"#, "unknown field `urgency`, expected `priority` or `retries`"),
        ] {
            let refused = wanted(object).expect_err(object).message;
            assert!(refused.contains(says) && refused.contains("toolcrib/job"), "{object}: {refused}");
        }
    }
}
