//! Tasks that wait for the next round of their clients' calls.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};

use data_encoding::HEXLOWER;
use tool_api::{Cancel, Hold};

use super::followed_task::Followed;
use crate::fault::Fault;

/// Most tasks of one server that wait for their clients.
const SUSPENDED_MAX: usize = 1_000;

/// Random bytes in the name of a task that waits for its client.
const NAME_BYTES: usize = 16;

/// Tasks that wait for the next round of their clients' calls. Whoever has a call holds its task; when nobody
/// does any more, the server is asked to stop it.
#[derive(Default)]
pub(crate) struct SuspendedTasks(Mutex<HashMap<Arc<str>, Run>>);

/// A task on its way.
pub(crate) struct Run {
    pub(crate) followed: Followed,
    /// What it has asked already. The server may go on asking for a while after it was answered.
    pub(crate) asked: Vec<String>,
}

impl SuspendedTasks {
    pub(crate) fn put(self: &Arc<Self>, run: Run) -> Result<(Arc<str>, Hold), Fault> {
        let mut random = [0; NAME_BYTES];
        getrandom::fill(&mut random).map_err(|_| Fault::Busy)?;
        let name: Arc<str> = HEXLOWER.encode(&random).into();
        let mut table = self.table();
        if table.len() >= SUSPENDED_MAX {
            return Err(Fault::Busy);
        }
        table.insert(name.clone(), run);
        let (tasks, own) = (Arc::downgrade(self), name.clone());
        let give_up = move || drop(tasks.upgrade().and_then(|tasks| tasks.take(&own)));
        Ok((name, Hold::new(give_up, Cancel::new())))
    }

    /// Gives the task of this name back, once.
    pub(crate) fn take(&self, name: &str) -> Option<Run> {
        self.table().remove(name)
    }

    fn table(&self) -> MutexGuard<'_, HashMap<Arc<str>, Run>> {
        self.0.lock().expect("nothing panics while it holds the lock")
    }
}
