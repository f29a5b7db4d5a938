//! `Watches`: who is told that a job has changed. A change that nobody watches costs a look at an empty table.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError, Weak};

use ::jobs::{Job, JobId};

/// Most jobs that are watched at once, by all together: as many as may be under way.
const WATCHED_MAX: usize = 10_000;

/// Hears of jobs.
pub trait Watcher: Send + Sync {
    /// The job may be in another state than before. Must not wait.
    fn job_changed(&self, id: &JobId);
}

/// Watchers by job, until it is over or they are gone.
#[derive(Default)]
pub(super) struct Watches(Mutex<HashMap<JobId, Vec<Weak<dyn Watcher>>>>);

impl Watches {
    fn table(&self) -> MutexGuard<'_, HashMap<JobId, Vec<Weak<dyn Watcher>>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn add(&self, id: &JobId, watcher: Weak<dyn Watcher>) {
        let mut table = self.table();
        if table.len() >= WATCHED_MAX {
            table.retain(|_, watchers| watchers.iter().any(|watcher| watcher.strong_count() > 0));
        }
        if table.len() < WATCHED_MAX || table.contains_key(id) {
            let watchers = table.entry(id.clone()).or_default();
            watchers.retain(|watcher| watcher.strong_count() > 0);
            watchers.push(watcher);
        }
    }

    /// Tells who watches it; for the last time once it is over.
    pub(super) fn tell(&self, job: &Job) {
        let mut table = self.table();
        if table.is_empty() {
            return;
        }
        let watchers = match job.state.is_final() {
            true => table.remove(&job.id),
            false => table.get(&job.id).cloned(),
        };
        drop(table);
        let watching = watchers.into_iter().flatten().filter_map(|watcher| watcher.upgrade());
        watching.for_each(|watcher| watcher.job_changed(&job.id));
    }
}
