//! Looking at jobs: one, a page of them, their events and their results, and waiting for more.

use std::time::Duration;

use ::jobs::{Job, JobId, Numbered, State};
use store::{Body, EVENT_PAGE_MAX, JOB_PAGE_MAX, JobQuery, JobRow, StoreError};
use tokio::time::{Instant, sleep, sleep_until};
use tool_api::Outcome;

use super::kept_result::{KeptResult, StoredFailure, unreadable};
use super::of_process::{Filter, JobPage, Jobs, Whose};
use super::vault::Sealed;
use crate::failure::Refusal;

/// How often a job is looked at that another process runs.
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// The longest wait for a job in one go; whoever waits longer asks again.
const WAIT_MAX: Duration = Duration::from_secs(60 * 60);

/// Events of a job, in order.
#[derive(Debug, Clone)]
pub struct EventPage {
    /// Those that there are by now.
    pub events: Vec<Numbered>,
    /// The number of the last one, to go on behind.
    pub last: u64,
    /// Whether no more will come.
    pub is_last: bool,
}

impl Jobs {
    /// The job of this id.
    ///
    /// # Errors
    /// There is none, or it is somebody else's; or it cannot be read.
    pub async fn get<'a>(&self, whose: impl Into<Whose<'a>>, id: &str) -> Result<Job, Refusal> {
        Ok(self.found(whose.into(), id).await?.0)
    }

    /// The job with its version in the store, if it is theirs.
    pub(super) async fn found(&self, whose: Whose<'_>, id: &str) -> Result<(Job, u64), Refusal> {
        let id = JobId::parse(id).ok_or(Refusal::UnknownJob)?;
        if let Some(live) = self.live(&id) {
            let row = live.row.lock().await;
            let found = (row.job.clone(), row.version);
            return if whose.has(&found.0) { Ok(found) } else { Err(Refusal::UnknownJob) };
        }
        let row = self.store().job(id.as_str()).await.map_err(unavailable)?;
        let row = row.ok_or(Refusal::UnknownJob)?;
        let row = self.settled(row).await.map_err(unavailable)?;
        let job = Job::of(&row).map_err(|_| Refusal::UnknownJob)?;
        if whose.has(&job) { Ok((job, row.version)) } else { Err(Refusal::UnknownJob) }
    }

    /// The row as it is once it is known whether the process that held it has ended.
    async fn settled(&self, row: JobRow) -> Result<JobRow, StoreError> {
        if row.ends_at_ms.is_some() || row.state != State::Running.as_str() {
            return Ok(row);
        }
        self.settle_left().await?;
        Ok(self.store().job(&row.id).await?.unwrap_or(row))
    }

    /// A page of jobs, the newest first.
    ///
    /// # Errors
    /// The cursor is none, or they cannot be read.
    pub async fn list<'a>(&self, whose: impl Into<Whose<'a>>, filter: &Filter) -> Result<JobPage, Refusal> {
        let whose = whose.into();
        let before = match &filter.cursor {
            Some(cursor) => Some(cursor.parse::<u64>().map_err(|_| Refusal::BadCursor)?),
            None => None,
        };
        let owner = match whose {
            Whose::Of(caller) => Some(caller.id().to_string()),
            Whose::Anyone => filter.caller.clone(),
        };
        let limit = if filter.limit == 0 { JOB_PAGE_MAX } else { filter.limit.min(JOB_PAGE_MAX) };
        let query = JobQuery {
            owner,
            place: filter.workspace.clone(),
            tool: filter.tool.clone(),
            states: filter.states.iter().map(|state| state.as_str().to_owned()).collect(),
            before,
            limit,
            ..JobQuery::default()
        };
        if self.store().may_have_jobs() {
            self.settle_left().await.map_err(unavailable)?;
        }
        let rows = self.store().jobs(&query).await.map_err(unavailable)?;
        let cursor = rows.last().filter(|_| rows.len() == limit).map(|row| row.number.to_string());
        let mut jobs = Vec::with_capacity(rows.len());
        for row in &rows {
            // One that another program has written is shown by that one.
            let Ok(mut job) = Job::of(row) else { continue };
            if let Some(live) = self.live(&job.id) {
                job = live.job().await;
            }
            if whose.has(&job) {
                jobs.push(job);
            }
        }
        Ok(JobPage { jobs, cursor })
    }

    /// The events of a job after this number. If there are none yet, waits for some for as long as `within`.
    ///
    /// # Errors
    /// As [`Jobs::get`].
    pub async fn events<'a>(
        &self,
        whose: impl Into<Whose<'a>>,
        id: &str,
        after: u64,
        within: Duration,
    ) -> Result<EventPage, Refusal> {
        let whose = whose.into();
        let until = Instant::now() + within.min(WAIT_MAX);
        loop {
            let changed = self.changes(id);
            let (job, _) = self.found(whose, id).await?;
            let events = self.events_after(&job.id, after).await.map_err(unavailable)?;
            let last = events.last().map_or(after, |event| event.number);
            let is_last = job.state.is_final() && last >= job.last_event;
            if !events.is_empty() || is_last || Instant::now() >= until {
                return Ok(EventPage { events, last, is_last });
            }
            changed.or(until).await;
        }
    }

    pub(super) async fn events_after(&self, id: &JobId, after: u64) -> Result<Vec<Numbered>, StoreError> {
        let rows = self.store().events(id.as_str(), after, EVENT_PAGE_MAX).await?;
        if rows.is_empty() {
            return Ok(Vec::new());
        }
        let key = self.key().await?;
        let opened = rows.iter().filter_map(|row| {
            let body = key.open(id, Sealed::Event(row.number), &row.body)?;
            serde_json::from_slice(&body).ok()
        });
        Ok(opened.collect())
    }

    /// Waits until a job has ended, or wants an answer, but no longer than `within`; and gives it as it is then.
    ///
    /// # Errors
    /// As [`Jobs::get`].
    pub async fn wait<'a>(
        &self,
        whose: impl Into<Whose<'a>>,
        id: &str,
        within: Duration,
    ) -> Result<Job, Refusal> {
        let whose = whose.into();
        let until = Instant::now() + within.min(WAIT_MAX);
        loop {
            let changed = self.changes(id);
            let (job, _) = self.found(whose, id).await?;
            if job.state.is_final() || job.state == State::InputRequired || Instant::now() >= until {
                return Ok(job);
            }
            changed.or(until).await;
        }
    }

    /// What came of a job; of one that wants an answer, what it asks; nothing while there is nothing.
    ///
    /// # Errors
    /// As [`Jobs::get`].
    pub async fn result<'a>(
        &self,
        whose: impl Into<Whose<'a>>,
        id: &str,
    ) -> Result<Option<Result<Outcome, StoredFailure>>, Refusal> {
        let (job, _) = self.found(whose.into(), id).await?;
        if !job.state.is_final() && job.state != State::InputRequired {
            return Ok(None);
        }
        let kept = self.kept_result(&job.id).await.map_err(unavailable)?;
        Ok(Some(match kept {
            Some(kept) => kept.opened(),
            None => Err(ended_without(&job)),
        }))
    }

    pub(super) async fn kept_result(&self, id: &JobId) -> Result<Option<KeptResult>, StoreError> {
        let Some(sealed) = self.store().body(id.as_str(), Body::Result).await? else { return Ok(None) };
        let opened = self.key().await?.open(id, Sealed::Result, &sealed);
        let kept = opened.as_deref().and_then(KeptResult::parse);
        Ok(Some(kept.unwrap_or_else(|| KeptResult::Failure(unreadable()))))
    }

    /// What tells that something happened to a job. Taken before a look, so that nothing falls between the two.
    pub(super) fn changes(&self, id: &str) -> Changes {
        let live = JobId::parse(id).and_then(|id| self.live(&id));
        Changes(live.map(|live| live.changed.subscribe()))
    }
}

pub(super) struct Changes(Option<tokio::sync::watch::Receiver<u64>>);

impl Changes {
    pub(super) async fn or(self, until: Instant) {
        let something = async {
            match self.0 {
                // An error says that it is held no more: what became of it is in the store.
                Some(mut changed) => drop(changed.changed().await),
                None => sleep(LOOK_EVERY).await,
            }
        };
        tokio::select! {
            () = something => {}
            () = sleep_until(until) => {}
        }
    }
}

/// What is said of a job that has ended and has no result.
fn ended_without(job: &Job) -> StoredFailure {
    let message = job.message.clone().unwrap_or_else(|| format!("the job ended: {}", job.state));
    StoredFailure::new(job.code.as_deref().unwrap_or(job.state.as_str()), message)
}

/// What cannot be read or written is refused.
pub(super) fn unavailable(error: StoreError) -> Refusal {
    Refusal::NoJobs(error.to_string())
}
