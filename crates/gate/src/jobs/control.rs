//! What is done with jobs from outside: paused, resumed, answered, made anew, forgotten. Cancelling is in `cancel`.

use std::sync::Arc;
use std::time::Duration;

use ::jobs::{Event, Job, JobId, State};
use bytes::Bytes;
use store::{Body, Hold, JOB_PAGE_MAX, JobQuery, StoreError};
use tokio::time::{Instant, sleep};
use tool_api::{CallId, JobAsks, Payload};

use super::finish::interrupted;
use super::kept_call::KeptCall;
use super::kept_result::{KeptResult, StoredFailure};
use super::live::With;
use super::look::unavailable;
use super::of_process::{Jobs, Whose};
use super::serving::Serving;
use super::submit::Wants;
use super::unanswered::unanswered;
use super::vault::Sealed;
use crate::approvals::is_question;
use crate::failure::{Failure, Internal, Refusal};
use crate::is_idempotent::is_idempotent;

/// How long a cancel or a pause waits for what another process, or the tool, is to do.
pub(super) const OTHER_WAIT: Duration = Duration::from_secs(2);

/// How often it is looked whether it has.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// How often a change is tried that another one came before.
const TRIES_MAX: usize = 5;

/// What another process that holds a job is asked for.
pub(super) const CANCEL: &str = "cancel";
pub(super) const PAUSE: &str = "pause";

/// What is asked by a job that only wants to go on.
const NOTHING_ASKED: &[u8] = b"{}";

/// A job that asks its caller something.
struct Asking {
    job: Job,
    version: u64,
    requests: Option<Bytes>,
    /// What its tool wants back with the answer.
    state: Option<String>,
}

impl Asking {
    /// Itself, unless it is another question than the one with this [number](JobAsks::number).
    fn asked_as(self, number: Option<u64>) -> Result<Asking, Refusal> {
        if number.is_some_and(|number| number != self.job.last_event) {
            return Err(Refusal::JobState { is: "asking something else by now", cannot: "be answered so" });
        }
        Ok(self)
    }
}

fn not_asked(job: &Job) -> Refusal {
    Refusal::JobState { is: job.state.as_str(), cannot: "be answered" }
}

