//! `JobFigures`: how many jobs this process holds, and how many have ended in it. Counted in memory: nothing is opened for it.

use std::collections::BTreeMap;

use super::look::unavailable;
use super::of_process::Jobs;
use crate::failure::Refusal;

/// The jobs of one process at one moment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct JobFigures {
    /// Those that wait for their turn.
    pub queued: u64,
    /// Those whose tools work.
    pub running: u64,
    /// Those that wait for a person, or for their next try.
    pub waiting: u64,
    /// Those that have ended since the process began, by how.
    pub ended: Vec<(&'static str, u64)>,
}

impl Jobs {
    /// How many jobs are kept in each state, whoever runs them. Nothing is opened where none was ever made.
    ///
    /// # Errors
    /// They cannot be read.
    pub async fn kept(&self) -> Result<BTreeMap<String, u64>, Refusal> {
        let tally = self.store().tally().await.map_err(unavailable)?;
        Ok(tally.into_iter().filter(|(_, count)| *count > 0).collect())
    }

    /// How many jobs there are.
    pub fn figures(&self) -> JobFigures {
        let inner = self.inner();
        let (queued, running, held) = (inner.queue.waiting(), inner.queue.running(), inner.live.len());
        drop(inner);
        JobFigures {
            queued: queued as u64,
            running: running as u64,
            waiting: held.saturating_sub(queued + running) as u64,
            ended: self.ends.all(),
        }
    }
}
