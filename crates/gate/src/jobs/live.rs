//! `Live`: a job that this process holds.

use std::sync::{Arc, Mutex, PoisonError};

use ::jobs::{Event, Job, JobId};
use policy::Caller;
use store::Hold;
use tokio::sync::watch;
use tool_api::Cancel;

use super::kept_call::KeptCall;
use super::kept_result::KeptResult;

/// A job that this process holds.
pub(super) struct Live {
    pub(super) id: JobId,
    pub(super) caller: Caller,
    pub(super) row: tokio::sync::Mutex<Row>,
    /// Ends the call that runs for it.
    pub(super) cancel: Cancel,
    end: Mutex<Option<End>>,
    /// Grows when something happened to it; closed when it is not held any more.
    pub(super) changed: watch::Sender<u64>,
}

/// The job as the store has it.
pub(super) struct Row {
    pub(super) job: Job,
    pub(super) version: u64,
}

/// Why the call of a job is to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// Somebody has cancelled the job.
    Cancelled,
    /// What its caller was let in by was taken back.
    Revoked,
    /// The process ends.
    Ending,
}

/// What a change brings besides the state.
#[derive(Default)]
pub(super) struct With {
    pub(super) call: Option<KeptCall>,
    pub(super) result: Option<KeptResult>,
    pub(super) hold: Hold,
    pub(super) events: Vec<Event>,
    /// Whether a crash of the machine may take the change back.
    pub(super) may_be_lost: bool,
}

impl Live {
    pub(super) fn new(job: Job, version: u64, caller: Caller) -> Arc<Live> {
        Arc::new(Live {
            id: job.id.clone(),
            caller,
            row: tokio::sync::Mutex::new(Row { job, version }),
            cancel: Cancel::new(),
            end: Mutex::default(),
            changed: watch::Sender::new(0),
        })
    }

    /// Ends the call that runs, for the first reason that is given.
    pub(super) fn end(&self, why: End) {
        self.end.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(why);
        self.cancel.cancel();
    }

    pub(super) fn ending(&self) -> Option<End> {
        *self.end.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn tell(&self) {
        self.changed.send_modify(|changes| *changes += 1);
    }

    pub(super) async fn job(&self) -> Job {
        self.row.lock().await.job.clone()
    }
}
