//! What follows the end of a job: it is counted, and somebody is told, if somebody wants to know.

use std::time::Duration;

use ::jobs::Job;
use tokio::time::timeout;

use super::notices::Ended;
use super::of_process::Jobs;

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
        let Some(mut teller) = self.notices.take_teller() else { return };
        if timeout(within, &mut teller).await.is_err() {
            teller.abort();
            let left = self.notices.left() + 1;
            tracing::warn!(left, "nobody is told of the end of jobs: it took too long, and the process ends");
        }
    }
}
