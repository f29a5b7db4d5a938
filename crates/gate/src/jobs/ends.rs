//! `Ends`: how many jobs have ended, by state.

use std::sync::atomic::{AtomicU64, Ordering};

use ::jobs::State;

/// Ends by state.
#[derive(Default)]
pub(super) struct Ends([AtomicU64; State::ALL.len()]);

impl Ends {
    pub(super) fn count(&self, state: State) {
        for (_, ends) in State::ALL.into_iter().zip(&self.0).filter(|(known, _)| *known == state) {
            ends.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// All of them, also those that there were none of.
    pub(super) fn all(&self) -> Vec<(&'static str, u64)> {
        let all = State::ALL.into_iter().zip(&self.0).filter(|(state, _)| state.is_final());
        all.map(|(state, count)| (state.as_str(), count.load(Ordering::Relaxed))).collect()
    }
}
