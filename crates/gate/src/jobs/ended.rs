//! What follows the end of a job: it is counted, and somebody is told, if somebody wants to know.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ::jobs::Job;
use sandbox::Client;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::notify::Notify;
use super::of_process::Jobs;

/// Ends that wait to be told. Of those beyond it nobody is told.
const WAITING_MAX: usize = 256;

/// A job that has ended, and who is told.
struct Ended {
    notify: Notify,
    job: Job,
}

/// The ends that somebody is to be told of, one after the other.
#[derive(Default)]
pub(super) struct Notices(Mutex<Waiting>);

#[derive(Default)]
struct Waiting {
    ended: VecDeque<Ended>,
    /// Tells them, once there is one. Done while none waits.
    teller: Option<JoinHandle<()>>,
    is_telling: bool,
}

impl Notices {
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has an end told; false if too many wait.
    fn add(self: &Arc<Self>, ended: Ended) -> bool {
        let mut waiting = self.waiting();
        if waiting.ended.len() >= WAITING_MAX {
            return false;
        }
        waiting.ended.push_back(ended);
        if !std::mem::replace(&mut waiting.is_telling, true) {
            let notices = self.clone();
            waiting.teller = Some(tokio::spawn(async move { notices.tell().await }));
        }
        true
    }

    fn next(&self) -> Option<Ended> {
        let mut waiting = self.waiting();
        let next = waiting.ended.pop_front();
        waiting.is_telling = next.is_some();
        next
    }

    async fn tell(&self) {
        let client = Client::new();
        while let Some(Ended { notify, job }) = self.next() {
            notify.tell(&client, &job).await;
        }
    }
}

impl Jobs {
    /// Counts the end of a job and has it told. Waits for nobody.
    pub(super) fn has_ended(&self, job: &Job) {
        self.ends.count(job.state);
        let Some(notify) = self.config().notify.clone() else { return };
        if !self.notices.add(Ended { notify, job: job.clone() }) {
            tracing::warn!(job = %job.id, tool = %job.tool, "nobody is told of the end of a job: too many wait to be told of");
        }
    }

    /// Has those told who are still to be told of an end, for as long as this; of what is left then nobody is.
    pub async fn tell_rest(&self, within: Duration) {
        let Some(mut teller) = self.notices.waiting().teller.take() else { return };
        if timeout(within, &mut teller).await.is_err() {
            teller.abort();
            let left = self.notices.waiting().ended.len() + 1;
            tracing::warn!(left, "nobody is told of the end of jobs: it took too long, and the process ends");
        }
    }
}
