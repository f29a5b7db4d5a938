//! Whether a call is to be a job, and how its client can be told of one.

use std::time::Duration;

use bytes::Bytes;
use gate::BASH;
use gate::jobs::{Jobs, Wants};
use wire::message::Text;
use wire::tools::CallParams;
use wire::{Code, Object, WireError, patch, tasks};

use super::request::Request;
use crate::abilities;

/// What a client sets to true in the `_meta` of a call that it wants to have as a job.
const JOB_KEY: &str = "toolcrib/job";

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
    let is_asked = take_job_key(&mut params.extras.meta);
    let jobs = request.server.gate.jobs();
    let is_modern = request.revision().is_modern();
    let core = params.task.take().filter(|_| request.revision().has_execution() && jobs.is_some());
    let Some(jobs) = jobs else {
        return if is_asked { Err(no_jobs()) } else { Ok(Wish::Waits) };
    };
    let knows_extension = is_modern && abilities::check_tasks(request.capabilities()).is_ok();
    if jobs.must_become(&params.name) && is_modern {
        abilities::check_tasks(request.capabilities())?;
    }
    let is_to_be = (knows_extension && jobs.should_become(&params.name)) || jobs.must_become(&params.name);
    if !is_asked && core.is_none() && !is_to_be {
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
    Ok(Wish::Job(Wants { ttl: ttl.map(Duration::from_millis), ..Wants::default() }, form))
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

/// Takes our key out of the `_meta` of a call, and says whether it was true.
fn take_job_key(meta: &mut Option<Text>) -> bool {
    // Most calls do not have it, and a look through the text costs less than one at each member.
    let Some(text) = meta.as_ref().filter(|meta| meta.as_str().contains(JOB_KEY)) else { return false };
    let Some(value) = text.object().and_then(|meta| meta.get(JOB_KEY)) else { return false };
    let is_true = value == "true";
    let rest = text.object().map(|meta: Object<'_>| patch::remove(meta, JOB_KEY));
    *meta = rest.and_then(|rest| Text::known(Bytes::from(rest)));
    is_true
}

fn no_jobs() -> WireError {
    let why = format!("Invalid params: `{JOB_KEY}` asks for a job, and there are none here; call without it");
    WireError::new(Code::InvalidParams, why)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_key_is_taken_out_and_the_rest_keeps_its_bytes() {
        for (meta, is_asked, rest) in [
            (r#"{"x":1.0}"#, false, r#"{"x":1.0}"#),
            (r#"{"toolcrib/job":true}"#, true, "{}"),
            (r#"{"x":1.0,"toolcrib/job":true,"y":{}}"#, true, r#"{"x":1.0,"y":{}}"#),
            (r#"{"toolcrib/job":false}"#, false, "{}"),
            (r#"{"toolcrib/job":"true"}"#, false, "{}"),
            (r#"{"x":"toolcrib/job"}"#, false, r#"{"x":"toolcrib/job"}"#),
        ] {
            let mut taken =
                Some(Text::check(Bytes::from_static(meta.as_bytes())).expect("a sample is sound"));
            assert_eq!(take_job_key(&mut taken), is_asked, "{meta}");
            assert_eq!(taken.as_ref().map(Text::as_str), Some(rest), "{meta}");
        }
        assert!(!take_job_key(&mut None));
    }
}
