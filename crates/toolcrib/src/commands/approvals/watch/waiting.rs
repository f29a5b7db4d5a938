//! What waits for a person: calls for leave to run, agents and jobs for answers.

use std::sync::Arc;

use gate::approvals::{Approval, Asker};
use gate::questions::Question;
use serde_json::{Map, Value, json};

use crate::commands::approvals::job_questions::{self, JobQuestion};
use crate::commands::approvals::question;
use crate::commands::approvals::shown;

/// What waits for a person.
#[derive(Clone)]
pub(super) enum Waiting {
    /// A call, for leave to run.
    Call(Box<Approval>),
    /// An agent, for an answer.
    Agent(Question),
    /// A job, for an answer.
    Job(Box<JobQuestion>),
}

impl Waiting {
    pub(super) fn id(&self) -> &Arc<str> {
        match self {
            Waiting::Call(approval) => &approval.id,
            Waiting::Agent(question) => &question.id,
            Waiting::Job(question) => &question.id,
        }
    }

    /// The processes that it came from. A job outlives its client, and whoever looks after it may answer.
    pub(super) fn askers(&self) -> &[Asker] {
        match self {
            Waiting::Call(approval) => &approval.askers,
            Waiting::Agent(question) => &question.askers,
            Waiting::Job(_) => &[],
        }
    }

    pub(super) fn asked_at_ms(&self) -> i64 {
        match self {
            Waiting::Call(approval) => approval.asked_at_ms,
            Waiting::Agent(question) => question.asked_at_ms,
            Waiting::Job(question) => question.job.updated_at_ms,
        }
    }

    pub(super) fn is_of_a_job(&self) -> bool {
        matches!(self, Waiting::Job(_))
    }

    /// What it is called, and who wants it.
    pub(super) fn sign(&self) -> (&'static str, String) {
        match self {
            Waiting::Call(approval) => {
                let Approval { tool, caller, id, .. } = &**approval;
                ("A call waits for you", format!("{tool} ({caller}), approval {id}"))
            }
            Waiting::Agent(Question { caller, id, .. }) => {
                ("An agent asks you", format!("{caller}, question {id}"))
            }
            Waiting::Job(question) => {
                let job = &question.job;
                ("A job asks you", format!("{} ({}), job {}", job.tool, job.caller, job.id))
            }
        }
    }

    /// The forms that it has filled in: an `inputRequests` object.
    pub(super) fn forms(&self) -> Option<&Map<String, Value>> {
        match self {
            Waiting::Call(_) => None,
            Waiting::Agent(question) => question.requests.as_object(),
            Waiting::Job(question) => Some(&question.requests),
        }
    }

    /// What stands before the question what to answer; what a form asks it says itself.
    pub(super) fn head(&self, now_ms: i64) -> String {
        match self {
            Waiting::Call(approval) => shown::whole(&approval.report(now_ms)),
            Waiting::Agent(question) => question::head(question),
            Waiting::Job(question) => job_questions::head(question),
        }
    }

    /// The same with what is asked, for whoever does not answer here.
    pub(super) fn whole(&self, now_ms: i64) -> String {
        let asked = self.forms().map(question::messages).unwrap_or_default();
        self.head(now_ms) + &asked
    }

    /// The same for programs.
    pub(super) fn json(&self, now_ms: i64) -> Value {
        match self {
            Waiting::Call(approval) => json!(approval.report(now_ms)),
            Waiting::Agent(question) => json!({ "question": question }),
            Waiting::Job(question) => {
                let JobQuestion { job, number, requests, .. } = &**question;
                json!({ "job": job, "number": number, "requests": requests })
            }
        }
    }
}