impl Jobs {
    /// Keeps a job that waits from beginning until it is resumed.
    ///
    /// # Errors
    /// It runs already, or is over; or as [`Jobs::get`].
    pub async fn pause<'a>(&self, whose: impl Into<Whose<'a>>, id: &str) -> Result<Job, Refusal> {
        let whose = whose.into();
        let (job, _) = self.found(whose, id).await?;
        match job.state {
            State::Paused => return Ok(job),
            State::Queued | State::WaitingApproval => {}
            other => return Err(Refusal::JobState { is: other.as_str(), cannot: "be paused" }),
        }
        if self.change_waiting(whose, &job.id, State::Paused).await? {
            return self.get(whose, id).await;
        }
        self.store().wish(id, Some(PAUSE)).await.map_err(unavailable)?;
        let until = Instant::now() + OTHER_WAIT;
        loop {
            let (now, _) = self.found(whose, id).await?;
            if now.state != job.state || Instant::now() >= until {
                return Ok(now);
            }
            sleep(LOOK_EVERY).await;
        }
    }

    /// Has a job that was paused wait for its turn.
    ///
    /// # Errors
    /// It is not paused; or as [`Jobs::get`].
    pub async fn resume<'a>(self: &Arc<Self>, whose: impl Into<Whose<'a>>, id: &str) -> Result<Job, Refusal> {
        let whose = whose.into();
        let (job, _) = self.found(whose, id).await?;
        if job.state != State::Paused {
            return Err(Refusal::JobState { is: job.state.as_str(), cannot: "be resumed" });
        }
        self.change_waiting(whose, &job.id, State::Queued).await?;
        self.take_up(&job.workspace);
        self.get(whose, id).await
    }

    /// Answers what a job asks as `number` (see [`JobAsks::number`]), so that it goes on: `responses` is the `inputResponses`
    /// object as JSON text.
    ///
    /// # Errors
    /// It asks nothing, something else by now, or for an approval, which is answered as one; or as [`Jobs::get`].
    pub async fn answer<'a>(
        self: &Arc<Self>,
        whose: impl Into<Whose<'a>>,
        id: &str,
        number: u64,
        responses: &Bytes,
    ) -> Result<Job, Refusal> {
        let whose = whose.into();
        let asking = self.asking(whose, id).await?.asked_as(Some(number))?;
        self.goes_on_with(whose, asking, responses).await
    }

    /// What a job asks.
    ///
    /// # Errors
    /// It asks nothing, or for an approval; or as [`Jobs::get`].
    pub async fn asked<'a>(&self, whose: impl Into<Whose<'a>>, id: &str) -> Result<JobAsks, Refusal> {
        let Asking { job, requests, .. } = self.asking(whose.into(), id).await?;
        let requests = requests.unwrap_or_else(|| Bytes::from_static(NOTHING_ASKED));
        Ok(JobAsks { requests, number: job.last_event })
    }

    async fn asking(&self, whose: Whose<'_>, id: &str) -> Result<Asking, Refusal> {
        let (job, version) = self.found(whose, id).await?;
        if job.state != State::InputRequired {
            return Err(not_asked(&job));
        }
        let kept = self.kept_result(&job.id).await.map_err(unavailable)?.map(KeptResult::opened);
        let Some(Ok(outcome)) = kept else { return Err(not_asked(&job)) };
        let Payload::InputRequired { requests, state, .. } = outcome.payload else {
            return Err(not_asked(&job));
        };
        // Other versions of the program keep a job so that waits for an approval.
        if requests.as_deref().is_some_and(is_question) {
            let is = "waiting for an approval";
            return Err(Refusal::JobState { is, cannot: "be answered here" });
        }
        Ok(Asking { job, version, requests, state: state.map(|state| state.to_string()) })
    }

    /// Answers all that a job asks, for its client: `responses` as for [`Jobs::answer`]. With a `number`, only what was asked as
    /// [that one](JobAsks::number): whoever has read a question answers no later one.
    ///
    /// # Errors
    /// Something is left unanswered; or as [`Jobs::answer`].
    pub async fn answer_for_client<'a>(
        self: &Arc<Self>,
        whose: impl Into<Whose<'a>>,
        id: &str,
        number: Option<u64>,
        responses: &Bytes,
    ) -> Result<Job, Refusal> {
        let whose = whose.into();
        let asking = self.asking(whose, id).await?.asked_as(number)?;
        let violations = unanswered(asking.requests.as_deref().unwrap_or(NOTHING_ASKED), responses);
        if !violations.is_empty() {
            return Err(Refusal::InvalidArguments { tool: asking.job.tool, violations });
        }
        self.goes_on_with(whose, asking, responses).await
    }

    /// Has a job go on with an answer, unless something has happened to it since it was looked at.
    async fn goes_on_with(
        self: &Arc<Self>,
        whose: Whose<'_>,
        Asking { mut job, version, state, .. }: Asking,
        responses: &Bytes,
    ) -> Result<Job, Refusal> {
        let (id, workspace, not_asked) = (job.id.clone(), job.workspace.clone(), not_asked(&job));
        let mut kept = self.kept_call(&id).await?;
        kept.answered(Some(responses), state);
        // It has said what it wanted.
        job.message = None;
        let with = With {
            call: Some(kept),
            events: vec![Event::State { status: State::Queued, message: None }],
            ..With::default()
        };
        let written = self.write(job, version, State::Queued, with).await.map_err(unavailable)?;
        if written.is_none() {
            return Err(not_asked);
        }
        self.take_up(&workspace);
        self.get(whose, id.as_str()).await
    }

    /// Takes the call of a job again, as a new one: for the same caller, who is judged anew.
    ///
    /// # Errors
    /// It is not over; or as [`Jobs::submit`].
    pub async fn again<'a>(
        self: &Arc<Self>,
        gate: &Arc<impl Serving + 'static>,
        whose: impl Into<Whose<'a>>,
        id: &str,
    ) -> Result<Job, Failure> {
        let (job, _) = self.found(whose.into(), id).await?;
        if !job.state.is_final() {
            return Err(Refusal::JobState { is: job.state.as_str(), cannot: "be run again yet" }.into());
        }
        let kept = self.kept_call(&job.id).await?.anew();
        let Some(caller) = kept.caller.caller() else { return Err(Internal { call: CallId::next() }.into()) };
        let (known, approvals) = (caller.clone(), self.approvals.clone());
        let known = tokio::task::spawn_blocking(move || approvals.is_known(&known)).await;
        if !matches!(known, Ok(Ok(true))) {
            return Err(Refusal::KeyRevoked(job.tool).into());
        }
        let ttl = Some(Duration::from_millis(job.ttl_ms));
        // A tool that may not do the same twice any more is not tried again, and nobody asked for that just now.
        let found = gate.find(&caller, &job.tool).await;
        let may_twice = found.is_ok_and(|offered| is_idempotent(offered.definition()));
        let retries = if may_twice { job.retries } else { 0 };
        let wants = Wants { priority: job.priority, retries, ttl, ..Wants::default() };
        self.submit(gate, &caller, kept.call(), wants).await
    }

    /// Forgets a job that is over, with its result.
    ///
    /// # Errors
    /// It is under way; or as [`Jobs::get`].
    pub async fn purge<'a>(&self, whose: impl Into<Whose<'a>>, id: &str) -> Result<Job, Refusal> {
        let (job, _) = self.found(whose.into(), id).await?;
        if !job.state.is_final() {
            return Err(Refusal::JobState { is: job.state.as_str(), cannot: "be purged; cancel it first" });
        }
        self.store().forget(job.id.as_str()).await.map_err(unavailable)?;
        Ok(job)
    }

    pub(super) async fn kept_call(&self, id: &JobId) -> Result<KeptCall, Refusal> {
        let kept = self.opened_call(id).await.map_err(unavailable)?;
        kept.ok_or_else(|| Refusal::NoJobs(super::kept_result::unreadable().message))
    }

    /// The call of a job; nothing if it is not there or cannot be opened, now or later.
    pub(super) async fn opened_call(&self, id: &JobId) -> Result<Option<KeptCall>, StoreError> {
        let sealed = self.store().body(id.as_str(), Body::Call).await?;
        let key = self.key().await?;
        let opened = sealed.and_then(|sealed| key.open(id, Sealed::Call, &sealed));
        Ok(opened.as_deref().and_then(KeptCall::parse))
    }

    /// Changes a job that does not run; false if another process holds it, or it runs by now.
    pub(super) async fn change_waiting(
        &self,
        whose: Whose<'_>,
        id: &JobId,
        state: State,
    ) -> Result<bool, Refusal> {
        let cancelled = || KeptResult::Failure(StoredFailure::new("cancelled", "the job was cancelled"));
        for _ in 0..TRIES_MAX {
            let with = With {
                result: (state == State::Cancelled).then(cancelled),
                hold: if state.is_final() { Hold::AsItIs } else { Hold::Release },
                events: if state.is_final() {
                    Vec::new()
                } else {
                    vec![Event::State { status: state, message: None }]
                },
                ..With::default()
            };
            let edit = |job: &mut Job| {
                job.message = None;
                job.code = (state == State::Cancelled).then(|| "cancelled".to_owned());
            };
            if let Some(live) = self.live(id) {
                let is_running = live.job().await.state == State::Running;
                if is_running {
                    return Ok(false);
                }
                if self.alter(&live, state, with, edit).await.map_err(unavailable)? {
                    self.inner().holds.remove(id);
                    return Ok(true);
                }
                continue;
            }
            let row = self.store().job(id.as_str()).await.map_err(unavailable)?;
            let Some(row) = row else { return Err(Refusal::UnknownJob) };
            if row.holder.is_some() {
                return Ok(false);
            }
            let (mut job, version) = self.found(whose, id.as_str()).await?;
            if job.state == State::Running || !job.state.may_become(state) {
                return Ok(false);
            }
            edit(&mut job);
            if self.write(job, version, state, with).await.map_err(unavailable)?.is_some() {
                self.inner().holds.remove(id);
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Takes what waits in a workspace, if it is served here.
    fn take_up(self: &Arc<Self>, workspace: &str) {
        if self.gate_of(workspace).is_some() {
            self.look_soon();
        }
    }

    /// Decides about what processes that have ended have left running: what may be done twice waits for the next one, the rest
    /// is interrupted.
    pub(super) async fn settle_left(&self) -> Result<(), StoreError> {
        let _turn = self.turn.lock().await;
        self.store().release_ended().await?;
        let left = JobQuery {
            states: vec![State::Running.as_str().to_owned()],
            unheld: true,
            limit: JOB_PAGE_MAX,
            ..JobQuery::default()
        };
        for row in self.store().jobs(&left).await? {
            let Ok(mut job) = Job::of(&row) else { continue };
            let (state, with) = match job.idempotent {
                true => {
                    let events = vec![Event::State { status: State::Queued, message: None }];
                    (State::Queued, With { events, ..With::default() })
                }
                false => {
                    let failure = interrupted();
                    (job.code, job.message) = (Some(failure.code.clone()), Some(failure.message.clone()));
                    let result = Some(KeptResult::Failure(failure));
                    (State::Interrupted, With { result, ..With::default() })
                }
            };
            // What was appended since the job was last written counts.
            job.last_event = self.last_event(&job).await?;
            self.write(job, row.version, state, with).await?;
        }
        Ok(())
    }

    async fn last_event(&self, job: &Job) -> Result<u64, StoreError> {
        let rows = self.store().events(job.id.as_str(), job.last_event, store::EVENT_PAGE_MAX).await?;
        Ok(rows.last().map_or(job.last_event, |event| event.number))
    }
}
