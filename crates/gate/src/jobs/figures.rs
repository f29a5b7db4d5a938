//! `JobFigures`: how many jobs this process holds, and how many have ended in it. Counted in memory: nothing is opened for it.

use std::sync::atomic::{AtomicU64, Ordering};

use ::jobs::State;

use super::of_process::Jobs;

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

/// Ends by state.
#[derive(Default)]
pub(super) struct Ends([AtomicU64; State::ALL.len()]);

impl Ends {
    pub(super) fn count(&self, state: State) {
        for (_, ends) in State::ALL.into_iter().zip(&self.0).filter(|(known, _)| *known == state) {
            ends.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl Jobs {
    /// How many jobs there are.
    pub fn figures(&self) -> JobFigures {
        let inner = self.inner();
        let (queued, running, held) = (inner.queue.waiting(), inner.queue.running(), inner.live.len());
        drop(inner);
        let all = State::ALL.into_iter().zip(&self.ends.0).filter(|(state, _)| state.is_final());
        JobFigures {
            queued: queued as u64,
            running: running as u64,
            waiting: held.saturating_sub(queued + running) as u64,
            ended: all.map(|(state, count)| (state.as_str(), count.load(Ordering::Relaxed))).collect(),
        }
    }
}
