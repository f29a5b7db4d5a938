//! `SqliteJobs`: the jobs of one state folder, and how work gets to their thread.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use rusqlite::Connection;

use super::batch::{Batches, Wants};
use super::{holder, rows};
use crate::error::StoreError;
use crate::job_store::{
    Body, EVENT_BYTES_MAX, Enqueued, EventRow, JOB_ABOUT_BYTES_MAX, JOB_BODY_BYTES_MAX, JobChange, JobQuery,
    JobRow, JobStore, Kept, NewJob, Room,
};
use crate::reply::Reply;
use crate::sqlite::last_write::LastWrite;
use crate::sqlite::sqlite_store::{SqliteStore, within};

/// Jobs in one folder. Nothing touches the disk and no thread is started until a job is kept, or one was before.
#[derive(Debug)]
pub struct SqliteJobs {
    dir: PathBuf,
    batches: Mutex<Option<Batches>>,
    /// Made with the first job that this process holds.
    holder: Arc<OnceLock<holder::Holder>>,
    lost: Arc<AtomicU64>,
    last_write: Arc<LastWrite>,
}

impl SqliteJobs {
    /// The jobs that are, or will be, in this folder's database.
    pub fn at(dir: &Path) -> SqliteJobs {
        SqliteJobs::beside(&SqliteStore::at(dir))
    }

    /// Those in the database of this store, which says also of them whether anything can be kept.
    pub fn beside(store: &SqliteStore) -> SqliteJobs {
        SqliteJobs {
            dir: store.dir.clone(),
            batches: Mutex::default(),
            holder: Arc::default(),
            lost: Arc::default(),
            last_write: store.last_write.clone(),
        }
    }

    fn run<T: Send + 'static>(
        &self,
        wants: Wants,
        work: impl FnOnce(&Connection, &str) -> Result<T, StoreError> + Send + 'static,
    ) -> Reply<'static, T> {
        let mut batches = self.batches.lock().unwrap_or_else(PoisonError::into_inner);
        let batches = match &mut *batches {
            Some(batches) => batches,
            none => match Batches::start(self.dir.clone(), self.lost.clone(), self.last_write.clone()) {
                Ok(started) => none.insert(started),
                Err(error) => return Box::pin(async { Err(error) }),
            },
        };
        let holder = self.holder.clone();
        // Nobody is called so: who holds nothing is nobody's holder.
        batches.run(wants, move |connection| work(connection, holder.get().map_or("", |own| &own.name)))
    }

    /// The same for what reads, or changes what is there: where no job is kept there is none.
    fn found<T: Default + Send + 'static>(
        &self,
        wants: Wants,
        work: impl FnOnce(&Connection, &str) -> Result<T, StoreError> + Send + 'static,
    ) -> Reply<'static, T> {
        if !self.may_have_jobs() {
            return Box::pin(async { Ok(T::default()) });
        }
        self.run(wants, work)
    }

    /// The same by this process as a holder.
    fn held<T: Send + 'static>(
        &self,
        wants: Wants,
        limits: Result<(), StoreError>,
        work: impl FnOnce(&Connection, &str) -> Result<T, StoreError> + Send + 'static,
    ) -> Reply<'static, T> {
        if let Err(error) = limits {
            return Box::pin(async { Err(error) });
        }
        let (dir, own) = (self.dir.clone(), self.holder.clone());
        self.run(wants, move |connection, _| {
            let own = match own.get() {
                Some(own) => own,
                None => {
                    let entered = holder::Holder::enter(&dir).map_err(StoreError::unwritten(&dir))?;
                    own.get_or_init(|| entered)
                }
            };
            work(connection, &own.name)
        })
    }
}

impl JobStore for SqliteJobs {
    fn may_have_jobs(&self) -> bool {
        let is_started = self.batches.lock().unwrap_or_else(PoisonError::into_inner).is_some();
        is_started || holder::may_have_jobs(&self.dir)
    }

    fn losses(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }

