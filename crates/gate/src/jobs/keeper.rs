//! What is looked after while there are jobs: wishes of other processes, answers of people, keys that were revoked, what
//! others have left, and what is kept for too long.

use std::sync::{Arc, Weak};
use std::time::Duration;

use ::jobs::{AGE_MAX, Job, JobId, KEPT_BYTES_PER_CALLER, KEPT_PER_CALLER, State};
use store::{EXPIRE_MAX, JOB_PAGE_MAX, JobQuery, JobRow, Kept, StoreError};
use tokio::task::spawn_blocking;
use tokio::time::sleep;

use super::control::{CANCEL, PAUSE};
use super::kept_result::{KeptResult, unreadable};
use super::live::{End, Live, With};
use super::of_process::{Jobs, Whose};
use super::serving::Serving;

/// How often wishes and answers are looked for while jobs are under way here.
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// How often, in looks, callers are asked after and jobs are taken over: every 5 s.
const SELDOM: u32 = 20;

/// How often, in looks, what is over is forgotten: every minute.
const RARELY: u32 = 240;

/// How often it is asked whether there are jobs by now where none was ever made. One question to the system.
const FIRST_EVERY: Duration = Duration::from_secs(5);

/// What waits in one of these states is held by the process that serves its workspace; in others, by nobody.
const HELD: [State; 2] = [State::Queued, State::WaitingApproval];

async fn keep(jobs: Weak<Jobs>) {
    for nth in 0_u32.. {
        sleep(LOOK_EVERY).await;
        let Some(jobs) = jobs.upgrade() else { return };
        jobs.look_after(nth).await;
    }
}

/// Waits for the first job, and looks after all then.
async fn await_first(jobs: Weak<Jobs>) {
    loop {
        sleep(FIRST_EVERY).await;
        let Some(jobs) = jobs.upgrade() else { return };
        if jobs.inner().is_kept {
            return;
        }
        if jobs.store().may_have_jobs() {
            return jobs.look().await;
        }
    }
}

impl Jobs {
    /// Runs the jobs of this gate's workspace from now on, those first that were left. Must be called on the runtime.
    pub fn serve(self: &Arc<Self>, gate: &Arc<impl Serving + 'static>) {
        let Some(workspace) = gate.workspace() else { return };
        let serving: Arc<dyn Serving> = gate.clone();
        self.inner().gates.insert(workspace.clone(), Arc::downgrade(&serving));
        self.look_soon_or_once_there_are_some();
    }

    /// Looks for jobs now; where none was ever made, once one is, by whichever process. Until then nothing is opened.
    fn look_soon_or_once_there_are_some(self: &Arc<Self>) {
        if self.store().may_have_jobs() {
            return self.look_soon();
        }
        let was_awaited = std::mem::replace(&mut self.inner().is_awaited, true);
        if !was_awaited {
            self.spawn(await_first(Arc::downgrade(self)));
        }
    }

    /// Looks for jobs that wait for this process now, and not in a while. Must be called on the runtime.
    pub async fn look(self: &Arc<Self>) {
        self.look_after_jobs();
        self.take_over().await;
    }

    /// The same, without waiting for it.
    pub(super) fn look_soon(self: &Arc<Self>) {
        let jobs = self.clone();
        self.spawn(async move { jobs.look().await });
    }

    /// Starts looking after jobs, unless that is done.
    pub(super) fn look_after_jobs(self: &Arc<Self>) {
        let is_kept = std::mem::replace(&mut self.inner().is_kept, true);
        if !is_kept {
            self.spawn(keep(Arc::downgrade(self)));
        }
    }

    async fn look_after(self: &Arc<Self>, nth: u32) {
        let live: Vec<_> = self.inner().live.values().cloned().collect();
        if !live.is_empty() {
            self.hear_wishes().await;
            self.hear_answers(&live).await;
        }
        if nth.is_multiple_of(SELDOM) {
            self.ask_after_callers(&live).await;
            self.take_over().await;
        }
        if nth.is_multiple_of(RARELY) {
            self.forget_what_is_over().await;
        }
    }

    async fn forget_what_is_over(&self) {
        let kept = Kept { jobs: KEPT_PER_CALLER, bytes: KEPT_BYTES_PER_CALLER };
        loop {
            match self.store().expire(self.now_ms(), kept).await {
                Ok(forgotten) if forgotten < EXPIRE_MAX as u64 => return,
                Ok(_) => {}
                Err(error) => {
                    tracing::warn!(%error, "jobs that are over are not forgotten yet");
                    return;
                }
            }
        }
    }

    /// Does what other processes want of the jobs that this one holds.
    async fn hear_wishes(self: &Arc<Self>) {
        let wishes = self.store().wishes().await.unwrap_or_default();
        for (id, wish) in wishes {
            let Some(live) = JobId::parse(&id).and_then(|id| self.live(&id)) else { continue };
            let job = live.job().await;
            // What cannot be done any more has been answered by what happened.
            let _ = match wish.as_str() {
                CANCEL if job.state == State::Running => {
                    live.end(End::Cancelled);
                    continue;
                }
                CANCEL => self.change_waiting(Whose::Anyone, &live.id, State::Cancelled).await,
                PAUSE => self.change_waiting(Whose::Anyone, &live.id, State::Paused).await,
                _ => Ok(false),
            };
            let _ = self.store().wish(&id, None).await;
        }
    }

