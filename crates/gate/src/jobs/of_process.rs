//! `Jobs`: the jobs of one state folder as this process sees them, and those that it runs.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use ::jobs::{Job, JobId, Queue, State};
use arc_swap::ArcSwap;
use policy::Caller;
use store::{JobRow, JobStore, Secrets, StoreError};
use tokio::sync::Mutex as AsyncMutex;
use tokio::task::JoinSet;
use tokio::time::timeout;
use tool_api::Hold;

use super::config::Config;
use super::ends::Ends;
use super::inlets::Inlets;
use super::live::{End, Live};
use super::notices::Notices;
use super::ring::Rings;
use super::serving::Serving;
use super::vault::{JobKey, Vault};
use super::watches::Watches;
use crate::approvals::Approvals;
use crate::clock::{Clock, now_ms};

/// How long the calls of jobs may take to end once the process does.
const END_MAX: Duration = Duration::from_secs(2);

/// How much longer the process waits then for those who are told of ends.
const TELL_MAX: Duration = Duration::from_secs(2);

/// The jobs of one state folder. Touches no disk and starts nothing until a job is made, or one was before.
pub struct Jobs {
    store: Arc<dyn JobStore>,
    vault: Vault,
    /// With how often the store had lost what was kept when it was had: where the database is another one, so is the key.
    key: AsyncMutex<Option<(u64, Arc<JobKey>)>>,
    pub(super) approvals: Arc<Approvals>,
    clock: Clock,
    config: ArcSwap<Config>,
    inner: Mutex<Inner>,
    /// One after the other looks for what others have left.
    pub(super) turn: AsyncMutex<()>,
    /// One background task after the other is numbered.
    pub(super) numbering: AsyncMutex<()>,
    /// Those that have ended here.
    pub(super) ends: Ends,
    /// Of whose end somebody is to be told.
    pub(super) notices: Arc<Notices>,
    pub(super) watches: Watches,
}

#[derive(Default)]
pub(super) struct Inner {
    pub(super) queue: Queue,
    pub(super) live: HashMap<JobId, Arc<Live>>,
    /// Those that were taken over and could not be read yet: the rest of a page for each look that failed.
    pub(super) untaken: Vec<JobRow>,
    /// The workspaces that are served here.
    pub(super) gates: BTreeMap<Arc<str>, Weak<dyn Serving>>,
    /// What tools keep for the next round of a call whose caller is asked.
    pub(super) holds: HashMap<JobId, Hold>,
    pub(super) rings: Rings,
    pub(super) inlets: Inlets,
    pub(super) tasks: JoinSet<()>,
    pub(super) is_kept: bool,
    /// The first job is waited for.
    pub(super) is_awaited: bool,
    pub(super) is_ending: bool,
}

impl Inner {
    /// Whether this process holds the job as this one, and has not let it go or taken it again since.
    pub(super) fn is_held(&self, live: &Live) -> bool {
        self.live.get(&live.id).is_some_and(|held| std::ptr::eq(Arc::as_ptr(held), live))
    }
}

/// Whose jobs are meant.
#[derive(Debug, Clone, Copy)]
pub enum Whose<'a> {
    /// Those of this caller. Another's are answered as unknown ones.
    Of(&'a Caller),
    /// All: for the owner of the state folder.
    Anyone,
}

impl<'a> From<&'a Caller> for Whose<'a> {
    fn from(caller: &'a Caller) -> Whose<'a> {
        Whose::Of(caller)
    }
}

impl Whose<'_> {
    /// A later key of the same name is another caller.
    pub(super) fn has(self, job: &Job) -> bool {
        match self {
            Whose::Anyone => true,
            Whose::Of(caller) => {
                *job.caller == **caller.id() && job.key.as_deref() == caller.key_id().map(|id| &**id)
            }
        }
    }
}

/// Which jobs a list shows.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// In one of these states; all if there is none.
    pub states: Vec<State>,
    /// Of this tool.
    pub tool: Option<String>,
    /// In this workspace.
    pub workspace: Option<String>,
    /// Of this caller, for those who see all.
    pub caller: Option<String>,
    /// Where the page before ended.
    pub cursor: Option<String>,
    /// Most of them; 0 for as many as a page holds.
    pub limit: usize,
}

/// A page of jobs, the newest first.
#[derive(Debug, Clone)]
pub struct JobPage {
    /// The jobs.
    pub jobs: Vec<Job>,
    /// Where the next page begins; nothing if this is the last.
    pub cursor: Option<String>,
}

impl Jobs {
    /// The jobs in `store`. What is waited for is asked about in `approvals`.
    pub fn new(store: Arc<dyn JobStore>, approvals: Arc<Approvals>) -> Arc<Jobs> {
        Jobs::made(store, approvals, Vault::own())
    }