    fn enqueue(&self, job: NewJob, room: Room) -> Reply<'_, Enqueued> {
        let limits = within("the description of a job", job.about.len(), JOB_ABOUT_BYTES_MAX)
            .and_then(|()| within("a call", job.call.len(), JOB_BODY_BYTES_MAX))
            .and_then(|()| check_events(&job.events));
        let lost = self.lost.clone();
        self.held(Wants::Sync, limits, move |connection, ours| {
            if lost.load(Ordering::Relaxed) != job.losses {
                return Err(StoreError::Gone);
            }
            rows::enqueue(connection, ours, &job, room)
        })
    }

    fn change(&self, change: JobChange) -> Reply<'_, Option<u64>> {
        let wants = if change.may_be_lost { Wants::Write } else { Wants::Sync };
        let bodies = [&change.call, &change.result].into_iter().flatten();
        let limits = within("the description of a job", change.about.len(), JOB_ABOUT_BYTES_MAX)
            .and_then(|()| {
                bodies.map(Vec::len).try_for_each(|bytes| within("a result", bytes, JOB_BODY_BYTES_MAX))
            })
            .and_then(|()| check_events(&change.events));
        self.held(wants, limits, move |connection, ours| rows::change(connection, ours, &change))
    }

    fn append(&self, id: &str, events: Vec<EventRow>, about: Option<Vec<u8>>) -> Reply<'_, ()> {
        if let Err(error) = check_events(&events) {
            return Box::pin(async { Err(error) });
        }
        let id = id.to_owned();
        self.found(Wants::Write, move |connection, ours| {
            rows::append_held(connection, ours, &id, &events, about.as_deref())
        })
    }

    fn wish(&self, id: &str, wish: Option<&str>) -> Reply<'_, bool> {
        let (id, wish) = (id.to_owned(), wish.map(str::to_owned));
        self.found(Wants::Sync, move |connection, _| rows::wish(connection, &id, wish.as_deref()))
    }

    fn wishes(&self) -> Reply<'_, Vec<(String, String)>> {
        self.found(Wants::Read, rows::wishes)
    }

    fn job(&self, id: &str) -> Reply<'_, Option<JobRow>> {
        let id = id.to_owned();
        self.found(Wants::Read, move |connection, ours| rows::job(connection, ours, &id))
    }

    fn jobs(&self, query: &JobQuery) -> Reply<'_, Vec<JobRow>> {
        let query = query.clone();
        self.found(Wants::Read, move |connection, ours| rows::jobs(connection, ours, &query))
    }

    fn tally(&self) -> Reply<'_, Vec<(String, u64)>> {
        self.found(Wants::Read, |connection, _| rows::tally(connection))
    }

    fn body(&self, id: &str, body: Body) -> Reply<'_, Option<Vec<u8>>> {
        let id = id.to_owned();
        self.found(Wants::Read, move |connection, _| rows::body(connection, &id, body))
    }

    fn events(&self, id: &str, after: u64, limit: usize) -> Reply<'_, Vec<EventRow>> {
        let id = id.to_owned();
        self.found(Wants::Read, move |connection, _| rows::events(connection, &id, after, limit))
    }

    fn release_ended(&self) -> Reply<'_, u64> {
        let dir = self.dir.clone();
        self.found(Wants::Write, move |connection, ours| {
            rows::release_ended(connection, |name| name != ours && holder::has_ended(&dir, name))
        })
    }

    fn lease(&self, place: &str, states: &[&str], limit: usize) -> Reply<'_, Vec<JobRow>> {
        if !self.may_have_jobs() {
            return Box::pin(async { Ok(Vec::new()) });
        }
        let place = place.to_owned();
        let states = states.iter().map(|&state| state.to_owned()).collect::<Vec<_>>();
        self.held(Wants::Sync, Ok(()), move |connection, ours| {
            rows::lease(connection, ours, &place, &states, limit)
        })
    }

    fn expire(&self, by_ms: i64, kept: Kept) -> Reply<'_, u64> {
        self.found(Wants::Write, move |connection, _| rows::expire(connection, by_ms, kept))
    }

    fn forget(&self, id: &str) -> Reply<'_, bool> {
        let id = id.to_owned();
        self.found(Wants::Write, move |connection, _| rows::forget(connection, &id))
    }
}

fn check_events(events: &[EventRow]) -> Result<(), StoreError> {
    events.iter().try_for_each(|event| within("an event", event.body.len(), EVENT_BYTES_MAX))
}
