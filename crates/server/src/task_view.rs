//! `TaskView`: a job of ours as one client sees it, as a task of its revision.

use bytes::Bytes;
use gate::jobs::{Job, State};
use gate::{Action, Caller, Failure, Outcome, Payload, Refusal};
use wire::tasks::{self, Status};
use wire::{Revision, WireError};

use crate::Server;
use crate::reply::{self, About, RequestFacts, Told};
use crate::rounds;
use crate::watched_tasks::WatchedTasks;

/// How one client sees its jobs.
pub(crate) struct TaskView<'a> {
    pub(crate) server: &'a Server,
    pub(crate) caller: &'a Caller,
    pub(crate) revision: Revision,
    /// What the client can do.
    pub(crate) capabilities: &'a Bytes,
}

impl TaskView<'_> {
    /// The task, as JSON text, with its status.
    ///
    /// # Errors
    /// It cannot be read, or asks what the client has not declared; as an answer to these `facts`.
    pub(crate) async fn seen(&self, facts: &RequestFacts, job: &Job) -> Result<(Status, String), WireError> {
        let refused = |refusal| reply::protocol_error(facts, &Failure::Refused(refusal));
        let told = self.told(job).await.map_err(refused)?;
        let mut asks = None;
        if let (Told::Asks(requests), true) = (&told, self.revision.is_modern()) {
            // Whoever has read one question answers no later one.
            let left = Bytes::from(tasks::numbered(&self.left(job, requests), job.last_event));
            asks = Some(rounds::for_modern(&left, self.capabilities)?);
        }
        let asks = asks.as_deref().and_then(|asks| std::str::from_utf8(asks).ok());
        Ok(reply::task(self.revision, job, &told, asks))
    }

    /// What of these requests nobody has answered.
    fn left(&self, job: &Job, requests: &Bytes) -> String {
        let requests = String::from_utf8_lossy(requests);
        self.server.partial.left(&job.id, job.last_event, &requests)
    }

    /// What there is to tell of a job beside itself.
    pub(crate) async fn told(&self, job: &Job) -> Result<Told, Refusal> {
        match job.state {
            State::Queued | State::Running | State::WaitingApproval | State::Paused => {
                return Ok(Told::Works);
            }
            State::Cancelled => return Ok(Told::Cancelled),
            State::InputRequired | State::Succeeded | State::Failed => {}
            State::TimedOut | State::Interrupted => {}
        }
        let Some(jobs) = self.server.gate.jobs() else { return Ok(Told::Works) };
        Ok(match jobs.result(self.caller, job.id.as_str()).await? {
            Some(Ok(Outcome {
                payload: Payload::InputRequired { requests: Some(requests), .. }, ..
            })) => Told::Asks(requests),
            Some(Ok(Outcome { payload: Payload::InputRequired { requests: None, .. }, .. })) => Told::Works,
            Some(Ok(outcome)) => Told::Gave(Box::new(outcome)),
            Some(Err(failure)) => Told::Failed(failure),
            // It has gone on meanwhile.
            None => Told::Works,
        })
    }

    /// The next of these tasks whose status its client does not know. Nothing is lost if the future is dropped.
    pub(crate) async fn news(&self, watched: &WatchedTasks) -> String {
        loop {
            let id = watched.next().await;
            let seen = self.look(id.as_str()).await;
            if watched.looked_at(&id, seen.as_ref().map(|(status, _)| *status))
                && let Some((_, task)) = seen
            {
                return task;
            }
        }
    }

    /// A task that cannot be shown is left to who asks for it.
    async fn look(&self, id: &str) -> Option<(Status, String)> {
        let about = About::Task(Action::GetTask, id.to_owned());
        let facts = RequestFacts { revision: self.revision, about, has_state: false };
        let job = self.server.gate.jobs()?.get(self.caller, id).await.ok()?;
        self.seen(&facts, &job).await.ok()
    }
}
