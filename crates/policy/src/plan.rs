//! What is left to ask about a tool once the caller and the tool are known: most often nothing.

use crate::engine::{Decision, Verdict};

/// The rules that may have a say in a call.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    /// The decision, if it depends on nothing more.
    pub(crate) settled: Option<Decision>,
    /// Those that deny, in order.
    pub(crate) denies: Vec<Step>,
    /// Those that allow or ask, in order, up to the first that is sure to fit.
    pub(crate) permits: Vec<Step>,
}

/// One rule that may have a say.
#[derive(Debug)]
pub(crate) struct Step {
    /// Its number.
    pub(crate) rule: usize,
    pub(crate) state: State,
    /// True if it asks about what another permits, and permits nothing itself.
    pub(crate) tightens: bool,
}

/// Whether a rule fits.
#[derive(Debug)]
pub(crate) enum State {
    /// It does.
    Fits,
    /// Its condition depends on the arguments or the time.
    Open,
    /// Its condition cannot be evaluated; the denial that follows.
    Failed(Decision),
}

impl Plan {
    /// False if no arguments could make the tool run.
    pub(crate) fn is_visible(&self) -> bool {
        match &self.settled {
            Some(decision) => decision.verdict != Verdict::Deny,
            None => {
                let is_open = |step: &Step| matches!(step.state, State::Open);
                let permits = |step: &Step| !step.tightens && !matches!(step.state, State::Failed(_));
                self.denies.iter().all(is_open) && self.permits.iter().any(permits)
            }
        }
    }
}