    /// Has jobs go on that waited for a person who has answered.
    async fn hear_answers(self: &Arc<Self>, live: &[Arc<Live>]) {
        for live in live {
            let job = live.job().await;
            let (State::WaitingApproval, Some(id)) = (job.state, job.approval) else { continue };
            let approvals = self.approvals.clone();
            let is_open = spawn_blocking(move || approvals.is_open(&id)).await;
            if let Ok(false) = is_open {
                self.wait_for_turn(live).await;
            }
        }
    }

    /// Ends the jobs of callers whose keys were revoked, and of those that are too old.
    async fn ask_after_callers(self: &Arc<Self>, live: &[Arc<Live>]) {
        let oldest_ms = self.now_ms() - i64::try_from(AGE_MAX.as_millis()).unwrap_or(i64::MAX);
        for live in live {
            let job = live.job().await;
            if live.caller.key_id().is_some() && matches!(self.is_known(live).await, Ok(false)) {
                self.end_one(live, &job, End::Revoked).await;
            } else if job.created_at_ms < oldest_ms {
                self.end_one(live, &job, End::Cancelled).await;
            }
        }
    }

    async fn end_one(self: &Arc<Self>, live: &Arc<Live>, job: &Job, why: End) {
        live.end(why);
        if job.state != State::Running {
            // It begins, finds why not, and ends.
            self.wait_for_turn(live).await;
        }
    }

    /// Takes the jobs that wait in the workspaces that are served here and that nobody holds.
    pub(super) async fn take_over(self: &Arc<Self>) {
        if !self.store().may_have_jobs() {
            return;
        }
        if let Err(error) = self.try_take_over().await {
            tracing::warn!(%error, "jobs that were left are not taken over yet");
        }
    }

    async fn try_take_over(self: &Arc<Self>) -> Result<(), StoreError> {
        self.settle_left().await?;
        // Before any is taken: what cannot be opened just now is not unreadable, and waits.
        self.key().await?;
        let served: Vec<_> = {
            let mut inner = self.inner();
            inner.gates.retain(|_, gate| gate.strong_count() > 0);
            inner.gates.keys().cloned().collect()
        };
        let untaken = std::mem::take(&mut self.inner().untaken);
        self.resume_all(&untaken).await?;
        for workspace in served {
            while self.lease_page(&workspace, &HELD.map(State::as_str)).await? {}
        }
        Ok(())
    }

    /// Whether jobs wait in this workspace that no process holds, and that one which serves it would take over.
    pub async fn has_left(&self, workspace: &str) -> bool {
        if !self.store().may_have_jobs() {
            return false;
        }
        let (place, states) =
            (Some(workspace.to_owned()), HELD.map(|state| state.as_str().to_owned()).to_vec());
        let query = JobQuery { place, states, unheld: true, limit: 1, ..JobQuery::default() };
        self.store().jobs(&query).await.is_ok_and(|left| !left.is_empty())
    }

    /// Takes a page of what waits in a workspace; whether there may be more.
    async fn lease_page(self: &Arc<Self>, workspace: &str, states: &[&str]) -> Result<bool, StoreError> {
        let page = self.store().lease(workspace, states, JOB_PAGE_MAX).await?;
        self.resume_all(&page).await?;
        Ok(page.len() == JOB_PAGE_MAX)
    }

    /// Goes on with jobs that this process has just taken; from one that it cannot read yet, later.
    async fn resume_all(self: &Arc<Self>, rows: &[JobRow]) -> Result<(), StoreError> {
        for (nth, row) in rows.iter().enumerate() {
            if let Err(error) = self.resume_left(row).await {
                // They are this process's already, so nobody else takes them, and no page has them again.
                self.inner().untaken.extend_from_slice(&rows[nth..]);
                return Err(error);
            }
        }
        Ok(())
    }

    /// Goes on with a job that this process has just taken.
    async fn resume_left(self: &Arc<Self>, row: &JobRow) -> Result<(), StoreError> {
        // One that another program has written is that one's.
        let Ok(job) = Job::of(row) else { return Ok(()) };
        if self.live(&job.id).is_some() {
            return Ok(());
        }
        let caller = self.opened_call(&job.id).await?.and_then(|kept| kept.caller.caller());
        let Some(caller) = caller else {
            let result = Some(KeptResult::Failure(unreadable()));
            let job = Job { code: Some(unreadable().code), message: Some(unreadable().message), ..job };
            self.write(job, row.version, State::Failed, With { result, ..With::default() }).await?;
            return Ok(());
        };
        let state = job.state;
        let live = Live::new(job, row.version, caller);
        self.inner().live.insert(live.id.clone(), live.clone());
        if state == State::Queued {
            self.wait_for_turn(&live).await;
        }
        Ok(())
    }
}
