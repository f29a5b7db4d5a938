//! `Notices`: the ends of jobs that somebody is to be told of, one after the other.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ::jobs::Job;
use sandbox::Client;
use tokio::task::JoinHandle;

use super::notify::Notify;

/// Ends that wait to be told. Of those beyond it nobody is told.
const WAITING_MAX: usize = 256;

/// A job that has ended, and who is told.
pub(super) struct Ended {
    pub(super) notify: Notify,
    pub(super) job: Job,
}

/// Ends that wait.
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
    pub(super) fn add(self: &Arc<Self>, ended: Ended) -> bool {
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

    /// What tells them, if there ever was something to tell. It ends once none waits; what is added from now on has another.
    pub(super) fn take_teller(&self) -> Option<JoinHandle<()>> {
        let mut waiting = self.waiting();
        waiting.is_telling = false;
        waiting.teller.take()
    }

    /// How many nobody was told of yet.
    pub(super) fn left(&self) -> usize {
        self.waiting().ended.len()
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