    /// The same, sealed with a key that all processes share which have these secrets.
    pub fn kept_in(store: Arc<dyn JobStore>, approvals: Arc<Approvals>, secrets: Arc<Secrets>) -> Arc<Jobs> {
        Jobs::made(store, approvals, Vault::keyed_by(secrets))
    }

    fn made(store: Arc<dyn JobStore>, approvals: Arc<Approvals>, vault: Vault) -> Arc<Jobs> {
        Arc::new(Jobs {
            store,
            vault,
            key: AsyncMutex::default(),
            approvals,
            clock: now_ms,
            config: ArcSwap::default(),
            inner: Mutex::default(),
            turn: AsyncMutex::new(()),
            numbering: AsyncMutex::new(()),
            ends: Ends::default(),
            notices: Arc::default(),
            watches: Watches::default(),
        })
    }

    /// Puts other settings in force.
    pub fn govern(&self, config: Config) {
        self.config.store(Arc::new(config));
    }

    pub(super) fn config(&self) -> Arc<Config> {
        self.config.load_full()
    }

    /// How many jobs this process runs or will run.
    pub fn under_way(&self) -> usize {
        self.inner().live.len()
    }

    /// The same of one workspace.
    pub fn is_busy_in(&self, workspace: &str) -> bool {
        let live: Vec<_> = self.inner().live.values().cloned().collect();
        live.iter().any(|live| live.row.try_lock().map_or(true, |row| row.job.workspace == workspace))
    }

    /// Ends what runs: what may be done twice waits for the next process, the rest is interrupted.
    pub async fn end(&self) {
        let (live, mut tasks) = {
            let mut inner = self.inner();
            inner.is_ending = true;
            (inner.live.values().cloned().collect::<Vec<_>>(), std::mem::take(&mut inner.tasks))
        };
        live.iter().for_each(|live| live.end(End::Ending));
        let _ = timeout(END_MAX, async {
            for live in &live {
                self.leave(live).await;
            }
            while !self.inner().live.is_empty() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        })
        .await;
        tasks.shutdown().await;
        self.tell_rest(TELL_MAX).await;
    }

    pub(super) fn store(&self) -> &dyn JobStore {
        &*self.store
    }

    pub(super) fn now_ms(&self) -> i64 {
        (self.clock)()
    }

    pub(super) async fn key(&self) -> Result<Arc<JobKey>, StoreError> {
        self.key_since().await.map(|(_, key)| key)
    }

    /// The key, and how often the store had lost what was kept when it was had.
    pub(super) async fn key_since(&self) -> Result<(u64, Arc<JobKey>), StoreError> {
        let losses = self.store.losses();
        let mut had = self.key.lock().await;
        if let Some((_, key)) = had.as_ref().filter(|(when, _)| *when == losses) {
            return Ok((losses, key.clone()));
        }
        let key = Arc::new(self.vault.key(had.is_some()).await?);
        *had = Some((losses, key.clone()));
        Ok((losses, key))
    }

    pub(super) fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn live(&self, id: &JobId) -> Option<Arc<Live>> {
        self.inner().live.get(id).cloned()
    }

    pub(super) fn gate_of(&self, workspace: &str) -> Option<Arc<dyn Serving>> {
        self.inner().gates.get(workspace).and_then(Weak::upgrade)
    }

    /// The job is this process's no more. One that it has taken again since stays.
    pub(super) fn let_go(&self, live: &Live) {
        let mut inner = self.inner();
        if inner.is_held(live) {
            inner.queue.remove(&live.id);
            inner.live.remove(&live.id);
        }
    }

    /// Runs something until it is done, or the process ends.
    pub(super) fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        let mut inner = self.inner();
        while inner.tasks.try_join_next().is_some() {}
        if !inner.is_ending {
            inner.tasks.spawn(work);
        }
    }
}

#[cfg(test)]
mod tests {
    use store::{SqliteJobs, SqliteStore};

    use super::*;
    use serde_json::{from_value, json};

    #[test]
    fn who_held_a_job_before_it_was_paused_and_resumed_takes_it_from_nobody() {
        let folder = tempfile::tempdir().unwrap();
        let store = Arc::new(SqliteStore::at(folder.path()));
        let jobs = Jobs::new(Arc::new(SqliteJobs::at(folder.path())), Approvals::new(store));
        let job: Job = from_value(json!({
            "id": "0123456789abcdef0123456789abcdef", "tool": "t", "caller": "local", "workspace": "/w",
            "state": "queued", "created_at_ms": 0, "updated_at_ms": 0, "poll_interval_ms": 1, "ttl_ms": 1,
        }))
        .unwrap();
        let taken = || Live::new(job.clone(), 1, Caller::local_user(policy::Via::Stdio));
        let (before, now) = (taken(), taken());
        jobs.inner().live.insert(job.id.clone(), now.clone());
        jobs.let_go(&before);
        assert_eq!((jobs.under_way(), jobs.inner().is_held(&before)), (1, false));
        jobs.let_go(&now);
        assert_eq!(jobs.under_way(), 0);
    }
}
