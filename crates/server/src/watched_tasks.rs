//! `WatchedTasks`: the jobs that are tasks of one client which is told of them unasked, with the status that it knows.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use gate::jobs::{JobId, Watcher};
use tokio::sync::Notify;
use wire::tasks::Status;

/// Most of them at a time. Of more, their client hears nothing.
const WATCHED_MAX: usize = 1_000;

/// The tasks of one client.
#[derive(Default)]
pub(crate) struct WatchedTasks {
    state: Mutex<Watched>,
    news: Notify,
}

#[derive(Default)]
struct Watched {
    /// By the status that the client was told last, if it was told any.
    known: HashMap<JobId, Option<Status>>,
    /// Those that may have changed since, each once.
    changed: VecDeque<JobId>,
    /// The one that is looked at. What happens to it meanwhile has it looked at once more.
    looked_at: Option<JobId>,
}

impl Watched {
    fn next(&mut self) -> Option<JobId> {
        self.looked_at = self.looked_at.take().or_else(|| self.changed.pop_front());
        self.looked_at.clone()
    }
}

impl WatchedTasks {
    fn state(&self) -> MutexGuard<'_, Watched> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Watches a task whose client knows it by this status. False if there are too many.
    pub(crate) fn add(&self, id: &JobId, known: Option<Status>) -> bool {
        let mut state = self.state();
        let has_room = state.known.len() < WATCHED_MAX || state.known.contains_key(id);
        has_room.then(|| state.known.insert(id.clone(), known));
        has_room
    }

    /// The next that may have changed; the same one until it was looked at.
    pub(crate) async fn next(&self) -> JobId {
        loop {
            if let Some(id) = self.state().next() {
                return id;
            }
            self.news.notified().await;
        }
    }

    /// It was looked at, and this is how it stands, if that can be said. Whether its client is to be told.
    pub(crate) fn looked_at(&self, id: &JobId, status: Option<Status>) -> bool {
        let mut state = self.state();
        state.looked_at = None;
        let Some(status) = status else { return false };
        let Some(known) = state.known.get_mut(id) else { return false };
        let is_news = known.replace(status) != Some(status);
        if matches!(status, Status::Completed | Status::Failed | Status::Cancelled) {
            state.known.remove(id);
        }
        is_news
    }
}

impl Watcher for WatchedTasks {
    fn job_changed(&self, id: &JobId) {
        let mut state = self.state();
        if state.known.contains_key(id) && !state.changed.contains(id) {
            state.changed.push_back(id.clone());
            drop(state);
            self.news.notify_one();
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[test]
    fn a_change_is_told_once_and_one_in_the_middle_of_a_look_once_more() {
        let tasks = WatchedTasks::default();
        let [known, other] = [(); 2].map(|()| JobId::new().expect("randomness"));
        let next = || tasks.next().now_or_never();
        assert!(tasks.add(&known, Some(Status::Working)));
        tasks.job_changed(&other);
        assert_eq!(next(), None, "nobody watches it");
        tasks.job_changed(&known);
        tasks.job_changed(&known);
        assert_eq!((next(), next()), (Some(known.clone()), Some(known.clone())), "until it is looked at");
        tasks.job_changed(&known);
        assert!(!tasks.looked_at(&known, Some(Status::Working)), "the client knows that");
        assert_eq!(next(), Some(known.clone()), "it changed during the look");
        assert!(tasks.looked_at(&known, Some(Status::Completed)));
        tasks.job_changed(&known);
        assert_eq!(next(), None, "nothing follows an end");
        for _ in 0..WATCHED_MAX {
            assert!(tasks.add(&JobId::new().expect("randomness"), None));
        }
        assert!(!tasks.add(&known, None), "there are too many");
    }
}
