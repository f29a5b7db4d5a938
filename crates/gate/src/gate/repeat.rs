//! Looking a call up by its request id.

use std::sync::Arc;

use ::jobs::Job;
use audit::Hash;
use policy::Caller;
use tool_api::{Block, Outcome, Payload};

use super::Gate;
use crate::failure::{Failure, Refusal};
use crate::jobs::Wants;
use crate::meta::Meta;
use crate::record_scope::RecordScope;
use crate::repeats::{Known, Ticket};
use crate::request::Call;
use crate::request_fault::RequestFault;

/// What the record says of a call that has run before.
const STEP: &str = "repeat";

impl Gate {
    /// What came of a call that bears a request id, if it has run before; or else its ticket.
    pub(super) async fn known(
        &self,
        caller: &Caller,
        call: &Call<'_>,
        (ticket, record): (&mut Option<Box<Ticket>>, &mut RecordScope<'_>),
    ) -> Result<Option<Box<Result<Outcome, Failure>>>, Failure> {
        let id = call.request_id.as_deref().unwrap_or_default();
        let workspace = self.files.path().to_string_lossy();
        let known = self.repeats.look_up((caller, &workspace), id, hash_of(call, record)).await;
        let known = known.map_err(|fault| refused(fault, record))?;
        match known {
            Known::Nothing(new) => {
                *ticket = Some(new);
                Ok(None)
            }
            Known::Answer(answer) => {
                record.verdict(STEP, Ok(()));
                Ok(Some(answer))
            }
        }
    }

    /// Takes a call of a tool as a job, as [`Jobs::submit`](crate::jobs::Jobs::submit) does; one that bears a request id is taken
    /// once, and gets the same job again. What was refused is not remembered.
    ///
    /// # Errors
    /// It is refused, its id is another call's, or the job that it got is forgotten by now.
    pub async fn submit(
        self: &Arc<Self>,
        caller: &Caller,
        call: Call<'_>,
        wants: Wants,
    ) -> Result<Job, Failure> {
        let jobs = self.jobs().ok_or_else(|| Refusal::NoJobs("there are none here".to_owned()))?;
        // A further round is no call of its own.
        let Some(id) = call.request_id.clone().filter(|_| call.input.is_none()) else {
            return jobs.submit(self, caller, call, wants).await;
        };
        let workspace = self.files.path().to_string_lossy();
        let known = self.repeats.look_up((caller, &workspace), &id, hash_of_job(&call, wants)).await;
        let mut ticket = match known.map_err(Refusal::Repeated)? {
            Known::Nothing(ticket) => ticket,
            Known::Answer(answer) => {
                let job = answer.as_ref().as_ref().ok().and_then(word_of);
                let job = job.ok_or(Refusal::Repeated(RequestFault::NotKept))?;
                return Ok(jobs.get(caller, &job).await?);
            }
        };
        self.repeats.begin(&mut ticket).await.map_err(Refusal::Repeated)?;
        let taken = jobs.submit(self, caller, call, wants).await;
        match &taken {
            Ok(job) => {
                let blocks = vec![Block::Text(job.id.to_string())];
                let outcome = Outcome::of(Payload::Ours { blocks, structured: None });
                self.repeats.end(&ticket, &Ok(outcome)).await;
            }
            Err(_) => self.repeats.forget(&ticket).await,
        }
        taken
    }

    /// Keeps that a call begins which bears a request id.
    pub(super) async fn begin(
        &self,
        ticket: &mut Ticket,
        record: &mut RecordScope<'_>,
    ) -> Result<(), Failure> {
        Ok(self.repeats.begin(ticket).await.map_err(|fault| refused(fault, record))?)
    }
}

fn word_of(outcome: &Outcome) -> Option<String> {
    match &outcome.payload {
        Payload::Ours { blocks, .. } => match &blocks[..] {
            [Block::Text(word)] => Some(word.clone()),
            _ => None,
        },
        Payload::Relayed { .. } | Payload::InputRequired { .. } | Payload::Task { .. } => None,
    }
}

fn refused(fault: RequestFault, record: &mut RecordScope<'_>) -> Refusal {
    let refusal = Refusal::Repeated(fault);
    record.verdict(STEP, Err(&refusal));
    refusal
}

/// What a tool elsewhere would get to see beside the arguments.
fn bound(call: &Call<'_>) -> String {
    let meta = call.meta.as_deref().and_then(|meta| Meta::of_call(Some(meta), false)?.bound());
    meta.as_deref().unwrap_or_default().to_owned()
}

/// The hash of all that makes it the same job.
fn hash_of_job(call: &Call<'_>, wants: Wants) -> Hash {
    let (meta, wanted) = (bound(call), format!("{} {}", wants.priority, wants.retries));
    let arguments = call.arguments.as_deref().unwrap_or_default();
    let (tool, earnest) = (call.target.name().as_bytes(), call.earnest.word().as_bytes());
    Hash::of_parts([b"job", tool, arguments, meta.as_bytes(), earnest, wanted.as_bytes()])
}

/// The hash of all that makes it the same call.
fn hash_of(call: &Call<'_>, record: &RecordScope<'_>) -> Hash {
    let meta = bound(call);
    // To the byte: whoever sends a call again has it still.
    let arguments = record.arguments_hash().map(|hash| hash.to_string()).unwrap_or_default();
    let parts = [call.target.recorded(), call.target.name(), &arguments, &meta, call.earnest.word()];
    Hash::of_parts(parts.map(str::as_bytes))
}
