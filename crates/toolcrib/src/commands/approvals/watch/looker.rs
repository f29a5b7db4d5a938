//! `Looker`: what waits for a person, and what of it is new.

use std::cmp::Reverse;
use std::collections::HashSet;
use std::mem;
use std::sync::Arc;

use gate::Approvals;
use gate::approvals::{State, is_there};
use gate::questions::Questions;
use sandbox::Machine;
use terminal::Trouble;

use super::waiting::Waiting;
use crate::commands::approvals::job_questions::JobQuestions;
use crate::commands::caller::caller;

/// Looks for what waits, again and again.
pub(super) struct Looker<'a> {
    kept: &'a Approvals,
    agents: &'a Questions,
    pub(super) jobs: JobQuestions<'a>,
    /// What was told of.
    known: HashSet<Arc<str>>,
}

impl<'a> Looker<'a> {
    pub(super) fn new(kept: &'a Approvals, agents: &'a Questions, jobs: JobQuestions<'a>) -> Looker<'a> {
        Looker { kept, agents, jobs, known: HashSet::new() }
    }

    /// What waits whose client is still there, the newest first; behind it what jobs ask, which have more time.
    pub(super) fn living(&mut self) -> Result<Vec<Waiting>, Trouble> {
        let calls = self.kept.approvals(&caller()).map_err(Trouble::because)?;
        let calls =
            calls.into_iter().filter(|approval| approval.status(self.kept.now_ms()) == State::Pending);
        let calls = calls.map(|approval| Waiting::Call(Box::new(approval)));
        let agents = self.agents.open().map_err(Trouble::because)?.into_iter().map(Waiting::Agent);
        let jobs = self.jobs.open()?.cloned().map(Box::new).map(Waiting::Job);
        let all = calls.chain(agents).chain(jobs);
        let mut all: Vec<_> = all.filter(|waiting| is_there(&Machine, waiting.askers())).collect();
        all.sort_by_key(|waiting| (waiting.is_of_a_job(), Reverse(waiting.asked_at_ms())));
        Ok(all)
    }

    /// Those that were not there before, the oldest first.
    pub(super) fn new_among<'b>(&mut self, living: &'b [Waiting]) -> Vec<&'b Waiting> {
        let known =
            mem::replace(&mut self.known, living.iter().map(|waiting| waiting.id().clone()).collect());
        living.iter().rev().filter(|waiting| !known.contains(waiting.id())).collect()
    }
}
