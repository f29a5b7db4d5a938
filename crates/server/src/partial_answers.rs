//! Answers to jobs that ask for several things and are answered one by one. A job goes on once all have come; until then
//! they are kept here, and nowhere else: whoever restarts us is asked for all of them again.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use gate::jobs::JobId;
use wire::tasks;

/// Most jobs of which some answers are kept; of one beyond it, all have to come at once.
const JOBS_MAX: usize = 1_000;

/// Most bytes of answers that are kept of one job.
const ANSWERS_BYTES_MAX: usize = 256 * 1024;

/// What has been answered of what jobs ask: an `inputResponses` object of each, as JSON text.
#[derive(Default)]
pub(crate) struct Partial(Mutex<HashMap<JobId, Round>>);

/// The answers to one set of questions. A job that asks anew has another version.
struct Round {
    event: u64,
    answers: String,
}

/// What follows from an answer.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Answered {
    /// Nothing that was asked is answered by it.
    Nothing,
    /// More has to come.
    Some,
    /// All of it is: an `inputResponses` object.
    All(Bytes),
}

impl Partial {
    /// What is still asked of a job: what is left of its `requests`, by what was answered since `event`.
    pub(crate) fn left(&self, id: &JobId, event: u64, requests: &str) -> String {
        let kept = self.kept();
        let round = kept.get(id).filter(|round| round.event == event);
        let left = round
            .map_or_else(|| Some(requests.to_owned()), |round| tasks::unanswered(requests, &round.answers));
        left.unwrap_or_else(|| "{}".to_owned())
    }

    /// Adds answers to those of a job that has asked `requests` with `event`.
    pub(crate) fn add(&self, id: &JobId, event: u64, requests: &str, answers: &str) -> Answered {
        let mut kept = self.kept();
        let before = kept.get(id).filter(|round| round.event == event).map_or("{}", |round| &round.answers);
        let Some(all) = tasks::answered(requests, before, answers) else { return Answered::Nothing };
        if tasks::unanswered(requests, &all).is_none() {
            kept.remove(id);
            return Answered::All(all.into());
        }
        let has_room = kept.len() < JOBS_MAX || kept.contains_key(id);
        if has_room && all.len() <= ANSWERS_BYTES_MAX {
            kept.insert(id.clone(), Round { event, answers: all });
        }
        Answered::Some
    }

    /// The job asks nothing any more.
    pub(crate) fn forget(&self, id: &JobId) {
        self.kept().remove(id);
    }

    fn kept(&self) -> MutexGuard<'_, HashMap<JobId, Round>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_goes_on_once_everything_is_answered() {
        let (partial, id) = (Partial::default(), JobId::new().expect("randomness"));
        let asked = r#"{"a":{"method":"x"},"b":{"method":"y"}}"#;
        assert_eq!(partial.left(&id, 3, asked), asked);
        assert_eq!(partial.add(&id, 3, asked, r#"{"c":{}}"#), Answered::Nothing);
        assert_eq!(partial.add(&id, 3, asked, r#"{"a":{"n":1}}"#), Answered::Some);
        assert_eq!(partial.left(&id, 3, asked), r#"{"b":{"method":"y"}}"#);
        // It has gone on meanwhile, and asks anew.
        assert_eq!(partial.left(&id, 5, asked), asked);
        let all = Answered::All(Bytes::from_static(br#"{"a":{"n":1},"b":{}}"#));
        assert_eq!(partial.add(&id, 3, asked, r#"{"b":{}}"#), all);
        assert_eq!(partial.left(&id, 3, asked), asked, "nothing is kept of it");
    }
}
