//! `Ended`: whose connections have ended and are not opened again by themselves (`restart = "never"`).

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard};

use super::key::Whose;
use crate::error::ConnectError;

/// Callers and sessions that are remembered; the oldest are forgotten, most of which are over.
const ENDED_MAX: usize = 1_000;

/// Each with how its last one has ended, newest last.
#[derive(Default)]
pub(crate) struct Ended(Mutex<VecDeque<(Whose, Box<str>)>>);

impl Ended {
    /// The connection for these has ended like this.
    pub(crate) fn note(&self, whose: &Whose, how: &str) {
        let mut ended = self.ended();
        if ended.iter().any(|(known, _)| known == whose) {
            return;
        }
        if ended.len() == ENDED_MAX {
            ended.pop_front();
        }
        ended.push_back((whose.clone(), how.into()));
    }

    /// Refuses those whose last one has ended.
    pub(crate) fn check(&self, whose: &Whose) -> Result<(), ConnectError> {
        match self.ended().iter().find(|(known, _)| known == whose) {
            Some((_, how)) => Err(ConnectError::NotRestarted { last: how.to_string() }),
            None => Ok(()),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.ended().is_empty()
    }

    fn ended(&self) -> MutexGuard<'_, VecDeque<(Whose, Box<str>)>> {
        self.0.lock().expect("nothing panics while it holds the lock")
    }
}
