//! Running a job when it is its turn: who it is for is asked after again, and then it is a call like any other.

use std::sync::{Arc, OnceLock};

use ::jobs::{Event, State, back_off};
use policy::Proof;
use store::Hold;
use tokio::task::spawn_blocking;
use tokio::time::sleep;
use tool_api::Listener;

use super::kept_call::KeptCall;
use super::kept_result::unreadable;
use super::live::{Live, With};
use super::of_process::Jobs;
use super::recorder::Recorder;
use super::serving::Serving;
use crate::failure::{Failure, Refusal};
use crate::request::{Call, OfJob};

/// How often a job is tried to begin, over half a minute.
const BEGINS_MAX: u32 = 6;

impl Jobs {
    /// Begins as many jobs as may run.
    pub(super) fn start_next(self: &Arc<Self>) {
        let limits = self.config().limits();
        loop {
            let begun = {
                let mut inner = self.inner();
                if inner.is_ending {
                    return;
                }
                let Some(next) = inner.queue.next(limits) else { return };
                let live = inner.live.get(&next).cloned();
                if live.is_none() {
                    inner.queue.remove(&next);
                }
                live
            };
            let Some(live) = begun else { continue };
            let jobs = self.clone();
            self.spawn(async move {
                jobs.run(&live).await;
                jobs.start_next();
            });
        }
    }

    async fn run(self: &Arc<Self>, live: &Arc<Live>) {
        let job = live.job().await;
        let Some(gate) = self.gate_of(&job.workspace) else {
            // Nobody serves its workspace here any more.
            return self.leave(live).await;
        };
        let result = match self.begin_in_time(&*gate, live).await {
            Ok(Some(kept)) => {
                let recorder = Arc::new(Recorder::of_job(&job));
                let listener: Arc<dyn Listener> = recorder.clone();
                let id = OnceLock::from(live.id.shared());
                let call = Call {
                    cancel: live.cancel.clone(),
                    listener: Some(listener),
                    job: Some(OfJob { id: Arc::new(id), was_judged: true, is_approved: false }),
                    ..kept.call()
                };
                recorder.beside(self, live, gate.call(&live.caller, call)).await
            }
            // It was cancelled, or paused, in this moment.
            Ok(None) => return self.let_go(live),
            Err(failure) => Err(failure),
        };
        self.settle(live, result).await;
    }

    /// The same as [`Jobs::begin`], tried again for a while where the store cannot be used: what was acknowledged does not fail
    /// because the disk is full just as its turn comes.
    async fn begin_in_time(&self, gate: &dyn Serving, live: &Arc<Live>) -> Result<Option<KeptCall>, Failure> {
        for tried in 1..BEGINS_MAX {
            match self.begin(gate, live).await {
                Err(Failure::Refused(Refusal::NoJobs(why))) if live.ending().is_none() => {
                    tracing::warn!(why, job = %live.id, "a job cannot begin yet");
                    sleep(back_off(tried)).await;
                }
                begun => return begun,
            }
        }
        self.begin(gate, live).await
    }

    /// Reads the call of a job whose turn it is, and notes that it begins; nothing if it does not any more.
    async fn begin(&self, gate: &dyn Serving, live: &Arc<Live>) -> Result<Option<KeptCall>, Failure> {
        let kept = self.opened_call(&live.id).await.map_err(no_jobs)?;
        let kept = kept.ok_or_else(|| Failure::from(unreadable()))?;
        // What it was answered counts once, so what is kept of a job that runs is its call from the beginning.
        let call = kept.is_further().then(|| kept.anew());
        if !self.is_known(live).await? {
            return Err(Refusal::KeyRevoked(kept.tool).into());
        }
        let offered = gate.find(&live.caller, &kept.tool).await?;
        if offered.hash().to_string() != kept.definition {
            return Err(Refusal::Outdated(kept.tool).into());
        }
        let now_ms = self.now_ms();
        let job = live.job().await;
        let attempt = job.attempt + 1;
        // What may be done twice begins anew anyway, should it be forgotten that it has begun.
        let may_be_lost = job.idempotent && call.is_none();
        let events = vec![Event::Started { attempt }];
        let with = With { call, events, may_be_lost, ..With::default() };
        let begun = self.alter(live, State::Running, with, |job| {
            job.attempt = attempt;
            job.started_at_ms = Some(now_ms);
            (job.message, job.approval, job.progress) = (None, None, None);
        });
        Ok(begun.await.map_err(no_jobs)?.then_some(kept))
    }

    /// Whether the caller of a job may still come by what it was let in by.
    pub(super) async fn is_known(&self, live: &Live) -> Result<bool, Failure> {
        match live.caller.proof() {
            Proof::None => Ok(true),
            Proof::Until(second) => Ok(self.now_ms() / 1_000 < *second),
            Proof::Key(_) => {
                let (approvals, caller) = (self.approvals.clone(), live.caller.clone());
                let known = spawn_blocking(move || approvals.is_known(&caller)).await;
                match known {
                    Ok(known) => Ok(known.map_err(no_jobs)?),
                    Err(_) => Err(Refusal::NoJobs("the program is ending".to_owned()).into()),
                }
            }
        }
    }

    /// Leaves a job that waits to whoever serves its workspace next.
    pub(super) async fn leave(&self, live: &Arc<Live>) {
        let mut row = live.row.lock().await;
        // One that runs ends by itself, and one that is over stays as it is: its time to be forgotten is written already.
        if row.job.state == State::Running || row.job.state.is_final() {
            return;
        }
        let change = store::JobChange {
            id: live.id.as_str().to_owned(),
            expected: row.version,
            state: row.job.state.as_str().to_owned(),
            about: row.job.about(),
            hold: Hold::Release,
            ..store::JobChange::default()
        };
        match self.store().change(change).await {
            Ok(Some(version)) => row.version = version,
            Ok(None) => {}
            // The next process finds that this one has ended.
            Err(error) => tracing::warn!(%error, job = %live.id, "a job is not left to others"),
        }
        drop(row);
        self.let_go(live);
    }
}

fn no_jobs(error: store::StoreError) -> Failure {
    Refusal::NoJobs(error.to_string()).into()
}
