//! How a job is changed: in the store first, and only if it is as it was read.

use ::jobs::{Event, Job, Numbered, State};
use store::{EventRow, JobChange, StoreError};

use super::live::{Live, Row, With};
use super::of_process::Jobs;
use super::vault::{JobKey, Sealed};

impl Jobs {
    /// Changes a job that this process holds. False if it cannot become that any more, or is another's by now.
    pub(super) async fn alter(
        &self,
        live: &Live,
        state: State,
        with: With,
        edit: impl FnOnce(&mut Job),
    ) -> Result<bool, StoreError> {
        let mut row = live.row.lock().await;
        let (mut job, version) = (row.job.clone(), row.version);
        edit(&mut job);
        let Some((job, version)) = self.write(job, version, state, with).await? else { return Ok(false) };
        let is_left = state.is_final() || !self.holds(state);
        *row = Row { job, version };
        drop(row);
        live.tell();
        if is_left {
            self.let_go(live);
        }
        Ok(true)
    }

    /// Whether the process that takes a job holds it in this state.
    pub(super) fn holds(&self, state: State) -> bool {
        matches!(state, State::Queued | State::Running | State::WaitingApproval)
    }

    /// Writes a change of a job, whoever holds it, if it is in this version and may become that.
    pub(super) async fn write(
        &self,
        mut job: Job,
        version: u64,
        state: State,
        with: With,
    ) -> Result<Option<(Job, u64)>, StoreError> {
        if !job.state.may_become(state) {
            return Ok(None);
        }
        let now_ms = self.now_ms();
        let key = self.key().await?;
        (job.state, job.updated_at_ms) = (state, now_ms);
        if state.is_final() {
            (job.ended_at_ms, job.approval) = (Some(now_ms), None);
        }
        let closing = state.is_final().then_some(Event::Finished { status: state });
        let events = with.events.into_iter().chain(closing);
        let events = number(&mut job, events, now_ms, &key)?;
        let seal = |what, bytes: Vec<u8>| key.seal(&job.id, what, bytes);
        let ttl_ms = i64::try_from(job.ttl_ms).unwrap_or(i64::MAX);
        let change = JobChange {
            id: job.id.as_str().to_owned(),
            expected: version,
            state: state.as_str().to_owned(),
            call: with.call.map(|call| seal(Sealed::Call, call.bytes())).transpose()?,
            result: with.result.map(|result| seal(Sealed::Result, result.bytes())).transpose()?,
            ends_at_ms: state.is_final().then(|| now_ms.saturating_add(ttl_ms)),
            hold: with.hold,
            events,
            about: job.about(),
            may_be_lost: with.may_be_lost,
        };
        let Some(version) = self.store().change(change).await? else { return Ok(None) };
        self.watches.tell(&job);
        if state.is_final() {
            self.has_ended(&job);
        }
        Ok(Some((job, version)))
    }
}

/// Numbers events behind the job's last one, and seals them.
pub(super) fn number(
    job: &mut Job,
    events: impl Iterator<Item = Event>,
    at_ms: i64,
    key: &JobKey,
) -> Result<Vec<EventRow>, StoreError> {
    let mut rows = Vec::new();
    for event in events {
        job.last_event += 1;
        let number = job.last_event;
        let body = serde_json::to_vec(&Numbered { number, at_ms, event }).expect("text for keys");
        rows.push(EventRow { number, at_ms, body: key.seal(&job.id, Sealed::Event(number), body)? });
    }
    Ok(rows)
}
