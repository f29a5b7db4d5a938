//! What is missing of the audit log although its head was noted, as lines of it say: found fault with until a person signs
//! that they know.

use std::fmt;

use crate::checkpoint::{Checkpoint, Occasion};
use crate::head::Head;

/// Losses that are told of; each needs a start of the program, so there are few.
const LOSSES_MAX: usize = 100;

/// That records which the audit log had are not in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loss {
    /// The number of the line that says so: the first one written after the loss.
    pub seq: u64,
    /// The number of the record that was kept elsewhere and is not in the audit log.
    pub kept: u64,
    /// The number of the line in which somebody signed that they know.
    pub acknowledged: Option<u64>,
    /// What they say of it.
    pub because: Option<String>,
}

impl Loss {
    pub(crate) fn new(seq: u64, kept: u64) -> Loss {
        Loss { seq, kept, acknowledged: None, because: None }
    }
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Loss { seq, kept, .. } = self;
        match seq.saturating_sub(1) {
            0 => {
                write!(
                    f,
                    "the whole audit log before this one was lost: it went up to record {kept} at least"
                )
            }
            last if kept > &last => {
                write!(
                    f,
                    "the end after record {last} was lost: the audit log went up to record {kept} at least"
                )
            }
            _ => write!(
                f,
                "record {kept} is not the one that was kept: the audit log was written anew before record {seq}"
            ),
        }
    }
}

/// The losses that an audit log tells of, in the order they are read.
#[derive(Debug, Default)]
pub(crate) struct Losses {
    pub(crate) all: Vec<Loss>,
    /// The first of those that nobody acknowledged.
    pub(crate) open: Option<Loss>,
    acknowledged: Option<u64>,
}

impl Losses {
    pub(crate) fn read(&mut self, head: Head, checkpoint: &Checkpoint) {
        match (checkpoint.why, checkpoint.details.lost) {
            (Occasion::Lost, Some(lost)) => {
                let loss = Loss::new(head.seq, lost.seq);
                self.open.get_or_insert(loss.clone());
                if self.all.len() < LOSSES_MAX {
                    self.all.push(loss);
                }
            }
            (Occasion::Acknowledged, _) => {
                for loss in self.all.iter_mut().filter(|loss| loss.acknowledged.is_none()) {
                    loss.acknowledged = Some(head.seq);
                    loss.because.clone_from(&checkpoint.details.because);
                }
                (self.open, self.acknowledged) = (None, Some(head.seq));
            }
            _ => {}
        }
    }

    /// Whether somebody acknowledged what was lost up to this line.
    pub(crate) fn are_acknowledged_after(&self, seq: u64) -> bool {
        self.acknowledged.is_some_and(|acknowledged| acknowledged > seq)
    }
}
