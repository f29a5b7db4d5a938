//! What follows the end of a job: it is counted, and somebody is told, if somebody wants to know.

use ::jobs::Job;
use tokio::sync::mpsc;

use super::notify::{Ended, tell_all};
use super::of_process::Jobs;

/// Ends that wait to be told. Of those beyond it nobody is told.
const WAITING_MAX: usize = 256;

impl Jobs {
    /// Counts the end of a job and has it told. Waits for nobody.
    pub(super) fn has_ended(&self, job: &Job) {
        self.ends.count(job.state);
        let Some(notify) = self.config().notify.clone() else { return };
        let ended = Ended { notify, job: job.clone() };
        let begun = self.inner().ended.clone();
        let ends = begun.unwrap_or_else(|| {
            let (sender, receiver) = mpsc::channel(WAITING_MAX);
            self.inner().ended = Some(sender.clone());
            self.spawn(tell_all(receiver));
            sender
        });
        if ends.try_send(ended).is_err() {
            tracing::warn!(job = %job.id, tool = %job.tool, "nobody is told of the end of a job: too many wait to be told of");
        }
    }
}
