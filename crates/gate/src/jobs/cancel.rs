//! Cancelling a job. It leaves a record of its own, which says who did it, and whether it took.

use std::borrow::Cow;
use std::time::Instant as Clock;

use ::jobs::{Job, JobId, State};
use audit::{AuditLog, Outcome, Record};
use policy::Caller;
use tokio::time::Instant;
use tool_api::{Action, CallId};

use super::control::{CANCEL, OTHER_WAIT};
use super::live::End;
use super::look::unavailable;
use super::of_process::{Jobs, Whose};
use crate::failure::Refusal;
use crate::record_scope::opening;

/// What a record says of a cancel that the job did not heed.
const NOT_TAKEN: &str = "job_state";

/// What came of a cancel.
#[derive(Debug)]
pub struct Cancelled {
    /// The job as it is then.
    pub job: Job,
    /// Whether it was over before.
    pub was_over: bool,
}

impl Cancelled {
    /// Whether the cancel has ended the job.
    pub(crate) fn took(&self) -> bool {
        self.job.state == State::Cancelled && !self.was_over
    }
}

impl Jobs {
    /// Cancels a job for `by`, and gives it as it is then: one that runs ends soon, with the programs of its tool. One that is
    /// over stays as it is. The audit log has a record of it, whatever comes of it, also where there is no such job for whoever asks.
    ///
    /// # Errors
    /// As [`Jobs::get`]; or the audit log cannot be written.
    pub async fn cancel<'a>(
        &self,
        whose: impl Into<Whose<'a>>,
        id: &str,
        (by, audit_log): (&Caller, &AuditLog),
    ) -> Result<Cancelled, Refusal> {
        let whose = whose.into();
        let mut noted = Noted::open(audit_log, by, JobId::parse(id))?;
        let cancelled = async {
            let (job, _) = self.found(whose, id).await?;
            let was_over = job.state.is_final();
            let job = if was_over { job } else { self.cancel_found(whose, job).await? };
            Ok(Cancelled { job, was_over })
        };
        let cancelled = cancelled.await;
        noted.close(&cancelled);
        cancelled
    }

    /// The same of a job that is not over, for a call that has a record itself.
    pub(super) async fn cancel_found(&self, whose: Whose<'_>, mut job: Job) -> Result<Job, Refusal> {
        let id = job.id.clone();
        if job.state == State::Running {
            match self.live(&id) {
                Some(live) => live.end(End::Cancelled),
                None => drop(self.store().wish(id.as_str(), Some(CANCEL)).await.map_err(unavailable)?),
            }
        } else if !self.change_waiting(whose, &id, State::Cancelled).await? {
            self.store().wish(id.as_str(), Some(CANCEL)).await.map_err(unavailable)?;
        }
        let until = Instant::now() + OTHER_WAIT;
        while !job.state.is_final() && Instant::now() < until {
            job = self.wait(whose, id.as_str(), until.duration_since(Instant::now())).await?;
            if job.state == State::InputRequired {
                break;
            }
        }
        Ok(job)
    }
}

/// The open record of a cancel. One whose client went away is closed as it is dropped.
struct Noted<'a> {
    audit_log: &'a AuditLog,
    record: Record,
    since: Clock,
}

impl Noted<'_> {
    fn open<'a>(audit_log: &'a AuditLog, by: &Caller, job: Option<JobId>) -> Result<Noted<'a>, Refusal> {
        audit_log.ready().map_err(|error| Refusal::NoAuditLog(error.to_string()))?;
        let opening = opening(CallId::next(), by, Action::CancelTask.name().into());
        let record = Record { job: job.map(|id| id.shared()), ..Record::from(opening) };
        Ok(Noted { audit_log, record, since: Clock::now() })
    }

    fn close(&mut self, cancelled: &Result<Cancelled, Refusal>) {
        let (outcome, code) = match cancelled {
            Ok(cancelled) if cancelled.took() => (Outcome::Result, None),
            Ok(_) => (Outcome::ToolError, Some(NOT_TAKEN)),
            Err(refusal) => (Outcome::Refused, Some(refusal.code())),
        };
        (self.record.outcome, self.record.code) = (outcome, code.map(Cow::Borrowed));
    }
}

impl Drop for Noted<'_> {
    fn drop(&mut self) {
        let mut record = std::mem::take(&mut self.record);
        record.duration_us = u64::try_from(self.since.elapsed().as_micros()).unwrap_or(u64::MAX);
        self.audit_log.close(record, None, None);
    }
}
