//! Jobs: calls that outlive their request. The owner of the state folder sees and ends those of every caller; who runs them
//! is told through the store.

use std::sync::Arc;
use std::time::Duration;

use gate::Refusal;
use gate::jobs::{Filter, Job, Jobs, Numbered, State, Whose};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use tokio::runtime::Builder;

use crate::audit_log::AuditPart;
use crate::by::By;
use crate::fault::Fault;
use crate::operation::Operation;

/// The longest wait of one operation, in milliseconds: whoever waits longer asks again.
const WAIT_MS_MAX: u64 = 60 * 1000;

/// How long an operation waits for those who are told of a job that it has ended itself.
const TELL_MAX: Duration = Duration::from_secs(10);

/// What operations on jobs work on.
pub struct JobsPart {
    /// The jobs of the state folder.
    pub jobs: Arc<Jobs>,
    /// Where it is noted who cancels one.
    pub audit_log: AuditPart,
}

impl JobsPart {
    /// Waits for what takes a clock, on a thread that may.
    fn wait<T>(&self, work: impl Future<Output = Result<T, Refusal>>) -> Result<T, Fault> {
        let runtime = Builder::new_current_thread().enable_all().build().map_err(Fault::because)?;
        runtime.block_on(async {
            let done = work.await;
            self.jobs.tell_rest(TELL_MAX).await;
            done.map_err(|refusal| fault(&refusal))
        })
    }
}

/// How a refusal is told to an operator.
pub fn fault(refusal: &Refusal) -> Fault {
    let message = refusal.to_string();
    match refusal {
        Refusal::UnknownJob => Fault::unknown(refusal.code(), message),
        Refusal::BadCursor | Refusal::InvalidArguments { .. } => Fault::misused(message),
        Refusal::NoJobs(_) => Fault::failed(message),
        other => Fault::refused(other.code(), message),
    }
}

/// A page of jobs, the newest first.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct List {
    /// Only those in one of these states.
    #[serde(default)]
    pub states: Vec<State>,
    /// Only those of this tool.
    #[serde(default)]
    pub tool: Option<String>,
    /// Only those of this caller.
    #[serde(default)]
    pub caller: Option<String>,
    /// Most of them.
    #[serde(default)]
    pub limit: usize,
    /// Where the page before ended.
    #[serde(default)]
    pub cursor: Option<String>,
}

/// A page of them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JobList {
    /// The newest first.
    pub jobs: Vec<Job>,
    /// Where the next page begins; nothing if this is the last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

impl Operation for List {
    const NAME: &'static str = "jobs.list";
    type Part = JobsPart;
    type Output = JobList;

    fn perform(self, part: &JobsPart, _: &By) -> Result<JobList, Fault> {
        let List { states, tool, caller, limit, cursor } = self;
        let filter = Filter { states, tool, caller, limit, cursor, workspace: None };
        let page = part.wait(part.jobs.list(Whose::Anyone, &filter))?;
        Ok(JobList { jobs: page.jobs, cursor: page.cursor })
    }
}

/// The events of a job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Events {
    /// The job.
    pub id: String,
    /// Only those behind this number.
    #[serde(default)]
    pub after: u64,
    /// How long to wait for one if there is none yet, in milliseconds, at most a minute.
    #[serde(default)]
    pub wait_ms: u64,
}

/// Some of them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EventList {
    /// In order.
    pub events: Vec<Numbered>,
    /// The number of the last one, to go on behind.
    pub last: u64,
    /// Whether no more will come.
    pub is_last: bool,
}

impl Operation for Events {
    const NAME: &'static str = "jobs.events";
    type Part = JobsPart;
    type Output = EventList;

    fn perform(self, part: &JobsPart, _: &By) -> Result<EventList, Fault> {
        let within = Duration::from_millis(self.wait_ms.min(WAIT_MS_MAX));
        let page = part.wait(part.jobs.events(Whose::Anyone, &self.id, self.after, within))?;
        Ok(EventList { events: page.events, last: page.last, is_last: page.is_last })
    }
}

