//! What an invocation is answered with.

use std::sync::Arc;

use gate::Outcome;
use hyper::StatusCode;
use serde::Serialize;
use serde_json::value::RawValue;
use wire::Revision;

use super::super::answer::{self, Answer};
use super::super::problem::Problem;
use super::verdict::Word;
use crate::outcome_json;

/// What is answered.
#[derive(Serialize)]
pub(super) struct Invoked {
    pub(super) request_id: Arc<str>,
    pub(super) status: Word,
    /// As `toolcrib tools call --json` prints it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) result: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) error: Option<Problem>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) job_id: Option<String>,
    pub(super) metadata: Metadata,
}

/// What is told of the call besides.
#[derive(Serialize)]
pub(super) struct Metadata {
    pub(super) tool_id: String,
    /// The process that answers.
    pub(super) worker_id: Arc<str>,
    pub(super) started_at: String,
    pub(super) completed_at: String,
    pub(super) duration_ms: u64,
}

/// The result object of a call, for programs.
pub(super) fn result_of(outcome: &Outcome) -> Option<Box<RawValue>> {
    let text = outcome_json(Revision::LATEST_LEGACY, outcome);
    RawValue::from_string(String::from_utf8(text).ok()?).ok()
}

impl Invoked {
    /// As JSON text.
    pub(super) fn text(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("texts, numbers and JSON are JSON")
    }

    pub(super) fn answer(&self) -> Answer {
        let done = if self.job_id.is_some() { StatusCode::ACCEPTED } else { StatusCode::OK };
        let status = self.error.as_ref().map_or(done, Problem::status);
        let mut answer = answer::json(status, self.text());
        self.error.iter().for_each(|problem| problem.mark(&mut answer));
        answer
    }
}
