//! Has somebody told that a job has changed.

use std::sync::{Arc, Weak};

use ::jobs::JobId;

use super::of_process::Jobs;
use super::watches::Watcher;

impl Jobs {
    /// Tells `watcher` that the job may have changed: now, and whenever this process changes its state, until it is over. What
    /// another process does with it is not heard here.
    pub fn watch(&self, id: &JobId, watcher: &Arc<impl Watcher + 'static>) {
        let weak: Weak<dyn Watcher> = Arc::downgrade(&(watcher.clone() as Arc<dyn Watcher>));
        self.watches.add(id, weak);
        watcher.job_changed(id);
    }
}