/// Waits until a job has ended, or wants an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Wait {
    /// The job.
    pub id: String,
    /// How long, in milliseconds, at most a minute.
    #[serde(default)]
    pub wait_ms: u64,
}

impl Operation for Wait {
    const NAME: &'static str = "jobs.wait";
    type Part = JobsPart;
    type Output = Job;

    fn perform(self, part: &JobsPart, _: &By) -> Result<Job, Fault> {
        let within = Duration::from_millis(self.wait_ms.min(WAIT_MS_MAX));
        part.wait(part.jobs.wait(Whose::Anyone, &self.id, within))
    }
}

/// What a job asks its client.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Asked {
    /// The job.
    pub id: String,
}

/// A question of a job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JobQuestion {
    /// Which of the job's questions it is: the next one has another number.
    pub number: u64,
    /// What is asked: MCP's `inputRequests`.
    pub requests: Map<String, Value>,
}

impl Operation for Asked {
    const NAME: &'static str = "jobs.asked";
    type Part = JobsPart;
    type Output = JobQuestion;

    fn perform(self, part: &JobsPart, _: &By) -> Result<JobQuestion, Fault> {
        let asked = part.wait(part.jobs.asked(Whose::Anyone, &self.id))?;
        let requests = serde_json::from_slice(&asked.requests).map_err(Fault::because)?;
        Ok(JobQuestion { number: asked.number, requests })
    }
}

/// Answers all that a job asks, for its client.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Answer {
    /// The job.
    pub id: String,
    /// Which of its questions is meant; without it, whatever it asks now.
    #[serde(default)]
    pub number: Option<u64>,
    /// The answers, each by the key of what is asked: MCP's `inputResponses`. They reach the tool as they are written.
    #[schemars(with = "Map<String, Value>")]
    pub responses: Box<RawValue>,
}

impl Operation for Answer {
    const NAME: &'static str = "jobs.answer";
    type Part = JobsPart;
    type Output = Job;

    fn perform(self, part: &JobsPart, _: &By) -> Result<Job, Fault> {
        let responses = String::from(Box::<str>::from(self.responses));
        if !responses.starts_with('{') {
            return Err(Fault::misused(
                "`responses` must be an object: an answer by the key of each question",
            ));
        }
        part.wait(part.jobs.answer_for_client(Whose::Anyone, &self.id, self.number, &responses.into()))
    }
}

/// Ends a job; one that is over stays as it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Cancel {
    /// The job.
    pub id: String,
}

impl Operation for Cancel {
    const NAME: &'static str = "jobs.cancel";
    type Part = JobsPart;
    type Output = Job;

    fn perform(self, part: &JobsPart, by: &By) -> Result<Job, Fault> {
        let audit_log = part.audit_log.open();
        let cancelled = part.wait(part.jobs.cancel(Whose::Anyone, &self.id, (by.caller(), &audit_log)));
        let noted = audit_log.sign_end();
        let job = cancelled?.job;
        noted.map_err(|error| Fault::failed(format!("the job is {}, but {error}", job.state)))?;
        Ok(job)
    }
}

/// Operations on one job that give it as it is then.
macro_rules! on_one {
    ($($(#[$doc:meta])* $name:ident = $word:literal: $does:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub struct $name {
            /// The job.
            pub id: String,
        }

        impl Operation for $name {
            const NAME: &'static str = $word;
            type Part = JobsPart;
            type Output = Job;

            fn perform(self, part: &JobsPart, _: &By) -> Result<Job, Fault> {
                part.wait(part.jobs.$does(Whose::Anyone, &self.id))
            }
        }
    )*};
}

on_one! {
    /// A job as it is.
    Show = "jobs.show": get;
    /// Keeps a job that waits from beginning.
    Pause = "jobs.pause": pause;
    /// Has a job that was paused wait for its turn.
    Resume = "jobs.resume": resume;
    /// Forgets a job that is over.
    Purge = "jobs.purge": purge;
}
